# SPDX-License-Identifier: BSD-3-Clause
"""What the doctor reports of made-up machines: whole reports as files, which NRBENCH_GOLDEN=write
writes anew, and levels that were worked out by hand."""

import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import machine_tree
import pytest
from typer import Typer
from typer.testing import CliRunner

from nrbench.doctor import cli
from nrbench.system import CPU

GOLDEN = Path(__file__).parent / "doctor"
KERNEL, GROUP, NODE = "/proc/sys/kernel", "/sys/fs/cgroup", "/sys/devices/system/node"
CLOCK = "/sys/devices/system/clocksource/clocksource0"
HELD = (2).to_bytes(4, "little")
FREE = (2_000_000_000).to_bytes(4, "little")


class Machine(NamedTuple):
    """A tuned machine with other files, its workers' CPUs, and what changes in the measured second."""

    cpus: str
    files: dict
    second: dict
    levels: str  # by hand: a level, and checks that have it
    status: int = 0
    free_mib: int = 0  # in /dev/shm
    fixed: tuple = ()  # interrupts that cannot be moved
    wakes: tuple = ()  # lines of ws-wakes


def each(name, text, cpus=range(8)):
    return {f"{CPU}/cpu{cpu}/{name}": text for cpu in cpus}


def stat(cpus, user=0, steal=0, total=1000):
    idle = total - user - steal
    return {"/proc/stat": "".join(f"cpu{cpu} {user} 0 0 {idle} 0 0 0 {steal} 0 0\n" for cpu in cpus)}


def thread(ticks, cpu, priority, policy, name="lower(phy) R"):
    """A line of /proc/<process>/task/<thread>/stat."""
    fields = ["0"] * 52
    fields[13], fields[38], fields[39], fields[40] = str(ticks), str(cpu), str(priority), str(policy)
    return {"/proc/4711/task/4712/stat": f"4712 ({name}) R {' '.join(fields[3:])}\n"}


def wake(kind, p50_us, p99_us=60.0, gap_us=1000, hold=False, **more):
    about = {"kind": kind, "class": "fifo", "gap_us": gap_us, "hold": hold, "samples": 300, "max_us": 90.0}
    return about | {"p50_us": p50_us, "p99_us": p99_us, "call_p50_us": 7.5} | more


