// SPDX-License-Identifier: BSD-3-Clause
#include "sim_scenario.h"
void sim_scenario_show(const sim_scenario_t *scenario) { (void)scenario; }
