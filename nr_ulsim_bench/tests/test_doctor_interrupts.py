# SPDX-License-Identifier: BSD-3-Clause
"""What the doctor says of interrupts and of irqbalance."""

import machine_tree
import pytest

from nrbench.doctor.finding import Level, Target
from nrbench.doctor.isolation import interrupts, irqbalance
from nrbench.system import CPU, parse_cpus

WORKERS = parse_cpus("2-5")
MASK, EFFECTIVE = "/proc/irq/24/smp_affinity_list", "/proc/irq/24/effective_affinity_list"
BARE = {"/proc/cmdline": "quiet", f"{CPU}/isolated": "", f"{CPU}/nohz_full": ""}


def target(root, changes, fixed=()):
    system = machine_tree.tuned(root, changes)
    for irq in fixed:
        system.path(f"/proc/irq/{irq}/smp_affinity_list").chmod(0o444)
    return Target(system, WORKERS)


@pytest.mark.parametrize(
    "changes, level, seen",
    [
        (
            {MASK: "0-7"},
            Level.NOTE,
            "1 of 1 may land on CPUs 2-5: 24 (eth0-rx); none of these lands there now",
        ),
        ({MASK: "0-7", EFFECTIVE: "3"}, Level.WARN, "1 of 1 may land on CPUs 2-5: 24 (eth0-rx)"),
        ({MASK: "0-7", EFFECTIVE: None}, Level.WARN, "1 of 1 may land on CPUs 2-5: 24 (eth0-rx)"),
        ({"/proc/irq/default_smp_affinity": "ff"}, Level.WARN,
         "those of new devices may land on CPUs 2-5 (default_smp_affinity)"),
        ({"/proc/irq/0/smp_affinity_list": "0-7"}, Level.GOOD, "none of 1 may land on CPUs 2-5"),
        ({"/sys/kernel/irq/24/actions": "\n", MASK: "0-7", "/proc/irq/9/smp_affinity_list": "0",
          "/sys/kernel/irq/9/actions": "acpi\n"}, Level.GOOD, "none of 1 may land on CPUs 2-5"),
    ],
    ids=["elsewhere now", "there now", "not told where", "of new devices", "no handler", "handlers by /sys"],
)  # fmt: skip
def test_where_interrupts_may_land(tmp_path, changes, level, seen):
    (finding,) = interrupts(target(tmp_path, changes))
    assert (finding.level, finding.seen) == (level, seen)


def test_what_cannot_be_moved_is_kept_away_by_managed_irq(tmp_path):
    (finding,) = interrupts(target(tmp_path, BARE | {MASK: "3", EFFECTIVE: "3"}, fixed=[24]))
    assert finding.level is Level.WARN and finding.seen == "1 cannot be moved from CPUs 2-5: 24 (eth0-rx)"
    assert [remedy.text for remedy in finding.remedies] == [
        "isolcpus=managed_irq,domain,2-5",
        "irqaffinity=0-1,6-7",
    ]


def test_what_cannot_be_moved_is_no_warning_for_ever(tmp_path):
    (given,) = interrupts(target(tmp_path / "given", {MASK: "3", EFFECTIVE: "3"}, fixed=[24]))
    assert given.level is Level.NOTE and given.remedies == () and "cannot be moved" in given.seen
    (elsewhere,) = interrupts(target(tmp_path / "elsewhere", {MASK: "0-7", EFFECTIVE: "0"}, fixed=[24]))
    assert elsewhere.level is Level.GOOD


BALANCE = BARE | {"/proc/77/comm": "irqbalance", "/proc/2/comm": "kthreadd"}


@pytest.mark.parametrize(
    "changes, level, seen",
    [
        ({"/proc/77/comm": "x"}, Level.GOOD, "does not run"),
        ({}, Level.WARN, "runs, and may use 2-5"),
        ({f"{CPU}/isolated": "2-5"}, Level.GOOD, "runs, and does not use 2-5"),
        ({f"{CPU}/isolated": "2-3", f"{CPU}/nohz_full": "4-5"}, Level.GOOD, "runs, and does not use 2-5"),
        ({"/etc/default/irqbalance": "#x\nIRQBALANCE_BANNED_CPULIST=7\n"}, Level.WARN,
         "runs, and may use 2-5"),
        ({"/etc/default/irqbalance": 'IRQBALANCE_BANNED_CPULIST="2-4"\n'}, Level.WARN, "runs, and may use 5"),
        ({"/etc/default/irqbalance": 'IRQBALANCE_BANNED_CPULIST="2-5,7"\n'}, Level.GOOD,
         "runs, and does not use 2-5,7"),
        ({"/etc/sysconfig/irqbalance": "IRQBALANCE_BANNED_CPUS=0000003c\n"}, Level.GOOD,
         "runs, and does not use 2-5"),
        # What it is told replaces what it would leave alone by itself.
        ({f"{CPU}/isolated": "2-5", "/etc/default/irqbalance": "IRQBALANCE_BANNED_CPULIST=7\n"}, Level.WARN,
         "runs, and may use 2-5"),
        ({"/etc/default/irqbalance": "IRQBALANCE_BANNED_CPULIST=x\n"}, Level.WARN, "runs, and may use 2-5"),
    ],
)  # fmt: skip
def test_irqbalance_has_to_be_told_of_the_workers_cpus(tmp_path, changes, level, seen):
    (finding,) = irqbalance(target(tmp_path, BALANCE | changes))
    assert (finding.level, finding.seen) == (level, seen)


def test_irqbalance_is_told_in_the_file_that_is_there(tmp_path):
    changes = BALANCE | {"/etc/sysconfig/irqbalance": "IRQBALANCE_BANNED_CPULIST=7\n"}
    (finding,) = irqbalance(target(tmp_path, changes))
    assert [(remedy.text, remedy.lasts) for remedy in finding.remedies] == [
        ("systemctl stop irqbalance", False),
        (
            "echo IRQBALANCE_BANNED_CPULIST=2-5,7 >> /etc/sysconfig/irqbalance; systemctl restart irqbalance",
            True,
        ),
    ]


def test_a_container_does_not_show_irqbalance(tmp_path):
    (finding,) = irqbalance(target(tmp_path, {"/proc/2/comm": "bash"}))
    assert not finding.checked
