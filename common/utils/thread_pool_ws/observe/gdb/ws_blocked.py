# SPDX-License-Identifier: BSD-3-Clause
"""gdb: where tasks of thread_pool_ws block their thread in a system call of their own.

    gdb -p <process> -batch -ex 'source ws_blocked.py' -ex ws-blocked

A thread that runs a task and waits in a join is left out: it gives its place away. Needs debug information of
the library; x86-64, aarch64 and riscv64.
"""

from collections.abc import Iterator

import gdb

# The instruction before the one at which a thread comes back from the kernel.
SYSTEM_CALLS = (bytes.fromhex("0f05"), bytes.fromhex("010000d4"), bytes.fromhex("73000000"))
RUNS_A_TASK, OWN_WAIT = "call_task", "ws_os_futex_wait"


def frames(frame: "gdb.Frame | None") -> Iterator["gdb.Frame"]:
    while frame is not None:
        yield frame
        frame = frame.older()


def in_system_call(frame: "gdb.Frame") -> bool:
    before = bytes(gdb.selected_inferior().read_memory(frame.pc() - 4, 4))
    return before.endswith(SYSTEM_CALLS)


def of_task(newest: "gdb.Frame") -> list[str]:
    """Names of the functions above the pool's. Empty: the thread runs no task, or the pool waits in it."""
    names: list[str] = []
    for frame in frames(newest):
        name = frame.name() or "?"
        if name == RUNS_A_TASK:
            return names
        if name.startswith(OWN_WAIT):
            return []
        names += [name] if name not in names[-1:] else []  # one that is inlined into its namesake
    return []


class Blocked(gdb.Command):
    """List the threads whose task is in a system call, with the task's functions, the innermost first."""

    def __init__(self) -> None:
        super().__init__("ws-blocked", gdb.COMMAND_STACK)

    def invoke(self, argument: str, from_tty: bool) -> None:
        before, found = gdb.selected_thread(), 0
        for thread in sorted(gdb.selected_inferior().threads(), key=lambda thread: thread.num):
            thread.switch()
            newest = gdb.newest_frame()
            if (names := of_task(newest)) and in_system_call(newest):
                print(f'thread {thread.ptid[1]} "{thread.name}" is blocked: {" < ".join(names)}')
                found += 1
        print(f"{found} blocked")
        before.switch()


Blocked()
