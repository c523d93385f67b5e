// SPDX-License-Identifier: BSD-3-Clause
/// @file nr_ulsch.h
/// No include directory leads here: only who stands beside it finds it.
#ifndef NR_ULSCH_H
#define NR_ULSCH_H

#define SYMBOLS 14
#define SEGMENTS 11

#endif
