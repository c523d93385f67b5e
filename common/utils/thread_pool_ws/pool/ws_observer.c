// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_observer.c
/// ws_observer.h.
#include "ws_observer.h"

void ws_observer_call(ws_worker_t *worker, ws_observed_t what)
{
  const ws_settings_t *settings = &worker->pool->settings;
  ws_observation_t observation = {.what = what, .worker = worker->index};
  ws_os_place(&observation.cpu, &observation.node);
  ws_self()->observing = true;
  settings->observer(settings->observer_arg, &observation);
  ws_self()->observing = false;
}
