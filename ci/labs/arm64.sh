# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# Sourced by each test of the kind arm64: tests that use Debian's LTTng and Python there.
export LD_LIBRARY_PATH=/tests WS_TEST_DEADLINE_S=240
slots() { slots_static 150 | tee slots.out; }

# An event of each task that has run.
traced() {
  lttng-sessiond --daemonize --no-kernel && lttng create lab --output=/tmp/trace &&
    lttng enable-event --userspace 'oai_tpool_ws:*' && lttng start &&
    LTTNG_UST_REGISTER_TIMEOUT=-1 TPOOL_WS_TRACE=1 slots && lttng destroy &&
    babeltrace2 /tmp/trace >events || return 1
  ran=$(sed -n 's/^tasks run by workers \([0-9]*\), by this thread \([0-9]*\)$/\1 + \2/p' slots.out)
  [ "$(grep -c oai_tpool_ws:run_begin: events)" = $((ran)) ]
}

recorded() {
  TPOOL_WS_RECORD=/tmp/record TPOOL_WS_DEADLINE_US=1 slots && tpool-ws late /tmp/record | tee late.out
  grep '^150 of 150 bursts were late' late.out
}

live() {
  TPOOL_WS_LIVE=1 slots_shared 100000000 &
  until tpool-ws top --once --json --pid $! | grep '"run_tasks": [1-9]'; do sleep 1; done
}
