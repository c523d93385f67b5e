// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_seam_fiber.c
/// ws_seam.h: the functions of programs with fibers.
#define WS_SEAM_OF_FIBERS
#include "ws_seam.c"
