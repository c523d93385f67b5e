# SPDX-License-Identifier: BSD-3-Clause
"""What the doctor tells people to do: people paste it."""

import machine_tree
import pytest

from nrbench.doctor import checks
from nrbench.doctor.finding import Target
from nrbench.system import CPU, parse_cpus

KERNEL = "/proc/sys/kernel"
APPLY = 'sudo "$(command -v nrbench)" doctor --cpus 2-5 --apply --yes'
BARE = {"/proc/cmdline": "quiet", f"{CPU}/isolated": "", f"{CPU}/nohz_full": ""}
C6 = {f"{CPU}/cpu3/cpuidle/state2/disable": "0"}
CLOCK = "/sys/devices/system/clocksource/clocksource0"
HPET = {f"{CLOCK}/current_clocksource": "hpet"}
OLD = {f"{KERNEL}/osrelease": "5.4.0"}


def _lasting(name, value):
    file = f"/etc/sysctl.d/90-realtime-{name.partition('.')[2]}.conf"
    return [f"now: sysctl -w {name}={value}", f"for good: echo {name} = {value} > {file}"]


def _siblings(*cores):
    return {
        f"{CPU}/cpu{cpu}/topology/thread_siblings_list": core for core in cores for cpu in parse_cpus(core)
    }


REMEDIES = [
    ("isolcpus", BARE, ["boot: isolcpus=managed_irq,domain,2-5"]),
    ("isolcpus", BARE | OLD, ["boot: isolcpus=2-5"]),
    ("nohz_full", BARE, ["boot: nohz_full=2-5"]),
    ("rcu_nocbs", BARE, ["boot: rcu_nocbs=2-5"]),
    ("interrupts", {"/proc/irq/default_smp_affinity": "ff"}, [f"now: {APPLY}", "boot: irqaffinity=0-1,6-7"]),
    ("workqueues", {"/sys/devices/virtual/workqueue/cpumask": "ff"}, [f"now: {APPLY}"]),
    ("watchdogs", {f"{KERNEL}/watchdog": "1"}, [f"now: {APPLY}", *_lasting("kernel.watchdog", 0)]),
    ("watchdogs", {f"{KERNEL}/nmi_watchdog": "1"}, [
        *_lasting("kernel.nmi_watchdog", 0), "boot: nmi_watchdog=0"]),
    ("vm.stat_interval", {"/proc/sys/vm/stat_interval": "1"}, _lasting("vm.stat_interval", 120)),
    ("timer migration", {f"{KERNEL}/timer_migration": "1"}, _lasting("kernel.timer_migration", 0)),
    ("real-time throttling", OLD | {f"{KERNEL}/sched_rt_runtime_us": "950000"},
     _lasting("kernel.sched_rt_runtime_us", -1)),
    ("NUMA balancing", {"/sys/devices/system/node/node1/cpulist": "8-9", f"{KERNEL}/numa_balancing": "1"},
     _lasting("kernel.numa_balancing", 0)),
    ("real-time class", {"/proc/self/status": "CapEff:\t0\n"}, [
        "advice: sudo setcap cap_sys_nice+ep <program>, again after each build",
        "advice: in a container: docker run --cap-add SYS_NICE; Kubernetes: capabilities.add: [SYS_NICE]"]),
    ("SMT", _siblings("2,6", "3,7"), [
        f"now: echo 0 > {CPU}/cpu6/online; echo 0 > {CPU}/cpu7/online", "boot: nosmt"]),
    ("SMT", _siblings("1-2"), [f"now: echo 0 > {CPU}/cpu1/online"]),  # nosmt would take CPU 2
    ("SMT", _siblings("2-3", "4,6"), ["advice: choose one CPU of each core: --cpus 2,4-5"]),
    ("SMT", _siblings("0,2"), [
        "advice: choose CPUs of another core than CPU 0, which cannot be taken offline: --cpus"]),
    ("idle states", C6, [
        "now: cpupower -c 2-5 idle-set -D 10",
        f"now: for n in 2 3 4 5; do echo n/a > {CPU}/cpu$n/power/pm_qos_resume_latency_us; done",
        "boot: intel_idle.max_cstate=1",
        "advice: or leave it to pre-wake: the measured wakes below show the gain of each"]),
    ("frequency governor", {f"{CPU}/cpu2/cpufreq/scaling_governor": "powersave"}, [
        "now: cpupower -c 2-5 frequency-set -g performance", "boot: cpufreq.default_governor=performance"]),
    ("clocksource", HPET, [f"now: echo tsc > {CLOCK}/current_clocksource"]),
    ("clocksource", HPET | {f"{CLOCK}/available_clocksource": "hpet acpi_pm"}, [
        "advice: find out with dmesg | grep -i clocksource why the kernel offers no faster one"]),
    ("swap", {"/proc/swaps": "head\n/dev/sda2 partition 4194304 2048 -2\n"}, [
        "now: swapoff -a", "advice: remove the swap lines from /etc/fstab"]),
]  # fmt: skip


def remedies(root, check, changes):
    target = Target(machine_tree.tuned(root, changes), parse_cpus("2-5"))
    findings = [f for group in checks.examine(target, measure=False).values() for f in group]
    (finding,) = (finding for finding in findings if finding.check == check)
    return finding.remedies


def _shown(remedy):
    if remedy.kind == "command":
        return f"{'for good' if remedy.lasts else 'now'}: {remedy.text}"
    return f"{remedy.kind}: {remedy.text}"


@pytest.mark.parametrize("check, changes, expected", REMEDIES, ids=[entry[0] for entry in REMEDIES])
def test_what_to_do(tmp_path, check, changes, expected):
    assert [_shown(remedy) for remedy in remedies(tmp_path, check, changes)] == expected


@pytest.mark.parametrize(
    "check, changes, note",
    [
        (
            "real-time throttling",
            OLD | {f"{KERNEL}/sched_rt_runtime_us": "950000"},
            "in an endless loop then hangs its CPU",
        ),
        ("nohz_full", BARE, "unless kernel.timer_migration=0"),
        ("swap", {"/proc/swaps": "head\n/dev/sda2 partition 4194304 2048 -2\n"}, "if memory suffices"),
        (
            "mitigations",
            {f"{CPU}/vulnerabilities/meltdown": "Mitigation: PTI"},
            "all programs are trusted",
        ),
    ],
)
def test_what_may_do_harm_says_so(tmp_path, check, changes, note):
    assert note in remedies(tmp_path, check, changes)[0].note


@pytest.mark.parametrize(
    "driver, parameter",
    [("acpi_idle", ["processor.max_cstate=1"]), ("psci_idle", []), ("haltpoll", [])],
)
def test_idle_drivers_have_their_own_boot_parameter_or_none(tmp_path, driver, parameter):
    found = remedies(tmp_path, "idle states", C6 | {f"{CPU}/cpuidle/current_driver": driver})
    assert [remedy.text for remedy in found if remedy.kind == "boot"] == parameter
