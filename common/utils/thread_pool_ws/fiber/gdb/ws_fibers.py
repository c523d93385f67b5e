# SPDX-License-Identifier: BSD-3-Clause
"""gdb: list the fibers of thread_pool_ws.

    (gdb) source ws_fibers.py
    (gdb) ws-fibers          name, state and function of each fiber
    (gdb) ws-fibers bt       and where each fiber that does not run has stopped

Needs debug information of the library. A backtrace needs a live process on x86-64: gdb unwinds from
registers, and sets them to those that the fiber left on its stack. They are set back afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator

import gdb

STATES = {1: "queued", 2: "running", 3: "parked"}
STACK_BYTES_LEAST = 16384
FIBER_ALIGNMENT = 64
# What jump_fcontext() of Boost.Context leaves on an x86-64 stack, as offsets from the context.
SAVED = {"r12": 8, "r13": 16, "r14": 24, "r15": 32, "rbx": 40, "rbp": 48, "rip": 56}
SAVED_BYTES = 64


def fibers() -> Iterator[gdb.Value]:
    """The structure of each fiber that has not ended."""
    try:
        fiber_type = gdb.lookup_type("ws_fiber_t")
    except gdb.error as error:
        raise gdb.GdbError(
            "ws-fibers: thread_pool_ws_fiber is not loaded, or has no debug information: build it with -g"
        ) from error
    slab = gdb.parse_and_eval("ws_fiber_process.slabs")
    while slab != 0:
        stack_bytes = STACK_BYTES_LEAST << int(slab["size_class"])
        for i in range(int(slab["used"])):
            end = int(slab["memory"]) + (i + 1) * int(slab["slot_bytes"])
            assert stack_bytes < int(slab["slot_bytes"])
            address = (end - fiber_type.sizeof) // FIBER_ALIGNMENT * FIBER_ALIGNMENT
            fiber = gdb.Value(address).cast(fiber_type.pointer())
            if int(fiber["where"]["v"]) in STATES:
                yield fiber
        slab = slab["next"]


def word_at(address: int) -> int:
    return int(gdb.Value(address).cast(gdb.lookup_type("unsigned long").pointer()).dereference())


def backtrace(context: int) -> str:
    """The backtrace of a fiber that has left its stack."""
    names = [*SAVED, "rsp"]
    before = {name: int(gdb.parse_and_eval(f"(unsigned long)${name}")) for name in names}
    try:
        gdb.execute(f"set $rsp = {context + SAVED_BYTES}")
        for name, offset in SAVED.items():
            gdb.execute(f"set ${name} = {word_at(context + offset)}")
        return gdb.execute("backtrace", to_string=True)
    finally:
        for name in reversed(names):
            gdb.execute(f"set ${name} = {before[name]}")


class Fibers(gdb.Command):
    """List the fibers of thread_pool_ws; with bt, also where each has stopped."""

    def __init__(self) -> None:
        super().__init__("ws-fibers", gdb.COMMAND_STACK)

    def invoke(self, argument: str, from_tty: bool) -> None:  # noqa: ARG002, FBT001 (gdb's own signature)
        count = 0
        frame = gdb.selected_frame()
        for fiber in fibers():
            count += 1
            state = STATES[int(fiber["where"]["v"])]
            print(f'fiber {int(fiber):#x} "{fiber["name"].string()}" {state}: {fiber["own"]["func"]}')
            context = int(fiber["context"])
            if argument.strip() == "bt" and state != "running" and context != 0:
                print(backtrace(context))
        frame.select()
        print(f"{count} fibers")


Fibers()
