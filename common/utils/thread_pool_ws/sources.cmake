# SPDX-License-Identifier: BSD-3-Clause
# The sources of the pool, in one list for this project's build and for OAI's: a room after the other, each of
# which uses only those before it (README.md).
set(WS_CORE_SOURCES
  base/ws_window.c
  os/ws_os_affinity.c
  os/ws_os_linux.c
  os/ws_os_quota.c
  os/ws_relax.c
  queue/ws_deque.c
  pool/ws_inbox.c
  pool/ws_lane.c
  pool/ws_near.c
  pool/ws_process.c
  trace/ws_traced.c
  trace/ws_traced_phase.c
  prewake/ws_lead.c
  prewake/ws_level.c
  prewake/ws_period.c
  prewake/ws_predict.c
  prewake/ws_prewake.c
  prewake/ws_rhythm.c
  sleep/ws_guard.c
  sleep/ws_helper.c
  sleep/ws_hint.c
  sleep/ws_hot.c
  sleep/ws_park.c
  sleep/ws_place.c
  sleep/ws_search.c
  sleep/ws_spin.c
  sleep/ws_watch.c
  core/ws_dig.c
  core/ws_find.c
  core/ws_group.c
  core/ws_join.c
  core/ws_push.c
  core/ws_run.c
  core/ws_survive.c
  core/ws_wait.c
  core/ws_worker.c
  observe/ws_report.c
  observe/ws_stats.c
  setup/ws_config.c
  setup/ws_pool.c
  setup/ws_settings.c
  setup/ws_start.c
  setup/ws_topo.c)
list(TRANSFORM WS_CORE_SOURCES PREPEND "${CMAKE_CURRENT_LIST_DIR}/")
