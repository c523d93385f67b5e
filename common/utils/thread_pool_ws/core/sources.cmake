# SPDX-License-Identifier: BSD-3-Clause
# The sources of the core, in one list for this project's build and for OAI's.
set(WS_CORE_SOURCES
  core/ws_config.c
  core/ws_deque.c
  core/ws_find.c
  core/ws_group.c
  core/ws_guard.c
  core/ws_hint.c
  core/ws_join.c
  core/ws_lane.c
  core/ws_lead.c
  core/ws_level.c
  core/ws_os_linux.c
  core/ws_os_quota.c
  core/ws_park.c
  core/ws_period.c
  core/ws_place.c
  core/ws_pool.c
  core/ws_predict.c
  core/ws_prewake.c
  core/ws_process.c
  core/ws_push.c
  core/ws_relax.c
  core/ws_report.c
  core/ws_run.c
  core/ws_settings.c
  core/ws_spin.c
  core/ws_start.c
  core/ws_stats.c
  core/ws_topo.c
  core/ws_traced.c
  core/ws_traced_phase.c
  core/ws_wait.c
  core/ws_watch.c
  core/ws_window.c
  core/ws_worker.c)
list(TRANSFORM WS_CORE_SOURCES PREPEND "${CMAKE_CURRENT_LIST_DIR}/../")
