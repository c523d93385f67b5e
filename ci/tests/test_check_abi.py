# SPDX-License-Identifier: BSD-3-Clause
import shutil
import subprocess
import unittest
from pathlib import Path
from unittest import mock

import check_abi

from tests.fixture import FolderTest

HEADER = """
typedef struct { int size; void *warn_arg; @SETTINGS@ } ws_settings_t;
typedef struct { int kind; @TASK@ } ws_task_t;
int ws_first(const ws_settings_t *settings);
int ws_second(ws_task_t task);
int ws_third(void);
"""
SOURCE = """
#include "ws.h"
int ws_first(const ws_settings_t *settings) { return settings->size; }
int ws_second(ws_task_t task) { return task.kind; }
int ws_third(void) { return 3; }
"""
NAME = "thread_pool_ws"


@unittest.skipUnless(shutil.which("abidiff") and shutil.which("gcc"), "abigail-tools or gcc is not installed")
class AbiTest(FolderTest):
    def setUp(self) -> None:
        super().setUp()
        here = mock.patch.multiple(check_abi, DUMPS=self.root, LIBRARIES=[NAME], HEADERS=[self.root])
        here.start()
        self.addCleanup(here.stop)
        self.dump = self.root / f"{NAME}.abi"
        self.make(self.dump)

    def make(self, dump: Path, settings: str = "", task: str = "", script: str = "X_0.1 { ws_*; };",
             source: str = SOURCE) -> Path:  # fmt: skip
        header = HEADER.replace("@SETTINGS@", settings).replace("@TASK@", task)
        (self.root / "ws.h").write_text(header, encoding="utf-8")
        (self.root / "ws.c").write_text(source, encoding="utf-8")
        (self.root / "ws.map").write_text(script, encoding="utf-8")
        library = self.root / f"lib{NAME}.so"
        command = ["gcc", "-g", "-shared", "-fPIC", "-Wl,--version-script=ws.map", "-o", str(library), "ws.c"]
        subprocess.run(command, check=True, cwd=self.root)
        check_abi.dump(library, [self.root], dump)
        return library

    def findings(self, node: str = "_0.1", **changes: str) -> str:
        new = self.root / "new.abi"
        library = self.make(new, **changes)
        return "\n".join(check_abi.compare(NAME, library, new, node))

    def test_the_same_library_has_no_finding(self) -> None:
        self.assertEqual(self.findings(), "")

    def test_a_structure_that_grows_breaks_callers(self) -> None:
        self.assertIn("[change]", self.findings(task="long more;"))

    def test_sized_structures_may_grow_at_the_end_only(self) -> None:
        self.assertEqual(self.findings(settings="long more;"), "")
        text = HEADER.replace("int size;", "int size; long more;")
        with mock.patch(f"{__name__}.HEADER", text):
            self.assertIn("[change]", self.findings())

    def test_a_function_that_goes(self) -> None:
        source = SOURCE.replace("int ws_third(void) { return 3; }", "")
        self.assertIn("ws_third", self.findings(source=source))
        self.assertIn("ws_third", "".join(check_abi.check(self.root, update=True)))
        self.assertIn("ws_third", self.dump.read_text(encoding="utf-8"))

    def test_a_new_function_belongs_to_the_node_of_its_version(self) -> None:
        more = SOURCE + "int ws_fourth(void) { return 4; }\n"
        self.assertEqual(self.findings(source=more), "")  # 0.1 is not released
        self.assertIn("[node] ws_fourth", self.findings(source=more, node="_0.2"))
        script = "X_0.1 { ws_*; }; X_0.2 { ws_fourth; } X_0.1;"
        self.assertEqual(self.findings(source=more, node="_0.2", script=script), "")
        self.assertEqual(check_abi.check(self.root, update=True), [])
        self.assertIn("ws_fourth", self.dump.read_text(encoding="utf-8"))

    def test_functions_for_a_library_of_the_same_build_may_change(self) -> None:
        script = "X_0.1 { ws_*; }; X_PRIVATE_0.1.0 { ws_second; };"
        self.make(self.dump, script=script)
        self.assertEqual(self.findings(task="long more;", script=script), "")
