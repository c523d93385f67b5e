// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_macros_on.hpp
/// The end of what ws_macros_off.hpp begins.
#pragma pop_macro("max")
#pragma pop_macro("min")
