# SPDX-License-Identifier: BSD-3-Clause
"""Records traces of thread_pool_ws with LTTng and reports on them. `tpool-ws-trace --help`.

`record` writes a trace. `reader` makes a table of its events, by babeltrace2, and `walk` follows the threads
once. All else is a view of the table and of that walk: `process`, `figures`, `report`, `perfetto`.
"""
