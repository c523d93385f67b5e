# SPDX-License-Identifier: BSD-3-Clause
"""cyclictest, with a program in its place."""

import sys
from pathlib import Path

import pytest

from nrbench.doctor import latency
from nrbench.doctor.finding import Target
from nrbench.system import System, parse_cpus

LINE = "T: 0 (  714) P:97 I:1000 C:   1000 Min:      2 Act:    3 Avg:    4 Max:      50"


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """A folder that alone is searched for programs; returns what makes one."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    def make(name, text):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!{sys.executable}\n{text}\n")
        path.chmod(0o755)
        return path

    return make


def test_programs_that_are_missing_are_said_and_no_error(commands):
    target = Target(System(), System().affinity())
    findings = latency.examine(target, Path("not there/ws-wakes"))
    assert [(finding.check, finding.checked) for finding in findings] == [
        ("wake latency", False),
        ("cyclictest", False),
    ]
    assert "not there/ws-wakes: no such program" in findings[0].seen


def test_cyclictest_runs_with_idle_states_as_they_are_and_without_options(commands, tmp_path, monkeypatch):
    log = tmp_path / "calls"
    program = (
        "import sys",
        f"open({str(log)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')",
        f"print({LINE!r} if '--latency=1000000' in sys.argv else {LINE.replace('4', '1')!r})",
    )
    commands("cyclictest", "\n".join(program))
    monkeypatch.setattr(latency.os, "access", lambda *args: True)
    (finding,) = latency.cyclictest(Target(System(), parse_cpus("1")), realtime=True)
    first, second = log.read_text().splitlines()
    assert "--latency=1000000" in first and "--latency" not in second
    assert "-p 97" in first and "-a 1" in first
    assert "idle states as they are: 4 us late in the mean, 50 us at most" in finding.seen
    assert "without options: 1 us" in finding.seen


def test_a_cyclictest_that_fails_is_said(commands):
    commands("cyclictest", "import sys; sys.exit('no permission')")
    (finding,) = latency.cyclictest(Target(System(), parse_cpus("1")), realtime=True)
    assert not finding.checked and "cyclictest: no permission" in finding.seen


def test_a_cyclictest_that_prints_nothing_is_said(commands):
    commands("cyclictest", "")
    (finding,) = latency.cyclictest(Target(System(), parse_cpus("1")), realtime=True)
    assert not finding.checked and "printed no latencies" in finding.seen
