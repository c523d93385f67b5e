# SPDX-License-Identifier: BSD-3-Clause
"""Each fact about a machine is read in one place."""

import ast
import re
from collections import Counter
from pathlib import Path

from nrbench import facts

PACKAGE = Path(facts.__file__).parent
KERNELS = re.compile(r"/(proc|sys|dev/cpu)[/\w.{}*$-]*")
READERS = ("facts.py", "system.py")
OWN = {  # files of nrbench itself and of the processes it runs, no facts about the machine
    "live/processes.py": {"/proc/", "/proc/locks"},
    "radio/softmodem.py": {"/proc"},
    "radio/watch.py": {"/proc"},
    "trace/record.py": {"/proc"},
}
LEFT = {"scan/plan.py", "parts/scan.py"}  # caches and free memory of the part scan


def _names(path):
    """Texts that are the name of a file of the kernel, as they stand in the source."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and KERNELS.fullmatch(node.value):
            yield node.value


def test_only_the_list_of_facts_names_files_of_the_kernel():
    others = [path for path in PACKAGE.rglob("*.py") if path.name not in READERS]
    found = {str(path.relative_to(PACKAGE)): set(_names(path)) for path in others}
    assert {name: names for name, names in found.items() if names and name not in LEFT} == OWN


def test_no_file_of_the_kernel_is_named_twice():
    names = Counter(name for reader in READERS for name in _names(PACKAGE / reader))
    folders = {"/proc", "/proc/", "/proc/irq/"}
    assert {name for name, count in names.items() if count > 1} <= folders
