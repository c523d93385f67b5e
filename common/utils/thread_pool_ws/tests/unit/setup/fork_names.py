#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each function that the shared libraries export has a row in test_fork_calls.c, or is named below: it neither
waits nor looks at what threads of the parent have left. Arguments: nm, the libraries."""

import re
import subprocess
import sys
from pathlib import Path

NEVER_WAIT = set(
    """
    ws_block_give ws_block_take ws_blocking_begin ws_blocking_end ws_group_add ws_group_complete ws_group_done ws_group_init ws_journal_bursts ws_journal_minutes ws_key_init
    ws_late_name ws_must_return ws_node_count ws_node_of ws_pool_hold ws_pool_if_inside ws_pool_is_lost ws_pool_release ws_pool_set_spin_cpu_max ws_record_func
    ws_settings_cpu ws_settings_entry ws_settings_environment ws_settings_init ws_settings_list ws_settings_spin_cpu_max_text
    ws_settings_spin_text ws_trace_phase_begin ws_trace_phase_end ws_trace_run ws_trace_run_as ws_version
    sched_is_complete sched_task_init tpool_is_stopping
    ws_barrier_init ws_caller_id ws_cancel_init ws_cancel_requested ws_cancel_use ws_cancel_used ws_fiber_name
    ws_fiber_options_default ws_fiber_self ws_gate_close ws_gate_is_open ws_latch_init ws_latch_try ws_local_get
    ws_local_set ws_sem_init ws_step_next ws_step_run
    """.split()
)
ROW = re.compile(r"^ *(?:RETURNS|ENDS)\((\w+),", re.MULTILINE)
EXPORTED = re.compile(r"^\w+ T (\w+)@@?(?![@\w]*_PRIVATE_)", re.MULTILINE)


def main() -> None:
    nm, *libraries = sys.argv[1:]
    rows: set[str] = set()
    here = Path(__file__).parent
    api = here.parents[2] / "api/tests/fork_rows_api.h"
    for source in (here / "test_fork_calls.c", here / "fork_rows_fiber.h", api):
        rows |= set(ROW.findall(source.read_text(encoding="utf-8")))
    exported: set[str] = set()
    for library in libraries:
        command = (nm, "-D", "--defined-only", library)  # with versions: GNU nm since 2.35, llvm-nm
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        exported |= set(EXPORTED.findall(listed))
    assert exported, "nm lists no function"
    missing = exported - rows - NEVER_WAIT
    assert not missing, f"neither a row of test_fork_calls.c nor in NEVER_WAIT: {sorted(missing)}"
    assert not rows & NEVER_WAIT, sorted(rows & NEVER_WAIT)


if __name__ == "__main__":
    main()
