// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_macros_off.hpp
/// Before the C++ headers include those of the standard library: takes the macros min and max away, which
/// OAI's utils.h has. ws_macros_on.hpp brings them back. No include guard: each header does both.
#pragma push_macro("min")
#pragma push_macro("max")
#undef min
#undef max
