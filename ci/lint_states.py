#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The changes of a word that has states stand in a table in C (WS_TO, ws_base.h), which builds with asserts
check, and in a model, which checks its own. Rule: states (both have the same changes)."""

import re
import sys
from pathlib import Path

from lintkit import MODULE, Finding, line_of, main, read

# Table in C; its header; its model; what the model has; its names there, or none for what it leaves out.
WORDS = (
    ("ws_inbox_changes", "tasks/ws_inbox.h", "Inbox.pml", r"^inline change\(.*?^\}",
     {f"WS_INBOX_{name}": name for name in ("AWAY", "WAITING", "FULL", "KEPT", "TAKEN")}),
    ("ws_state_changes", "sleep/ws_sleep_state.h", "Park.tla", r"^WorkerChanges ==.*?\}",
     {"WS_STATE_RUNNING": "running", "WS_STATE_PARKED": "parked",
      "WS_STATE_SEARCHES": "relied", "WS_STATE_SEARCHES + WS_STATE_CALLED": "relied",
      "WS_STATE_SEARCHING": "starved", "WS_STATE_SEARCHING + WS_STATE_CALLED": "starved"}),
    ("ws_guard_changes", "sleep/ws_sleep_state.h", "Park.tla", r"^GuardChanges ==.*?\}",
     {"WS_GUARD_DORMANT": "dormant", "WS_GUARD_STANDING": "standing", "WS_GUARD_ENDED": None}),
)  # fmt: skip
ROW = re.compile(r"\[([\w +]+)\] =(.*?),$", re.DOTALL | re.MULTILINE)
BIT = re.compile(r"WS_TO\(([\w +]+)\)")
CHANGE = re.compile(r'(?:IS\(|<<)"?(\w+)"?, "?(\w+)"?(?:\)|>>)')


def check(root: Path) -> list[Finding]:
    findings = []
    for table, header, model, pattern, names in WORDS:
        path, code = f"{MODULE}/{header}", read(root / MODULE / header)
        text = read(root / MODULE / "tests/model" / model)
        found = re.search(rf"\b{table}\[\w+\] = \{{\n(.*?)^\}};", code, re.DOTALL | re.MULTILINE)
        listed = re.search(pattern, text, re.DOTALL | re.MULTILINE)
        if found is None or listed is None:
            findings.append(Finding(path, 1, "states", f"no {table}, or no list in {model}"))
            continue
        in_code = {(names.get(row[1], row[1]), names.get(to, to)) for row in ROW.finditer(found[1])
                   for to in BIT.findall(row[2])}  # fmt: skip
        in_code = {change for change in in_code if None not in change}
        line, in_model = line_of(code, found.start()), set(CHANGE.findall(listed[0]))
        for where, changes in (("not", in_code - in_model), ("only", in_model - in_code)):
            text = f"{table}: %s to %s is {where} in {model}"
            findings += [Finding(path, line, "states", text % change) for change in sorted(changes)]
    return findings


if __name__ == "__main__":
    sys.exit(main(check))
