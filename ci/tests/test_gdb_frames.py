# SPDX-License-Identifier: BSD-3-Clause
"""ws_fibers.py, the script for gdb, follows what a jump_fcontext() of another CPU or version does. The
instructions are made up, in the words of binutils; test_gdb_frames runs gdb itself."""

import importlib.util
import sys
import types
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "common/utils/thread_pool_ws/fiber/gdb/ws_fibers.py"


def load() -> types.ModuleType:
    """The script, beside a gdb of which it only defines a command."""
    gdb = types.ModuleType("gdb")
    gdb.Command = type("Command", (), {"__init__": lambda self, *_: None})
    gdb.COMMAND_STACK = 0
    gdb.Value = gdb.Architecture = object
    spec = importlib.util.spec_from_file_location("ws_fibers", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["gdb"] = gdb
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules["gdb"]
    return module


script = load()
X86_SAVES = [f"mov    %{name},{8 * i + 8:#x}(%rsp)" for i, name in enumerate(script.CPUS["i386:x86-64"].kept)]


def layout(cpu: str, *instructions: str):
    return script.layout(instructions, script.CPUS[cpu])


class X86(unittest.TestCase):
    cpu = "i386:x86-64"

    def test_a_frame_that_is_made_at_once(self):
        found = layout(self.cpu, "endbr64", "lea    -0x38(%rsp),%rsp", "stmxcsr (%rsp)", *X86_SAVES,
                       "mov    %rsp,%rax", "mov    %rdi,%rsp")  # fmt: skip
        self.assertEqual(found.registers, {"rbx": 8, "rbp": 16, "r12": 24, "r13": 32, "r14": 40, "r15": 48})
        self.assertEqual((found.pc, found.sp), (56, 64))

    def test_a_frame_that_grows_after_the_registers(self):
        guard = ("mov    %fs:0x28,%rcx", "mov    %rcx,(%rsp)")
        shadow = ("lea    -0x8(%rsp),%rsp", "rdsspq %rcx", "mov    %rcx,(%rsp)")
        found = layout(self.cpu, "sub    $0x40,%rsp", *guard, *X86_SAVES, *shadow, "mov    %rsp,%rax")
        self.assertEqual(found.registers["rbx"], 16)
        self.assertEqual((found.pc, found.sp), (72, 80))

    def test_pushes(self):
        pushes = [f"push   %{name}" for name in ("rbp", "rbx", "r15", "r14", "r13", "r12", "rcx")]
        found = layout(self.cpu, *pushes, "mov    %rsp,(%rdi)")
        self.assertEqual(found.registers, {"r12": 8, "r13": 16, "r14": 24, "r15": 32, "rbx": 40, "rbp": 48})
        self.assertEqual((found.pc, found.sp), (56, 64))

    def test_what_it_cannot_follow_is_no_layout(self):
        end = "mov    %rsp,%rax"
        self.assertIsNone(layout(self.cpu, "sub    $0x38,%rsp", *X86_SAVES))
        self.assertIsNone(layout(self.cpu, "sub    $0x38,%rsp", *X86_SAVES[1:], end))
        for moved in ("and    $0xfffffffffffffff0,%rsp", "sub    %rax,%rsp", "push   $0x0", "pop    %rax"):
            with self.subTest(moved):
                self.assertIsNone(layout(self.cpu, "sub    $0x38,%rsp", *X86_SAVES, moved, end))


class Aarch64(unittest.TestCase):
    cpu = "aarch64"
    pairs = [f"stp\tx{i}, x{i + 1}, [sp, #{8 * (i - 19) + 64}]" for i in range(19, 31, 2)]

    def test_pairs(self):
        begin = ("sub\tsp, sp, #0xb0", "stp\td8, d9, [sp]")
        found = layout(self.cpu, *begin, *self.pairs, "str\tx30, [sp, #160]", "mov\tx4, sp", "mov\tsp, x0")
        self.assertEqual((found.registers["x19"], found.registers["x20"]), (64, 72))
        self.assertEqual((found.registers["x29"], found.registers["x30"]), (144, 152))
        self.assertEqual((found.pc, found.sp), (152, 0xB0))

    def test_a_store_that_moves_the_stack_pointer(self):
        pairs = [f"stp\tx{i}, x{i + 1}, [sp, #-16]!" for i in range(19, 31, 2)]
        found = layout(self.cpu, *pairs, "mov\tx4, sp")
        self.assertEqual((found.registers["x19"], found.registers["x30"], found.sp), (80, 8, 96))
        self.assertIsNone(layout(self.cpu, *pairs, "ldr\tx9, [sp], #16", "mov\tx4, sp"))


class Riscv64(unittest.TestCase):
    def test_single_stores(self):
        kept = script.CPUS["riscv:rv64"].kept
        stores = [f"sd\t{name},{96 + 8 * i}(sp)" for i, name in enumerate(kept)]
        found = layout("riscv:rv64", "addi\tsp,sp,-208", "fsd\tfs0,0(sp)", *stores, "mv\ta2,sp")
        self.assertEqual((found.registers["ra"], found.registers["s11"]), (96, 192))
        self.assertEqual((found.pc, found.sp), (96, 208))