TICKS = os.sysconf("SC_CLK_TCK")
MACHINES = {
    "tuned": Machine(
        "2-5",
        {
            "/dev/cpu_dma_latency": FREE,
            "/dev/shm/.keep": "",
            "/proc/self/timerslack_ns": "50000",
            "/sys/kernel/debug/sched/features": "PLACE_LAG HRTICK NO_HRTICK_DL\n",
            "/proc/2/comm": "kthreadd\n",
            **{f"/proc/1{cpu}/comm": f"rcuop/{cpu}\n" for cpu in range(2, 6)},
        } | stat("2345", total=0),
        stat("2345", user=50),
        "good: steal time, other programs, real-time pollers, isolcpus, nohz_full, rcu_nocbs, idle states,"
        " swap, real-time class, CPU quota, HRTICK, preemption model, interrupts, irqbalance, shared memory\n"
        "note: affinity mask, boost, timer slack, cpu_dma_latency, wake latency",
        free_mib=66,
        wakes=(
            wake("futex", 40.0), wake("look", 0.1), wake("timer", 3.0), wake("futex", 30.0, gap_us=5000),
            wake("futex", 20.0, hold=True), wake("futex", 1.0, hold=True, skipped="EPERM", gap_us=5000),
        ),
    ),
    # A server with 8 CPUs on 4 cores as a distribution leaves it, and it works.
    "untouched": Machine(
        "2-5",
        {
            "/proc/cmdline": "quiet root=/dev/sda1\n",
            f"{CPU}/isolated": "\n",
            f"{CPU}/nohz_full": "(null)\n",
            f"{KERNEL}/osrelease": "6.8.0-41-generic\n",
            f"{KERNEL}/version": "#41 SMP PREEMPT_DYNAMIC\n",
            "/sys/kernel/debug/sched/preempt": "none (voluntary) full\n",
            "/sys/kernel/debug/sched/features": "PLACE_LAG NO_HRTICK NO_HRTICK_DL\n",
            f"{KERNEL}/sched_autogroup_enabled": "1\n",
            f"{KERNEL}/sched_rt_runtime_us": "950000\n",
            f"{KERNEL}/timer_migration": "1\n",
            f"{KERNEL}/watchdog": "1\n",
            f"{KERNEL}/watchdog_cpumask": "0-7\n",
            f"{KERNEL}/nmi_watchdog": "1\n",
            f"{KERNEL}/numa_balancing": "1\n",
            "/proc/sys/vm/stat_interval": "1\n",
            "/proc/irq/default_smp_affinity": "ff\n",
            "/proc/irq/24/smp_affinity_list": "0-7\n",
            "/proc/irq/24/effective_affinity_list": "3\n",
            "/proc/irq/25/smp_affinity_list": "4\n",
            "/proc/irq/25/nvme0q4/.keep": "",
            "/proc/2/comm": "kthreadd\n",
            "/proc/77/comm": "irqbalance\n",
            "/proc/4711/comm": "lower\n",
            "/etc/default/irqbalance": "#x\nIRQBALANCE_BANNED_CPULIST=7\n",
            "/sys/devices/virtual/workqueue/cpumask": "ff\n",
            f"{NODE}/node0/cpulist": "0-3\n",
            f"{NODE}/node1/cpulist": "4-7\n",
            f"{CPU}/vulnerabilities/meltdown": "Mitigation: PTI\n",
            f"{CPU}/cpufreq/boost": "0\n",
            "/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
            "/proc/meminfo": "HugePages_Total: 0\n",
            "/proc/swaps": "head\n/dev/sda2 partition 4194304 2048 -2\n",
            "/proc/loadavg": "3.0 1 1 1/1 1\n",
            "/proc/self/timerslack_ns": "1000\n",
            "/proc/self/status": "CapEff:\t0\nCpus_allowed_list:\t0-7\n",
            "/proc/self/limits": "Max locked memory  65536  65536\nMax realtime priority  99  99\n",
            "/dev/shm/vrtsim_channel": "",
            "/tmp/vrtsim_connection": "",
            **each("topology/thread_siblings_list", "0,4\n", (0, 4)),
            **each("topology/thread_siblings_list", "1,5\n", (1, 5)),
            **each("topology/thread_siblings_list", "2,6\n", (2, 6)),
            **each("topology/thread_siblings_list", "3,7\n", (3, 7)),
            **each("cpufreq/scaling_governor", "powersave\n"),
            **each("cpufreq/energy_performance_preference", "balance_performance\n"),
            **each("cpuidle/state2/disable", "0\n"),
        } | stat("2345", total=0) | thread(0, 3, 90, 1),
        stat("2345", user=500, steal=5) | thread(TICKS, 3, 90, 1),
        "bad: real-time pollers\n"
        "warn: isolcpus, SMT, interrupts, irqbalance, idle states, NUMA, NUMA balancing, locked memory,"
        " load, swap, frequency governor, energy preference, other programs, steal time,"
        " real-time throttling, preemption model, real-time class\n"
        "note: nohz_full, rcu_nocbs, HRTICK, autogroups, mitigations, boost, huge pages, leftovers,"
        " workqueues, transparent huge pages, vm.stat_interval, shared memory\n"
        "good: timer slack, CPU quota, timer migration",
        status=1,
        free_mib=64,
        fixed=(25,),
        wakes=(wake("futex", 3.0, 900.0), wake("look", 0.1), wake("timer", 50.0, 400.0)),
    ),
    "container": Machine(
        "2-5",
        {
            "/proc/cmdline": None,
            f"{CPU}/isolated": None,
            f"{CPU}/nohz_full": None,
            "/proc/irq/24/smp_affinity_list": None,
            "/proc/self/status": "CapEff:\t800000\nCpus_allowed_list:\t0-3\n",
            "/proc/self/limits": "Max locked memory  65536  65536\n",
            "/proc/self/cgroup": "0::/pod/gnb\n",
            f"{GROUP}/pod/gnb/cpu.max": "300000 100000\n",
            f"{GROUP}/pod/gnb/cpu.stat": "nr_throttled 0\n",
            f"{GROUP}/pod/gnb/cpuset.cpus.effective": "0-3\n",
            f"{GROUP}/pod/cpu.max": "400000 100000\n",
            f"{GROUP}/pod/cpu.stat": "nr_throttled 9\n",
            f"{GROUP}/pod/cpuset.cpus.partition": "isolated\n",
            "/dev/shm/nrbench-77": "",
            "/proc/77/comm": "nr-softmodem\n",
            f"{KERNEL}/watchdog": "1\n",
            f"{KERNEL}/watchdog_cpumask": "0-1\n",
            **each("topology/thread_siblings_list", "2-3\n", (2, 3)),
            **each("cpuidle/state2/disable", "0\n", (5,)),
            **each("cpufreq/scaling_driver", "amd-pstate-epp\n"),
            **each("cpufreq/scaling_governor", "powersave\n", (5,)),
        },
        {},
        "bad: CPUs, CPU quota\n"
        "good: real-time class, leftovers, watchdogs, real-time pollers\n"
        "warn: locked memory, SMT, idle states, frequency governor\n"
        "note: cpuset partition, isolcpus, interrupts, irqbalance, nohz_full",
        status=1,
        free_mib=66,
        wakes=({"error": "no"},),
    ),
    "virtual": Machine(
        "0-1",
        {
            f"{CPU}/online": "0-1\n",
            f"{CPU}/isolated": "\n",
            f"{CPU}/nohz_full": "\n",
            "/proc/cmdline": "preempt=lazy\n",
            f"{KERNEL}/osrelease": "6.12.1\n",
            f"{KERNEL}/version": "#1 SMP PREEMPT_DYNAMIC\n",
            f"{KERNEL}/sched_rt_runtime_us": "950000\n",
            "/proc/cpuinfo": "model name: Some CPU\nflags: hypervisor\n",
            "/proc/2/comm": "kthreadd\n",
            "/boot/config-6.12.1": "CONFIG_RCU_NOCB_CPU=y\n",
            "/proc/irq/24/smp_affinity_list": "0-1\n",
            "/proc/self/status": "CapEff:\t804000\nCpus_allowed_list:\t0-1\n",
            "/proc/self/limits": "Max locked memory  65536  65536\n",
            f"{GROUP}/user.slice/cpu.max": "200000 100000\n",
            f"{CLOCK}/current_clocksource": "hpet\n",
            f"{CPU}/vulnerabilities/meltdown": None,
            f"{CPU}/cpu0/topology/thread_siblings_list": None,
            **each("cpufreq/scaling_governor", None, (0, 1)),
            **each("cpuidle/state2/disable", "0\n", (0, 1)),
            **each("power/pm_qos_resume_latency_us", "200\n", (0, 1)),
        } | stat("01", total=0),
        stat("01", steal=30),
        "bad: steal time, clocksource\n"
        "good: real-time class, locked memory, timer migration\n"
        "note: CPUs, idle states, isolcpus, interrupts, real-time throttling, CPU quota, frequency governor,"
        " SMT, resume latency, preemption model, mitigations, shared memory",
        status=1,
        wakes=(wake("futex", 40.0, samples=99), wake("look", 0.1), wake("futex", 39.0, hold=True)),
    ),
    # Control groups of version 1, and isolation as old guides set it.
    "old": Machine(
        "0-4",
        {
            "/proc/cmdline": "isolcpus=managed_irq,0-5 nohz_full=2-5\n",
            f"{CPU}/isolated": "1-5\n",
            f"{CPU}/cpuidle/current_driver": "acpi_idle\n",
            f"{KERNEL}/osrelease": "5.4.0-200\n",
            f"{KERNEL}/version": "#1 SMP\n",
            f"{KERNEL}/sched_rt_runtime_us": "950000\n",
            f"{KERNEL}/timer_migration": "1\n",
            f"{KERNEL}/watchdog": "1\n",
            f"{CLOCK}/current_clocksource": "hpet\n",
            f"{CLOCK}/available_clocksource": "hpet acpi_pm\n",
            "/boot/config-5.4.0-200": "CONFIG_PREEMPT_NONE=y\nCONFIG_NO_HZ_FULL=y\n",
            "/dev/cpu_dma_latency": HELD,
            "/proc/4711/comm": "cyclictest\n",
            "/proc/4711/fd/7": Path("/dev/cpu_dma_latency"),
            "/proc/self/cgroup": "2:cpu,cpuset:/gnb\n",
            "/proc/self/mountinfo": f"30 20 0:1 / {GROUP}/cpu rw - cgroup cgroup rw,cpu,cpuset\n",
            f"{GROUP}/cpu/gnb/cpu.cfs_quota_us": "50000\n",
            f"{GROUP}/cpu/gnb/cpu.cfs_period_us": "20000\n",
            f"{GROUP}/cpu/gnb/cpu.stat": "nr_periods 9\nnr_throttled 7\n",
            f"{GROUP}/cpu/gnb/cpu.rt_runtime_us": "0\n",
            "/proc/self/status": "CapEff:\t0\nCpus_allowed_list:\t1-5\n",
            "/proc/self/limits": "",
            "/proc/irq/24/smp_affinity_list": "0-7\n",
            "/proc/swaps": "head\n/dev/sda2 partition 4194304 0 -2\n",
            **each("topology/thread_siblings_list", "1-2\n", (1, 2)),
            **each("cpufreq/scaling_governor", "powersave\n"),
            **each("cpufreq/scaling_driver", "acpi-cpufreq\n"),
            **each("cpuidle/state2/disable", "0\n", (3, 4)),
            **each("power/pm_qos_resume_latency_us", "n/a\n", (3,)),
        } | stat("01234", total=0),
        stat("01234", user=50),
        "bad: real-time class, real-time budget, CPU quota, clocksource, affinity mask, frequency governor\n"
        "warn: CPUs, isolcpus, timer migration, real-time throttling, SMT, preemption model, interrupts\n"
        "note: locked memory, nohz_full, rcu_nocbs, idle states, cpu_dma_latency, resume latency,"
        " watchdogs, swap",
        status=1,
        wakes=(wake("futex", 40.0), wake("look", 0.1), wake("futex", 60.0, hold=True)),
    ),
    # Nothing can be seen but which CPUs there are.
    "hidden": Machine(
        "2-5",
        {name: None for name in machine_tree.everything()}
        | {f"{CPU}/online": "0-7\n", f"{KERNEL}/osrelease": "6.8.0\n", f"{KERNEL}/arch": "x86_64\n"},
        {},
        "bad: real-time class\n"
        "good: CPUs, load\n"
        "note: SMT, isolcpus, interrupts, watchdogs, irqbalance, clocksource, locked memory, idle states,"
        " swap, NUMA",
        status=1,
    ),
}  # fmt: skip


