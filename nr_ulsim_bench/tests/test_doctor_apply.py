# SPDX-License-Identifier: BSD-3-Clause
"""Settings that the doctor writes and takes back, on made-up machines."""

import errno
import json
import os
from pathlib import Path

import machine_tree
import pytest
from typer import Typer
from typer.testing import CliRunner

from nrbench.doctor import cli
from nrbench.doctor import settings as writer
from nrbench.doctor.finding import Target
from nrbench.doctor.settings import Change, SettingsError, boot_parameters, plan, same
from nrbench.system import CPU, System, parse_cpus

WORKERS = parse_cpus("2-5")
IRQ = "/proc/irq/{}/smp_affinity_list"
WORKQUEUE = "/sys/devices/virtual/workqueue"
UNTOUCHED = {
    IRQ.format(24): "0-7\n",
    **{IRQ.format(irq): f"{cpus}\n" for irq, cpus in ((25, "3"), (26, "0,6"), (27, "2,7"), (28, "4-15"))},
    **{f"/proc/irq/{irq}/disk/.keep": "" for irq in (25, 26, 27, 28)},
    IRQ.format(29): "0-7\n",  # it has no handler
    "/proc/irq/default_smp_affinity": "ff\n",
    f"{WORKQUEUE}/cpumask": "ff\n",
    f"{WORKQUEUE}/writeback/cpumask": "00000000,000000ff\n",
    f"{WORKQUEUE}/nvme/cpumask": "84\n",
    "/proc/sys/vm/stat_interval": "1\n",
    "/proc/sys/kernel/timer_migration": "1\n",
    "/proc/sys/kernel/nmi_watchdog": "1\n",
    "/proc/sys/kernel/watchdog": "1\n",
    "/proc/sys/kernel/watchdog_cpumask": "0-7\n",
    "/proc/sys/kernel/random/boot_id": "1234\n",
    f"{CPU}/cpu2/cpufreq/scaling_governor": "powersave\n",
    f"{CPU}/cpu2/cpufreq/scaling_available_governors": "performance powersave\n",
}
EXPECTED = {
    IRQ.format(24): "0-1,6-7",
    IRQ.format(25): "0-1,6-7",
    IRQ.format(27): "7",
    IRQ.format(28): "6-7",
    "/proc/irq/default_smp_affinity": "c3",
    f"{WORKQUEUE}/cpumask": "c3",
    f"{WORKQUEUE}/writeback/cpumask": "c3",
    f"{WORKQUEUE}/nvme/cpumask": "80",
    "/proc/sys/vm/stat_interval": "120",
    "/proc/sys/kernel/timer_migration": "0",
    "/proc/sys/kernel/nmi_watchdog": "0",
    "/proc/sys/kernel/watchdog_cpumask": "0-1,6-7",
    f"{CPU}/cpu2/cpufreq/scaling_governor": "performance",
}


@pytest.fixture
def system(tmp_path):
    return machine_tree.tuned(tmp_path / "root", UNTOUCHED)


@pytest.fixture
def undo_file(tmp_path):
    return tmp_path / "undo.json"


def files(system):
    return {path: path.read_text() for path in system.root.rglob("*") if path.is_file()}


def run(system, *words):
    app = Typer()
    app.command()(cli.doctor)
    return CliRunner().invoke(app, ["--root", str(system.root), *map(str, words)])


def test_only_what_differs_is_planned(system):
    assert {change.path: change.new for change in plan(Target(system, WORKERS))} == EXPECTED


def test_a_tuned_machine_needs_nothing(tmp_path):
    assert plan(Target(machine_tree.tuned(tmp_path), WORKERS)) == []


def test_interrupts_that_the_kernel_manages_are_left_alone(system):
    system.path(IRQ.format(24)).chmod(0o444)
    assert IRQ.format(24) not in {change.path for change in plan(Target(system, WORKERS))}


