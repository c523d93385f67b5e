# SPDX-License-Identifier: BSD-3-Clause
"""The doctor's report, for people and machines."""

import json
import subprocess
import sys
from pathlib import Path

import machine_tree
import pytest
from typer import Typer
from typer.testing import CliRunner

from nrbench.doctor import cli
from nrbench.system import CPU


def examine(*words):
    app = Typer()
    app.command()(cli.doctor)
    return CliRunner().invoke(app, list(map(str, words)))


@pytest.mark.parametrize(
    "changes, status, worst", [({}, 0, "note"), ({"/sys/fs/cgroup/user.slice/cpu.max": "9 10"}, 1, "bad")]
)
def test_the_exit_status_says_whether_something_is_bad(tmp_path, changes, status, worst):
    system = machine_tree.tuned(tmp_path, changes)
    answer = examine("--root", system.root, "--quick", "--cpus", "2-5", "--json")
    about = json.loads(answer.output)
    assert answer.exit_code == status and about["worst"] == worst and about["cpus"] == "2-5"
    assert about["host"]["cpu"] == "Some CPU" and len(about["findings"]) > 20
    assert set(about["findings"][0]) == {"area", "check", "level", "checked", "seen", "why", "remedies"}


def test_the_report_is_plain_text_where_there_is_no_terminal(tmp_path):
    changes = {"/proc/sys/vm/stat_interval": "1", "/proc/cmdline": None, f"{CPU}/isolated": None}
    system = machine_tree.tuned(tmp_path, changes)
    text = examine("--root", system.root, "--quick", "--cpus", "2-5").output
    assert text.startswith("Some CPU, 8 CPUs, Linux 6.8.0-rt. CPUs of the workers: 2-5\n")
    assert "note vm.stat_interval: 1 s\n     At this interval" in text
    assert "?    isolcpus: cannot be checked here: /proc/cmdline is not readable\n" in text
    assert "\x1b" not in text and not any(row.endswith(" ") for row in text.splitlines())
    assert text.splitlines()[-2].startswith("0 bad, 0 warn, ")


def test_the_last_line_answers_whether_one_may_measure(tmp_path):
    system = machine_tree.tuned(tmp_path, {"/proc/loadavg": "8.0 1 1 1/1 1"})
    words = ("--root", system.root, "--quick", "--cpus", "2-5")
    answer = "no: load: 8 over one minute, 8 CPUs"
    assert examine(*words).output.splitlines()[-1] == f"quiet enough to measure? {answer}"
    about = json.loads(examine(*words, "--json").output)
    assert about["quiet"] == {"answer": "no", "reasons": ["load: 8 over one minute, 8 CPUs"]}


def test_why_something_is_good_is_said_too(tmp_path):
    system = machine_tree.tuned(tmp_path, {"/proc/sys/kernel/osrelease": "5.15.0"})
    text = examine("--root", system.root, "--quick", "--cpus", "2-5").output
    assert (
        "good real-time throttling: off (kernel.sched_rt_runtime_us=-1)\n     Nothing stops a real-time"
        in text
    )


def test_what_is_to_be_pasted_is_on_a_line_of_its_own_and_never_wrapped(tmp_path):
    words = "2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,46,48,50,52,54,56,58,60,62"
    changes = {f"{CPU}/{name}": "0-63" for name in ("online", "possible")}
    changes |= {"/proc/cmdline": "quiet", f"{CPU}/isolated": "", "/proc/sys/vm/stat_interval": "1"}
    text = examine("--root", machine_tree.tuned(tmp_path, changes).root, "--quick", "--cpus", words).output
    assert f"     boot parameter:\n       isolcpus=managed_irq,domain,{words}\n" in text
    assert "     do, until the next boot:\n       sysctl -w vm.stat_interval=120\n" in text
    assert "     do:\n       echo vm.stat_interval = 120 > /etc/sysctl.d/" in text


@pytest.mark.parametrize("label", ["Some [bold]CPU[/bold]", "CPU [/x]", "CPU :smile:"])
def test_names_are_no_markup(tmp_path, label):
    system = machine_tree.tuned(tmp_path, {"/proc/cpuinfo": f"model name: {label}\n"})
    text = examine("--root", system.root, "--quick", "--cpus", "2-5").output
    assert text.startswith(f"{label}, 8 CPUs, Linux")


def test_the_module_runs_by_itself(tmp_path):
    words = [
        sys.executable,
        "-m",
        "nrbench.doctor",
        "--root",
        str(machine_tree.tuned(tmp_path).root),
        "--quick",
    ]
    folder = Path(__file__).resolve().parent.parent
    answer = subprocess.run(words, capture_output=True, text=True, cwd=folder, check=False)
    assert answer.returncode in (0, 1) and "could not be checked" in answer.stdout