@pytest.fixture(params=MACHINES)
def report(request, tmp_path, monkeypatch):
    """Runs the doctor on a made-up machine: its name, and what prints its report with these options."""
    name, machine = request.param, MACHINES[request.param]

    def write(changes):
        machine_tree.write(tmp_path / "root", changes)

    def room(path):
        if machine.free_mib and os.fspath(path).endswith("/dev/shm"):
            return SimpleNamespace(f_bavail=machine.free_mib << 8, f_frsize=4096)
        raise FileNotFoundError(path)

    def run(*words):
        system = machine_tree.tuned(tmp_path / "root", machine.files)
        for irq in machine.fixed:
            system.path(f"/proc/irq/{irq}/smp_affinity_list").chmod(0o444)
        app = Typer()
        app.command()(cli.doctor)
        return CliRunner().invoke(app, ["--root", str(system.root), "--cpus", machine.cpus, *words])

    program = tmp_path / "ws-wakes"
    lines = "\n".join(map(json.dumps, machine.wakes))
    program.write_text(f"#!{sys.executable}\nprint({lines!r})\n")
    program.chmod(0o755)
    monkeypatch.setattr(time, "sleep", lambda seconds: write(machine.second))
    monkeypatch.setattr(os, "statvfs", room)
    monkeypatch.setenv("PATH", str(tmp_path))  # a cyclictest of this machine is not found
    return name, lambda *words: run(*(["--wakes", str(program)] if machine.wakes else []), *words)


@pytest.mark.parametrize("kind", ["txt", "json"])
def test_the_whole_report(report, kind):
    name, run = report
    path, found = GOLDEN / f"{name}.{kind}", run(*["--json"] * (kind == "json"))
    assert found.exit_code == MACHINES[name].status, found.output
    if os.environ.get("NRBENCH_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(found.output, encoding="utf-8")
    assert found.output == path.read_text(encoding="utf-8")


def test_levels_by_hand(report):
    name, run = report
    found = {(finding["level"], finding["check"]) for finding in json.loads(run("--json").output)["findings"]}
    for line in MACHINES[name].levels.splitlines():
        level, _, checks = line.partition(": ")
        assert {(level, check) for check in checks.split(", ")} - found == set()
