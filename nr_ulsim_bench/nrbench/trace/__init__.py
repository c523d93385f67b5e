# SPDX-License-Identifier: BSD-3-Clause
"""Records traces of thread_pool_ws with LTTng and reports on them. `tpool-ws-trace --help`.

`reader` turns a trace into the events of `events`, `analysis` makes figures of them, `summary` and `report`
show these. Only `reader` and `decode` use Babeltrace.
"""
