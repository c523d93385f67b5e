# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import shutil
import subprocess
import unittest
from pathlib import Path

from lint_names import check

from tests.fixture import TreeTest


class HeaderTest(TreeTest):
    def expect(self, text: str, *expected: str) -> None:
        self.assert_rules(check(self.tree({"@/include/ws_a.h": text}), []), *expected)

    def test_types(self) -> None:
        self.expect("typedef struct ws_pool_s ws_pool_t;\ntypedef struct {\n  int a;\n} ws_task_t;\n")
        self.expect(
            "typedef struct {\n  int a;\n} task;\ntypedef int ws_word;\n", "ws_a.h:3 type", "ws_a.h:4 type"
        )

    def test_functions(self) -> None:
        self.expect("int ws_pool_push(ws_pool_t *pool,\n  int a);\nstatic inline void ws_x(void) {}\n")
        self.expect("/// push(x) does\nws_pool_t *pool_new(void);\n", "ws_a.h:2 function")

    def test_constants(self) -> None:
        self.expect("#define WS_A 1\nenum {\n  WS_B, ///< b, c\n  WS_C = 2,\n};\n")
        self.expect("#define MAX 1\nenum {\n  B,\n  WS_C,\n};\n", "ws_a.h:1 constant", "ws_a.h:3 constant")

    def test_units(self) -> None:
        self.expect("  uint64_t spin_ns_max;\n  uint32_t workers_realtime;\n")
        self.expect("  uint64_t spin_time;\n  uint64_t deadline;\n", "ws_a.h:1 unit", "ws_a.h:2 unit")


@unittest.skipUnless(shutil.which("gcc") and shutil.which("objdump"), "gcc and objdump are not installed")
class ArchiveTest(TreeTest):
    def archive(self, name: str, text: str) -> tuple[Path, Path]:
        root = self.tree({f"@/core/{name}": text})
        source = next(root.rglob(name))
        subprocess.run(["gcc", "-fPIC", "-c", "-o", f"{name}.o", str(source)], cwd=root, check=True)
        subprocess.run(["ar", "rc", "libthread_pool_ws.a", f"{name}.o"], cwd=root, check=True)
        return root, root / "libthread_pool_ws.a"

    def expect(self, text: str, *expected: str, name: str = "ws_a.c") -> None:
        root, archive = self.archive(name, text)
        self.assert_rules(check(root, [archive]), *(f"libthread_pool_ws.a:1 {rule}" for rule in expected))

    def test_clean(self) -> None:
        text = (
            "static int find(void) { return 1; }\nint ws_a(void) { return find(); }\n"
            'static const char *const names[] = {"a"};\nconst char *const *ws_names(void) { return names; }\n'
        )
        self.expect(text)

    def test_external_names(self) -> None:
        self.expect("int find(void) { return 1; }\n", "symbol")
        self.expect('__attribute__((visibility("protected"))) int find(void) { return 1; }\n', "symbol")

    def test_state(self) -> None:
        for text in (
            "static int n; int ws_n(void) { return n++; }\n",
            "int ws_n = 3;\n",
            "_Thread_local int ws_n;\n",
        ):
            self.expect(text, "state")
            self.expect(text, name="ws_process.c")

    def test_constructors(self) -> None:
        self.expect("__attribute__((constructor)) static void go(void) {}\n", "constructor")