def test_without_a_watchdog_mask_the_watchdog_is_turned_off(tmp_path):
    system = machine_tree.tuned(tmp_path, {"/proc/sys/kernel/watchdog": "1"})
    assert [(c.path, c.new) for c in plan(Target(system, WORKERS))] == [("/proc/sys/kernel/watchdog", "0")]


@pytest.mark.parametrize(
    "cpus, error", [("0-7", "0-7 are all there are"), ("2-9", "only 0-7 are online")], ids=["all", "offline"]
)
def test_cpus_that_cannot_be_kept_free_are_refused(system, cpus, error):
    with pytest.raises(SettingsError, match=error):
        plan(Target(system, parse_cpus(cpus)))


def test_a_dry_run_says_file_old_and_new_value_and_writes_nothing(system):
    before = files(system)
    answer = run(system, "--cpus", "2-5", "--apply")
    assert answer.exit_code == 0 and files(system) == before
    assert f"{IRQ.format(25)}: 3 -> 0-1,6-7\n" in answer.output
    assert "Nothing was written" in answer.output and "isolcpus=managed_irq,domain,2-5" in answer.output
    assert run(system, "--cpus", "2-5", "--dry-run").output == answer.output


def test_what_was_applied_is_undone(system, undo_file):
    before = files(system)
    answer = run(system, "--cpus", "2-5", "--apply", "--yes", "--undo-file", undo_file)
    assert answer.exit_code == 0, answer.output
    assert {name: system.text(name) for name in EXPECTED} == EXPECTED
    answer = run(system, "--undo", undo_file)
    assert answer.exit_code == 0 and answer.output.count("restored: ") == len(EXPECTED)
    assert {path: text.strip() for path, text in files(system).items()} == {
        path: text.strip() for path, text in before.items()
    }
    again = run(system, "--undo", undo_file)
    assert again.exit_code == 0 and again.output.count("as before: ") == len(EXPECTED)


def test_the_undo_file_is_complete_before_the_first_change(system, undo_file):
    before = files(system)
    changes = plan(Target(system, WORKERS))
    results = writer.apply(system, changes, undo_file)
    assert files(system) == before and not undo_file.exists()
    next(results)
    assert len(json.loads(undo_file.read_text())["changes"]) == len(EXPECTED)
    assert len([path for path, text in files(system).items() if before[path] != text]) == 1
    results.close()  # interrupted
    assert {result.outcome for result in writer.undo(system, writer.read_undo(undo_file, system))} == {
        "restored",
        "as before",
    }
    assert {p: t.strip() for p, t in files(system).items()} == {p: t.strip() for p, t in before.items()}


def test_what_somebody_else_has_changed_since_is_left_alone(system, undo_file):
    run(system, "--cpus", "2-5", "--apply", "--yes", "--undo-file", undo_file)
    machine_tree.write(system.root, {IRQ.format(24): "7\n", "/proc/sys/vm/stat_interval": None})
    answer = run(system, "--undo", undo_file)
    assert answer.exit_code == 1
    assert f"changed since: {IRQ.format(24)}: another program set it to '7'; left alone" in answer.output
    assert "gone: /proc/sys/vm/stat_interval" in answer.output
    assert system.text(IRQ.format(24)) == "7" and system.text(IRQ.format(25)) == "3"


class Stubborn(System):
    """Does not keep what is written to some files."""

    def text(self, name):
        return {IRQ.format(24): "0-7", "/proc/sys/kernel/timer_migration": "1"}.get(name, super().text(name))


def test_each_change_is_read_back(system, undo_file):
    stubborn = Stubborn(system.root)
    results = list(writer.apply(stubborn, plan(Target(stubborn, WORKERS)), undo_file))
    refused = {result.change.path: result for result in results if result.outcome == "refused"}
    assert set(refused) == {IRQ.format(24), "/proc/sys/kernel/timer_migration"}
    assert refused[IRQ.format(24)].detail == "was accepted, but reads '0-7' afterwards"
    assert not any(result.good for result in refused.values())
    assert len(results) == len(EXPECTED)


