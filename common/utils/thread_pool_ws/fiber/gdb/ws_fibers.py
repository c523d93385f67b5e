# SPDX-License-Identifier: BSD-3-Clause
"""gdb: list the fibers of thread_pool_ws.

    (gdb) source ws_fibers.py
    (gdb) ws-fibers          name, state and function of each fiber
    (gdb) ws-fibers bt       and where each fiber that does not run has stopped

Needs debug information of the library. A backtrace needs a live process on x86-64, aarch64 or riscv64: gdb
unwinds from registers, and sets them to those that the fiber left on its stack. They are set back afterwards.
Where the fiber left them is read from the instructions of Boost.Context's jump_fcontext() in the process,
because each version has a layout of its own.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import gdb

STATES = {1: "queued", 2: "running", 3: "parked"}
STACK_BYTES_LEAST = 16384
FIBER_ALIGNMENT = 64
INSTRUCTIONS_MAX = 64


class Cpu(NamedTuple):
    """How gdb prints the instructions that save registers. Each pattern matches a whole instruction."""

    sp: str
    kept: tuple[str, ...]  # registers that a function leaves as they were, without the stack pointer
    returns_to: str  # the register with the return address; empty = the caller pushed the address
    grows: str  # bytes: the stack grows; store: it grows and registers are stored at its end
    stores: str  # one register, or two in a row, at an offset from the stack pointer
    leaves: str  # the stack pointer is copied: all registers are stored
    moves: str  # anything else that moves the stack pointer


CPUS = {
    "i386:x86-64": Cpu(
        "rsp", ("rbx", "rbp", "r12", "r13", "r14", "r15"), "",
        r"lea -(?P<bytes>\w+)\(%rsp\),%rsp|sub \$(?P<more>\w+),%rsp|push %(?P<one>\w+)",
        r"mov %(?P<one>\w+),(?P<offset>\w*)\(%rsp\)", r"mov %rsp,.*",
        r".*,%rsp|(push|pop|call).*",
    ),
    "aarch64": Cpu(
        "sp", tuple(f"x{i}" for i in range(19, 31)), "x30",
        r"sub sp, sp, #(?P<bytes>\w+)|st[rp] (?P<one>\w+), (?:(?P<two>\w+), )?\[sp, #-(?P<more>\w+)\]!",
        r"st[rp] (?P<one>\w+), (?:(?P<two>\w+), )?\[sp(?:, #(?P<offset>\w+))?\]", r"mov x\d+, sp",
        r"\w+ sp, .*|.*\[sp.*(!|\], .*)|bl.*",
    ),
    "riscv:rv64": Cpu(
        "sp", ("ra", *(f"s{i}" for i in range(12))), "ra",
        r"addi? sp,sp,-(?P<bytes>\w+)",
        r"sd (?P<one>\w+),(?P<offset>\w+)\(sp\)", r"mv \w+,sp",
        r"\w+ sp,.*|jal.*",
    ),
}  # fmt: skip
WORD_BYTES = 8


class Layout(NamedTuple):
    """A context that jump_fcontext() left on a stack, in bytes from its lowest address."""

    registers: dict[str, int]
    pc: int
    sp: int  # the stack pointer after the return


def layout(instructions: Iterable[str], cpu: Cpu) -> Layout | None:
    """Where these first instructions of jump_fcontext() leave the registers; None when one is not found."""
    frame_bytes = 0
    above: dict[str, int] = {}  # bytes from the register's place up to the stack pointer of the call
    for line in instructions:
        text = " ".join(line.partition("#  ")[0].split())
        if re.fullmatch(cpu.leaves, text):
            break
        match = re.fullmatch(cpu.grows, text)
        if match:
            parts = match.groupdict()
            frame_bytes += int(parts.get("bytes") or parts.get("more") or str(WORD_BYTES), 0)
        else:
            match = re.fullmatch(cpu.stores, text)
            parts = match.groupdict() if match else {}
            if not match and re.fullmatch(cpu.moves, text):
                return None
        place = frame_bytes - int(parts.get("offset") or "0", 0)
        for i, name in enumerate(("one", "two")):
            if parts.get(name):
                above.setdefault(parts[name], place - i * WORD_BYTES)
    else:
        return None
    pc = above.get(cpu.returns_to, None if cpu.returns_to else 0)
    if pc is None or not set(cpu.kept) <= set(above):
        return None
    registers = {name: frame_bytes - above[name] for name in cpu.kept}
    return Layout(registers, frame_bytes - pc, frame_bytes + (0 if cpu.returns_to else WORD_BYTES))


def instructions(architecture: gdb.Architecture) -> list[str]:
    """The first of jump_fcontext(), one a string, as binutils print them."""
    try:
        address = int(gdb.parse_and_eval("(unsigned long)&jump_fcontext"))
    except gdb.error as error:
        raise gdb.GdbError(
            "ws-fibers: the process has no symbol jump_fcontext: load the symbols of Boost.Context"
        ) from error
    flavor = gdb.parameter("disassembly-flavor") if "x86" in architecture.name() else None
    if flavor:
        gdb.execute("set disassembly-flavor att")
    try:
        return [line["asm"] for line in architecture.disassemble(address, count=INSTRUCTIONS_MAX)]
    finally:
        if flavor:
            gdb.execute(f"set disassembly-flavor {flavor}")


def layout_here() -> tuple[Cpu, Layout]:
    """The layout of the contexts of this process."""
    architecture = gdb.selected_frame().architecture()
    cpu = CPUS.get(architecture.name())
    if cpu is None:
        raise gdb.GdbError(f"ws-fibers: no backtraces on {architecture.name()}, only on {', '.join(CPUS)}")
    found = layout(instructions(architecture), cpu)
    if found is None:
        raise gdb.GdbError(
            "ws-fibers: this script cannot follow how jump_fcontext() saves the registers; no backtraces: "
            'compare "disassemble jump_fcontext" with CPUS in ws_fibers.py'
        )
    return cpu, found


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
        for i in range(int(slab["slots"])):
            if not int(slab["used"]) >> i & 1:
                continue  # addresses without memory
            end = int(slab["memory"]) + (i + 1) * int(slab["slot_bytes"])
            assert stack_bytes < int(slab["slot_bytes"])
            address = (end - fiber_type.sizeof) // FIBER_ALIGNMENT * FIBER_ALIGNMENT
            fiber = gdb.Value(address).cast(fiber_type.pointer())
            if int(fiber["where"]["v"]) in STATES:
                yield fiber
        slab = slab["next"][0]


def word_at(address: int) -> int:
    return int(gdb.Value(address).cast(gdb.lookup_type("unsigned long").pointer()).dereference())


def backtrace(context: int, cpu: Cpu, left: Layout) -> str:
    """The backtrace of a fiber that has left its stack."""
    names = [cpu.sp, *left.registers, "pc"]
    before = {name: int(gdb.parse_and_eval(f"(unsigned long)${name}")) for name in names}
    try:
        gdb.execute(f"set ${cpu.sp} = {context + left.sp}")
        for name, offset in {**left.registers, "pc": left.pc}.items():
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
        selected = gdb.selected_frame()
        gdb.newest_frame().select()  # registers are set in it: a caller's are on a stack of the program
        try:
            print(f"{self.show(argument.strip() == 'bt')} fibers")
        finally:
            selected.select()

    def show(self, with_backtraces: bool) -> int:
        count = 0
        here = layout_here() if with_backtraces else None
        for fiber in fibers():
            count += 1
            state = STATES[int(fiber["where"]["v"])]
            print(f'fiber {int(fiber):#x} "{fiber["name"].string()}" {state}: {fiber["own"]["func"]}')
            context = int(fiber["context"])
            if here and state != "running" and context != 0:
                print(backtrace(context, *here))
        return count


Fibers()
