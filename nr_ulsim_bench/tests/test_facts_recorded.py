# SPDX-License-Identifier: BSD-3-Clause
"""What results record of a machine: settings of kernel and hypervisor that decide how long a wake takes."""

import json

import machine_tree
import pytest
from sweep_runs import HOST

from nrbench import facts, host
from nrbench.record import Host
from nrbench.sweep.facts import host_differences
from nrbench.system import CPU, System

GUEST = {
    "/proc/cmdline": "quiet root=UUID=12-34 ip=10.0.0.7::eth0 sched_vcpu_pack=15 luks.uuid=9 init=/a -- -k\n",
    "/sys/module/haltpoll/parameters/guest_halt_poll_ns": "0\n",
    "/sys/module/haltpoll/parameters/guest_halt_poll_grow": "2\n",
    "/sys/module/kvm/parameters/halt_poll_ns": "200000\n",
    "/sys/module/kvm/parameters/nx_huge_pages": "Y\n",
    f"{CPU}/cpuidle/current_governor_ro": "haltpoll\n",
    f"{CPU}/smt/active": "1\n",
}
VENDOR = "/sys/devices/virtual/dmi/id/sys_vendor"


def test_a_guest_says_what_decides_about_its_wakes(tmp_path):
    about = host.machine(machine_tree.tuned(tmp_path, GUEST))
    assert about["halt_polling"] == "guest_halt_poll_grow=2 guest_halt_poll_ns=0 halt_poll_ns=200000"
    assert (about["vcpu_packing"], about["idle_governor"]) == ("15", "haltpoll")
    assert (about["clocksource"], about["smt"], about["preemption"]) == ("tsc", True, "rt")
    assert about["kernel_version"] == "#1 SMP PREEMPT_RT"


def test_the_command_line_names_no_disk_no_file_no_address_and_nothing_that_is_for_init(tmp_path):
    line = host.machine(machine_tree.tuned(tmp_path, GUEST))["command_line"]
    assert line == "quiet root=... ip=... sched_vcpu_pack=15 luks.uuid=... init=..."


def test_what_a_machine_does_not_show_is_unknown(tmp_path):
    system = System(tmp_path)
    for fact in (
        facts.command_line,
        facts.halt_polling,
        facts.vcpu_packing,
        facts.idle_governor,
        facts.CLOCK,
        facts.smt,
        facts.hypervisor,
        facts.kernel_version,
    ):
        assert fact(system) is None


def test_packing_that_was_changed_since_the_boot_counts(tmp_path):
    changes = GUEST | {"/proc/sys/kernel/sched_vcpu_pack": "0\n"}
    assert facts.vcpu_packing(machine_tree.tuned(tmp_path, changes)) == "0"


@pytest.mark.parametrize(
    "changes, name",
    [
        ({"/sys/hypervisor/type": "xen\n"}, "xen"),
        (
            {"/proc/cpuinfo": "flags : fpu hypervisor\n", "/sys/devices/virtual/dmi/id/sys_vendor": "QEMU\n"},
            "QEMU",
        ),
        ({"/sys/devices/virtual/dmi/id/sys_vendor": "A maker of real machines\n"}, None),
    ],
)
def test_the_hypervisor_has_a_name(tmp_path, changes, name):
    assert facts.hypervisor(machine_tree.tuned(tmp_path, changes)) == name


def test_programs_that_ask_the_cpu_are_asked_on_the_real_machine_only(monkeypatch):
    answers = {"systemd-detect-virt": "none\n", "lscpu": "Model: 1\nHypervisor vendor:   KVM\n"}
    monkeypatch.setattr(facts, "answer", lambda program, *options: answers[program])
    monkeypatch.setattr(facts.File, "__call__", lambda *_: None)
    assert facts.hypervisor(System()) == "KVM"
    answers["systemd-detect-virt"] = "vmware\n"
    assert facts.hypervisor(System()) == "vmware"


def test_every_kind_of_result_holds_the_same_facts():
    about = host.facts()
    assert set(host.machine(host.REAL)) <= set(about) & set(Host.model_fields)
    json.dumps(about)


def test_what_an_older_version_did_not_record_is_no_difference_between_hosts():
    now = HOST.model_copy(update={"clocksource": "tsc", "governor": "powersave"})
    assert host_differences(HOST, now) == ["frequency governor performance / powersave"]
    other = now.model_copy(update={"clocksource": "hpet"})
    assert host_differences(now, other) == ["clocksource tsc / hpet"]
