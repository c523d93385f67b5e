# SPDX-License-Identifier: BSD-3-Clause
"""The command nrbench doctor: its options, the profile for tuned, and the hosts of a cluster."""

import configparser
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import machine_tree
import pytest
from test_doctor_machines import MACHINES, doctor, is_golden, tree

import nrbench
from nrbench.doctor.cli import table
from nrbench.system import CPU

DOCUMENT = Path(__file__).parents[2] / "docs" / "doctor.md"


def write_profile(root, machine="untouched", **more):
    folder = root / "nrbench"
    about = MACHINES[machine] | more
    system = tree(root / "tree", about)
    done = doctor("--root", system.root, "--cpus", about["cpus"], "--tuned", folder)
    path = folder / "tuned.conf"
    return done, path.read_text(encoding="utf-8") if path.exists() else ""


def boot_parameters(profile):
    """configparser reads a profile as tuned does."""
    parser = configparser.ConfigParser(interpolation=None, delimiters="=")
    parser.read_string(profile)
    return parser["bootloader"]["cmdline_nrbench"]


def test_the_profile_keeps_other_work_off_the_workers_cpus(tmp_path):
    done, profile = write_profile(tmp_path)
    assert done.exit_code == 0 and "tuned-adm profile nrbench" in done.output
    is_golden("profile.conf", profile)


def test_a_kernel_that_does_not_know_flags_of_isolcpus_is_given_none(tmp_path):
    _, profile = write_profile(tmp_path, "old")
    assert boot_parameters(profile).startswith("+isolcpus=0-4 irqaffinity=5-7 ")


def test_every_boot_parameter_of_the_profile_is_documented(tmp_path):
    _, profile = write_profile(tmp_path)
    for word in boot_parameters(profile).lstrip("+").split():
        assert f"`{word.partition('=')[0]}" in DOCUMENT.read_text(encoding="utf-8"), word


@pytest.mark.parametrize(
    "cpus, error", [("0-7", "not all, of the CPUs 0-7"), ("2-9", "not all, of the CPUs 0-7")]
)
def test_cpus_that_cannot_be_kept_free_are_refused(tmp_path, cpus, error):
    changes = {**MACHINES["untouched"]["files"], f"{CPU}/possible": "0-9\n"}
    done, profile = write_profile(tmp_path, cpus=cpus, files=changes)
    assert done.exit_code == 2 and error in done.output and profile == ""


def test_a_profile_is_not_overwritten(tmp_path):
    write_profile(tmp_path)
    done, _ = write_profile(tmp_path)
    assert done.exit_code == 2 and "File exists" in done.output


@pytest.mark.parametrize(
    "words",
    [("--cluster", "ssh:x", "--tuned", "x"), ("--cluster", "ssh:x", "--cpus", "2"), ("--cluster", "http://a:1"),
     ("--cpus", "5-2"), ("--cpus", ""), ("--cpus", "0-4000000"), ("--cpus", "8")],
)  # fmt: skip
def test_options_that_are_none_are_refused(tmp_path, words):
    done = doctor("--root", machine_tree.tuned(tmp_path).root, "--quick", *words)
    assert done.exit_code == 2 and re.match("nrbench: .*(--c|CPUs such as)", done.output)


@pytest.mark.parametrize("label", ["Some [bold]CPU[/bold]", "CPU [/x]", "CPU :smile:"])
def test_names_are_no_markup(tmp_path, label):
    system = machine_tree.tuned(tmp_path, {"/proc/cpuinfo": f"model name: {label}\n"})
    text = doctor("--root", system.root, "--quick", "--cpus", "2-5").output
    assert text.startswith(f"{label}, 8 CPUs, Linux")


@pytest.mark.alone
def test_hosts_of_a_cluster_are_examined(tmp_path):
    """Two processes behind a scheduler, each on a made-up machine."""
    pytest.importorskip("distributed")
    from cluster_tools import lab

    with lab(tmp_path, "a") as made:
        made.worker("b", **{"/sys/fs/cgroup/user.slice/cpu.max": "9 10\n"})
        made.wait_for_workers(2)
        text = doctor("--cluster", made.address, "--quick")
        done = doctor("--cluster", made.address, "--quick", "--json")
    assert (text.exit_code, done.exit_code) == (1, 1)
    assert "a: Some CPU, 1 CPUs, Linux 6.8.0-rt, governor performance; worst: warn" in text.output
    assert "bad  CPU quota: 0.9 CPUs in each 0.01 ms (/sys/fs/cgroup/user.slice) (b)" in text.output
    hosts = json.loads(done.stdout)["hosts"]
    assert [(one["name"], one["worst"]) for one in hosts] == [("a", "warn"), ("b", "bad")]
    assert all(len(one["findings"]) > 20 for one in hosts)


def test_the_command_for_tuned_runs_as_this_one_was_started(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(Path(nrbench.__file__).with_name("__main__.py"))])
    system = machine_tree.tuned(tmp_path / "root", {"/proc/irq/24/smp_affinity_list": "0-7"})
    said = doctor("--root", system.root, "--quick", "--json", "--cpus", "2-5").output
    (line,) = {do for one in json.loads(said)["findings"] for do in one["do"] if "--tuned" in do}
    command = shlex.split(line.removeprefix("always: sudo ").partition(" && ")[0])
    command[command.index("/etc/tuned/nrbench")] = str(tmp_path / "profile")
    done = subprocess.run(
        [*command, "--root", str(system.root)], env={}, cwd="/", capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "") and (tmp_path / "profile" / "tuned.conf").is_file()


def test_a_cluster_names_no_governor_that_is_not_there():
    about = {"cpu": "Some CPU", "cores": 2, "kernel": "6.8", "governor": None}
    host = {"name": "a", "host": about, "worst": "warn", "quiet": {"answer": "yes"}, "findings": []}
    assert "Linux 6.8, governor not visible; worst" in "\n".join(table([host]))
