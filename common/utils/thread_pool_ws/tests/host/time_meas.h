// SPDX-License-Identifier: BSD-3-Clause
/// @file time_meas.h
/// The short spelling.
#include "common/utils/time_meas.h"