@pytest.mark.parametrize(
    "number, irq_is_good",
    [(errno.EIO, True), (errno.EPERM, True), (errno.ENOSPC, False), (errno.EINVAL, False)],
)
def test_interrupts_that_cannot_be_moved_are_no_failure(system, undo_file, monkeypatch, number, irq_is_good):
    def refuse(*args):
        raise OSError(number, "refused")

    changes = plan(Target(system, WORKERS))
    monkeypatch.setattr(writer.os, "write", refuse)
    results = {result.change.path: result for result in writer.apply(system, changes, undo_file)}
    assert {result.outcome for result in results.values()} == {"refused"}
    assert results[IRQ.format(24)].good is irq_is_good
    assert not results["/proc/irq/default_smp_affinity"].good
    assert not results["/proc/sys/kernel/timer_migration"].good


def test_a_refused_write_is_said_and_the_next_goes_on(system, undo_file):
    changes = plan(Target(system, WORKERS))
    path = system.path(IRQ.format(24))
    path.unlink()
    path.mkdir()  # the open fails, also for root
    results = list(writer.apply(system, changes, undo_file))
    assert results[0].outcome == "refused" and results[0].detail == "Is a directory"
    assert {result.outcome for result in results[1:]} == {"set"}


def test_the_undo_file_is_on_the_disk_before_the_first_change(system, undo_file, monkeypatch):
    events = []
    monkeypatch.setattr(writer.os, "fsync", lambda file: events.append(os.fstat(file).st_ino))
    write = writer.os.write
    monkeypatch.setattr(writer.os, "write", lambda file, text: events.append("write") or write(file, text))
    list(writer.apply(system, plan(Target(system, WORKERS)), undo_file))
    assert events[:2] == [undo_file.stat().st_ino, undo_file.parent.stat().st_ino]
    assert events[2:] == ["write"] * len(EXPECTED)


def test_the_last_change_is_undone_first(system, undo_file):
    changes = plan(Target(system, WORKERS))
    list(writer.apply(system, changes, undo_file))
    undone = [result.change for result in writer.undo(system, writer.read_undo(undo_file, system))]
    assert undone == changes[::-1]


def test_a_longer_statistics_interval_is_left_alone(tmp_path):
    for seconds in ("10", "600"):
        system = machine_tree.tuned(tmp_path / seconds, {"/proc/sys/vm/stat_interval": seconds})
        assert plan(Target(system, WORKERS)) == []


def test_an_undo_file_is_never_overwritten(system, undo_file):
    undo_file.write_text("mine")
    before = files(system)
    answer = run(system, "--cpus", "2-5", "--apply", "--yes", "--undo-file", undo_file)
    assert answer.exit_code == 2 and "File exists; nothing was changed" in answer.output
    assert files(system) == before and undo_file.read_text() == "mine"


def record(**changes):
    return {"nrbench_doctor_undo": 1, "boot_id": "1234", "changes": []} | changes


SHADOW = {"path": "/etc/shadow", "kind": "text", "old": "root::", "new": "x"}
CLIMBS = SHADOW | {"path": "/sys/devices/virtual/workqueue/../cpumask"}


@pytest.mark.parametrize(
    "text, error",
    [
        ("", "not written by nrbench doctor --apply"),
        ("[]", "not written by nrbench doctor --apply"),
        (json.dumps(record(boot_id="5678")), "before a reboot"),
        (json.dumps(record(changes=[SHADOW])), "'/etc/shadow' is no setting that this program writes"),
        (json.dumps(record(changes=[CLIMBS])), "is no setting that this program writes"),
        (json.dumps(record(changes=[{"path": "x"}])), "changes.0.kind"),
        (json.dumps(record(changes=[7])), "changes.0"),
        (json.dumps(record(changes=7)), "changes Input should be a valid array"),
    ],
)
def test_an_undo_file_that_is_none_is_refused(system, undo_file, text, error):
    undo_file.write_text(text)
    before = files(system)
    answer = run(system, "--undo", undo_file)
    assert answer.exit_code == 2 and str(undo_file) in answer.output and error in answer.output
    assert files(system) == before


