# SPDX-License-Identifier: BSD-3-Clause
"""Traces that are made up: files of lines as babeltrace2 prints them, and a program in its place."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from fake import executable

from nrbench.trace.cli import program
from nrbench.trace.reader import KINDS, Trace

CASES = Path(__file__).parent / "trace"
BABELTRACE = """#!/bin/sh
for folder; do :; done
grep '^\\[' "$folder/lines"
grep '^W' "$folder/lines" >&2
[ ! -e "$folder/fault" ] || { cat "$folder/fault" >&2; exit 1; }
"""
FAULT = """ERROR:    [Babeltrace CLI] (babeltrace2.c:2480)
  Cannot create components.
CAUSED BY [auto-disc-source-ctf-fs: 'source.ctf.fs'] (fs.c:803)
  Failed to index CTF stream file
  't/tpool_ws_0'
"""


def line(time_ns: int, tid: int, name: str, /, pid: int = 1, **fields: object) -> str:
    """An event of the pool."""
    payload = ", ".join(f"{key} = {json.dumps(value)}" for key, value in fields.items())
    time = f"{time_ns // 10**9}.{time_ns % 10**9:09}"
    context = f"{{ cpu_id = 0 }}, {{ vpid = {pid}, vtid = {tid} }}"
    return f"[{time}] host oai_tpool_ws:{name}: {context}, {{ {payload} }}\n"


def events_of(trace: Trace) -> list[dict]:
    """Those that the report reads, in order of time: all their columns, and the texts of rare ones."""
    found = []
    for pid, _, table, notes, *_ in trace.processes():
        texts = {note["place"]: note["text"] for note in notes}
        for place, event in enumerate(table.to_dict("records")):
            of = {"pid": pid, "kind": KINDS[event["kind"]], "text": texts.get(place, "")}
            found.append(event | of)
    return sorted(found, key=lambda event: event["time"])


class Tool:
    """tpool-ws-trace in this process, on a trace of such lines."""

    def __init__(self, folder: Path, monkeypatch, capsys) -> None:
        self.capsys, self.trace = capsys, folder / "trace"
        self.trace.mkdir()
        (self.trace / "metadata").write_text("/* CTF 1.8 */")
        (folder / "bin").mkdir()
        executable(folder / "bin" / "babeltrace2", BABELTRACE)
        monkeypatch.setenv("PATH", f"{folder}/bin:/usr/bin:/bin")

    def take(self, case: str) -> None:
        shutil.copy(CASES / f"{case}.log", self.trace / "lines")
        about = CASES / f"{case}.about.json"
        (self.trace / "recorded.json").write_text(about.read_text() if about.exists() else "{}")

    def run(self, *words: object) -> tuple[int, str, str]:
        """@return status, standard output, standard error"""
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            program.app([str(word) for word in words], prog_name="tpool-ws-trace")
        return (ended.value.code, *self.capsys.readouterr())

    def report(self, *words: object) -> str:
        status, out, err = self.run("report", self.trace, *words)
        assert status == 0, err
        return out

    def summary(self, *words: object) -> dict:
        return json.loads(self.report("--json", *words))

    def error(self, *words: object) -> str:
        """The only line of an error."""
        status, out, err = self.run(*words)
        assert (status, out, err.count("\n")) == (2, "", 1), err
        return err
