# SPDX-License-Identifier: BSD-3-Clause
"""cyclictest, with a program in its place."""

import sys
from pathlib import Path

import pytest

from nrbench.doctor import cyclictest, latency
from nrbench.doctor.finding import Target
from nrbench.doctor.wakes import WakesError
from nrbench.system import System, parse_cpus

HISTOGRAM = """\
# /dev/cpu_dma_latency set to 0us
# Histogram
000000 000000
000002 000010
000003 000085
000009 000004
# Total: 000000099
# Min Latencies: 00002
# Avg Latencies: 00003
# Max Latencies: 05000
# Histogram Overflows: 00001
# Histogram Overflow at cycle number:
# Thread 0: 00042
"""


def test_cyclictests_histogram_is_read():
    cycles = cyclictest.parse_cyclictest(HISTOGRAM)
    assert (cycles.samples, cycles.p50_us, cycles.p99_us, cycles.max_us) == (100, 3, 9, 5000)


def test_a_cyclictest_that_says_nothing_is_an_error():
    with pytest.raises(WakesError, match="no histogram"):
        cyclictest.parse_cyclictest("unable to change scheduling policy!\n")


def test_cycles_that_are_all_above_the_histogram_are_as_late_as_the_latest():
    text = "# Total: 000000000\n# Max Latencies: 05000\n# Histogram Overflows: 00100\n"
    cycles = cyclictest.parse_cyclictest(text)
    assert (cycles.samples, cycles.p50_us, cycles.p99_us, cycles.max_us) == (100, 5000, 5000, 5000)


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
    assert "not there/ws-wakes is not built" in findings[0].seen


def test_cyclictest_runs_with_idle_states_as_they_are_and_as_it_comes(commands, tmp_path, monkeypatch):
    log = tmp_path / "calls"
    program = (
        "import sys",
        f"open({str(log)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')",
        f"text = {HISTOGRAM!r}",
        "print(text if '--latency=1000000' in sys.argv else text.replace('000003 0', '000001 0'))",
    )
    commands("cyclictest", "\n".join(program))
    monkeypatch.setattr(cyclictest.os, "access", lambda *args: True)
    (finding,) = cyclictest.cyclictest(Target(System(), parse_cpus("1")), realtime=True)
    first, second = log.read_text().splitlines()
    assert "--latency=1000000" in first and "--latency" not in second
    assert "-p 97" in first and "-a 1" in first
    assert "idle states as they are: 3 us" in finding.seen and "as it comes: 1 us" in finding.seen


def test_a_cyclictest_that_fails_is_said(commands):
    commands("cyclictest", "import sys; sys.exit('no permission')")
    (finding,) = cyclictest.cyclictest(Target(System(), parse_cpus("1")), realtime=True)
    assert not finding.checked and "cyclictest: no permission" in finding.seen