def test_a_missing_undo_file_is_named(system, undo_file):
    answer = run(system, "--undo", undo_file)
    assert answer.exit_code == 2 and f"{undo_file}: No such file" in answer.output


@pytest.mark.parametrize(
    "words",
    [
        ["--yes"],
        ["--apply", "--dry-run", "--yes"],
        ["--undo", "x", "--apply"],
        ["--cpus", "5-2"],
        ["--cpus", ""],
    ],
)
def test_options_that_contradict_each_other_are_refused(system, words):
    assert run(system, *words).exit_code == 2


def test_only_root_changes_the_real_machine(monkeypatch, undo_file):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(SettingsError, match="by root only"):
        writer.require_root(System())
    with pytest.raises(SettingsError, match="by root only"):
        next(writer.apply(System(), [], undo_file))
    with pytest.raises(SettingsError, match="by root only"):
        next(writer.undo(System(), []))
    assert not undo_file.exists()


def test_without_root_nothing_is_even_planned(monkeypatch, undo_file):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(cli, "plan", lambda target: pytest.fail("it was planned"))
    app = Typer()
    app.command()(cli.doctor)
    answer = CliRunner().invoke(app, ["--apply", "--yes", "--undo-file", str(undo_file)])
    assert answer.exit_code == 2 and "by root only" in answer.output and not undo_file.exists()


@pytest.mark.parametrize(
    "kind, one, other, equal",
    [
        ("list", "0-3", "0,1,2,3", True),
        ("mask", "00000000,000000ff", "ff", True),
        ("text", "1", "1", True),
        ("list", "0-3", "0-2", False),
        ("mask", "", "ff", False),
    ],
)
def test_values_are_compared_as_the_kernel_means_them(kind, one, other, equal):
    assert same(kind, one, other) is equal


def test_boot_parameters_are_those_that_the_kernel_was_built_for(tmp_path):
    target = Target(machine_tree.tuned(tmp_path), WORKERS)
    words = boot_parameters(target).split()
    assert {
        "isolcpus=managed_irq,domain,2-5",
        "nohz_full=2-5",
        "rcu_nocbs=2-5",
        "irqaffinity=0-1,6-7",
        "rcu_nocb_poll",
        "skew_tick=1",
        "nosoftlockup",
    } == set(words)
    machine_tree.write(tmp_path, {"/boot/config-6.8.0-rt": "CONFIG_RCU_NOCB_CPU=y\n"})
    words = boot_parameters(target).split()
    assert "nohz_full=2-5" not in words and "rcu_nocbs=2-5" in words


def test_old_kernels_are_given_no_flags_that_they_do_not_know(tmp_path):
    system = machine_tree.tuned(tmp_path, {"/proc/sys/kernel/osrelease": "5.4.0-200-generic\n"})
    assert "isolcpus=2-5" in boot_parameters(Target(system, WORKERS)).split()


def test_every_boot_parameter_that_is_printed_is_documented(tmp_path):
    manual = (Path(__file__).parents[2] / "docs" / "doctor.md").read_text(encoding="utf-8")
    for word in boot_parameters(Target(machine_tree.tuned(tmp_path), WORKERS)).split():
        assert f"`{word.partition('=')[0]}" in manual, word


def test_nohz_full_is_printed_with_what_pre_wake_needs_then(system):
    output = run(system, "--cpus", "2-5", "--apply").output
    assert "echo kernel.timer_migration = 0 > /etc/sysctl.d/90-realtime-timer_migration.conf" in output


@pytest.mark.parametrize("cpus", ["0-4000000", "0-60000", "8"])
def test_cpus_that_no_kernel_or_not_this_one_has_are_refused(system, cpus):
    answer = run(system, "--cpus", cpus, "--quick")
    assert answer.exit_code == 2 and "--cpus" in answer.output


def test_new_devices_default_is_no_interrupt_that_may_refuse():
    assert Change(IRQ.format(24), "list", "0", "1").is_irq
    assert not Change("/proc/irq/default_smp_affinity", "mask", "3", "1").is_irq
