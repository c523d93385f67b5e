# SPDX-License-Identifier: BSD-3-Clause
"""Records traces of thread_pool_ws with LTTng and says what they show. `tpool-ws-trace --help`.

`events` is what the rest speaks; `reader` makes it of a trace, `analysis` makes figures of it, `summary` and
what follows show them. Nothing but `reader` and `decode` knows Babeltrace.
"""
