# SPDX-License-Identifier: BSD-3-Clause
"""Each fact about a machine is read in one place."""

import ast
import re
from collections import Counter
from pathlib import Path

from nrbench import facts
from nrbench.doctor.checks import ROWS

PACKAGE = Path(facts.__file__).parent
KERNELS = re.compile(r"/(proc|sys|dev/cpu)[/\w.{}*$-]*")
READERS = ("facts.py", "system.py")
OWN = {  # files of nrbench itself and of the processes it runs, no facts about the machine
    "radio/softmodem.py": {"/proc"},
    "radio/watch.py": {"/proc"},
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
    names = Counter(fact.name for fact in vars(facts).values() if isinstance(fact, facts.File))
    names.update(name for name in _names(PACKAGE / "system.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_a_fact_knows_its_paths():
    assert facts.GOVERNOR.at(3) == "/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor"
    assert facts.TIMER_MIGRATION.label == "kernel.timer_migration" and facts.THP.label == facts.THP.name
    rows = (row for area in ROWS.values() for row in area.values() if "fact" in row)
    assert all(isinstance(getattr(facts, row["fact"]), facts.File) for row in rows)
