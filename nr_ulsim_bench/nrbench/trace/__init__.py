# SPDX-License-Identifier: BSD-3-Clause
"""Records traces of thread_pool_ws with LTTng and reports on them. `tpool-ws-trace --help`.

`reader` makes a table of a trace's events, by babeltrace2. `walk` follows its threads once, and all else is a
view of the table and of that walk: `slots`, `path`, `figures`, `perfetto`.
"""
