# SPDX-License-Identifier: BSD-3-Clause
"""The doctor's checks where one value decides, its measurements, and that no machine stops it."""

import os
import time

import machine_tree
import pytest

from nrbench.doctor import checks, noise
from nrbench.doctor.target import Level, Target
from nrbench.system import CPU, System, parse_cpus

BAD, GOOD, NOTE, WARN = Level.BAD, Level.GOOD, Level.NOTE, Level.WARN
KERNEL = "/proc/sys/kernel"
MASK, LANDS = "/proc/irq/24/smp_affinity_list", "/proc/irq/24/effective_affinity_list"
BARE = {"/proc/cmdline": "quiet", f"{CPU}/isolated": "", f"{CPU}/nohz_full": ""}
BALANCE = BARE | {"/proc/77/comm": "irqbalance", "/proc/2/comm": "kthreadd"}
C6 = {f"{CPU}/cpu{cpu}/cpuidle/state2/disable": "0" for cpu in range(8)}
TICKS = os.sysconf("SC_CLK_TCK")


@pytest.fixture(autouse=True)
def no_second(monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda seconds: None)


def look(system, cpus="2-5"):
    return checks.examine(Target(system, parse_cpus(cpus)))


def one(root, check, changes=None, cpus="2-5"):
    found = [f for f in look(machine_tree.tuned(root, changes), cpus) if f.check == check]
    assert len(found) == 1, found
    return found[0]


def every(name, text):
    return {f"{CPU}/cpu{cpu}/{name}": text for cpu in range(8)}


def cores(*groups):
    name = "topology/thread_siblings_list"
    return {f"{CPU}/cpu{cpu}/{name}": group for group in groups for cpu in parse_cpus(group)}


GROUP, DEVICES = "/sys/fs/cgroup/user.slice", "/sys/devices/cpu"
MASKED = {f"{CPU}/isolated": "", "/proc/self/status": "Cpus_allowed_list:\t2-6\n"}
SPEED = every("cpufreq/scaling_max_freq", "3600000") | every("cpufreq/cpuinfo_max_freq", "3600000")
CASES = [
    ("isolcpus", {f"{CPU}/isolated": "2-3"}, WARN, "set for CPUs 2-3; these lack it: CPUs 4-5"),
    ("isolcpus", {"/proc/cmdline": "isolcpus=managed_irq,2-5", f"{CPU}/isolated": ""}, WARN,
     "not set; these lack it: CPUs 2-5 (boot parameter isolcpus=managed_irq,2-5)"),
    ("affinity mask", {"/proc/self/status": "Cpus_allowed_list:\t2-5\n"}, BAD, "2-5; only pinned threads"),
    ("real-time class", {"/proc/self/limits": "Max realtime priority  96  96\n",
                         "/proc/self/status": "CapEff:\t0\n"}, BAD, "refused (RLIMIT_RTPRIO 96)"),
    ("real-time throttling", {f"{KERNEL}/osrelease": "6.11.9"}, GOOD, "off (kernel.sched_rt_runtime_us=-1)"),
    ("CPU quota", {"/sys/fs/cgroup/user.slice/cpu.max": "790000 100000"}, BAD, "7.9 CPUs in each 100 ms"),
    ("CPU quota", {"/sys/fs/cgroup/user.slice/cpu.max": "800000 100000"}, GOOD, "does not limit the 8"),
    ("CPUs", {f"{CPU}/online": "0-4"}, BAD, "CPUs 5 are not online"),
    ("CPUs", {"/proc/self/status": "Cpus_allowed_list:\t0-3\n"}, NOTE, "CPUs 4-5 are outside"),
    ("CPUs", MASKED, NOTE, "may use 5 of 8 CPUs, 2-6, by its affinity mask"),
    ("CPUs", MASKED | {f"{GROUP}/cpuset.cpus.effective": "2-6"}, NOTE, "by its control group's cpuset 2-6"),
    ("CPUs", {"/proc/self/status": "Cpus_allowed_list:\t0-1,6-7\n"}, NOTE, "outside"),  # the isolated ones
    ("kinds of cores", {f"{DEVICES}_core/cpus": "0-3", f"{DEVICES}_atom/cpus": "4-7"}, WARN,
     "performance cores: CPUs 2-3; efficiency cores: CPUs 4-5"),
    ("kinds of cores", {f"{DEVICES}_core/cpus": "0-5", f"{DEVICES}_atom/cpus": "6-7"}, GOOD, "one"),
    ("kinds of cores", every("cpu_capacity", "1024") | {f"{CPU}/cpu3/cpu_capacity": "446"}, WARN,
     "capacity 1024: CPUs 2,4-5; capacity 446: CPU 3"),
    ("kinds of cores", every("cpu_capacity", "1024") | {f"{CPU}/cpu3/cpu_capacity": "996"}, GOOD, "one"),
    ("kinds of cores", {f"{DEVICES}_core/cpus": "0-7"} | every("cpu_capacity", "1024"), GOOD, "one"),
    ("frequency limit", SPEED | {f"{CPU}/cpu4/cpufreq/scaling_max_freq": "1200000"}, WARN, "1200 of 3600"),
    ("frequency limit", SPEED | {f"{CPU}/cpu6/cpufreq/scaling_max_freq": "1200000"}, GOOD, "none below"),
    ("vm.stat_interval", {"/proc/sys/vm/stat_interval": "9"}, NOTE, "9 s"),
    ("vm.stat_interval", {"/proc/sys/vm/stat_interval": "10"}, GOOD, "10 s"),
    ("load", {"/proc/loadavg": "2.0 1 1 1/1 1"}, GOOD, "2 over one minute"),
    ("load", {"/proc/loadavg": "2.1 1 1 1/1 1"}, WARN, "2.1 over one minute, 8 CPUs"),
    ("interrupts", {MASK: "0-7"}, NOTE, "1 of 1 may land on CPUs 2-5: 24 (eth0-rx); none of these lands"),
    ("interrupts", {MASK: "0-7", LANDS: "3"}, WARN, "1 of 1 may land on CPUs 2-5: 24 (eth0-rx)"),
    ("interrupts", {MASK: "0-7", LANDS: None}, WARN, "1 of 1 may land on CPUs 2-5: 24 (eth0-rx)"),
    ("interrupts", {"/proc/irq/0/smp_affinity_list": "0-7"}, GOOD, "0 of 1 may land on CPUs 2-5"),
    ("interrupts", {"/sys/kernel/irq/24/actions": "\n", MASK: "0-7", "/proc/irq/9/smp_affinity_list": "0",
                    "/sys/kernel/irq/9/actions": "acpi\n"}, GOOD, "0 of 1 may land on CPUs 2-5"),
    ("irqbalance", BALANCE, WARN, "runs, and may use 2-5"),
    ("irqbalance", BALANCE | {"/proc/77/comm": "x"}, GOOD, "does not run"),
    ("irqbalance", BALANCE | {f"{CPU}/isolated": "2-3", f"{CPU}/nohz_full": "4-5"}, GOOD, "does not use 2-5"),
    ("irqbalance", BALANCE | {"/etc/default/irqbalance": 'IRQBALANCE_BANNED_CPULIST="2-4"\n'}, WARN, "use 5"),
    ("irqbalance", BALANCE | {"/etc/sysconfig/irqbalance": "IRQBALANCE_BANNED_CPULIST=2-5\n"}, GOOD, "2-5"),
    ("irqbalance", BALANCE | {"/etc/default/irqbalance": "IRQBALANCE_BANNED_CPULIST=x\n"}, WARN, "use 2-5"),
    ("SMT", cores("2,6", "3,7"), WARN, "siblings share a core: 2,6; 3,7"),
    ("SMT", cores("1-2"), WARN, "siblings share a core: 1-2"),
    ("SMT", cores("2-3", "4,6"), WARN, "several workers are on one core"),
    ("frequency governor", every("cpufreq/scaling_governor", "powersave")
     | every("cpufreq/scaling_driver", "intel_cpufreq"), BAD, "powersave (intel_cpufreq)"),
    ("idle states", {f"{CPU}/cpu2/cpuidle/state1/latency": "10"}, GOOD, "C1 10 µs"),
    ("idle states", {f"{CPU}/cpu2/cpuidle/state1/latency": "11"}, WARN, "C1 11 µs (intel_idle)"),
    ("idle states", C6 | every("power/pm_qos_resume_latency_us", "n/a"), GOOD, "POLL 0 µs (intel_idle)"),
    ("idle states", C6 | every("power/pm_qos_resume_latency_us", "169"), GOOD, "C1 1 µs (intel_idle)"),
    ("idle states", C6 | every("power/pm_qos_resume_latency_us", "170"), WARN, "C6 170 µs (intel_idle)"),
    ("idle states", C6 | {"/dev/cpu_dma_latency": bytes([10, 0, 0, 0])}, NOTE, "none above 10 µs as long as"),
    ("idle states", C6 | {"/dev/cpu_dma_latency": bytes([11, 0, 0, 0])}, WARN, "none above 11 µs as long as"),
    ("swap", {"/proc/meminfo": "SwapTotal: 8 kB"}, NOTE, "8 KiB"),
    ("watchdogs", {"/proc/sys/kernel/watchdog": "1"}, NOTE, "on CPUs 2-5"),
    ("watchdogs", {"/proc/sys/kernel/watchdog": "1", "/proc/sys/kernel/watchdog_cpumask": "6"}, GOOD, "off"),
    ("NUMA", {"/sys/devices/system/node/node1/cpulist": "8-9"}, GOOD, "of 2"),
]  # fmt: skip
REMEDIES = {
    ("real-time class", BAD): "sudo setcap cap_sys_nice+ep",
    ("kinds of cores", WARN): "choose CPUs of one kind: --cpus 2",
    ("frequency limit", WARN): "now: cpupower -c 4 frequency-set -u 3600MHz",
    ("isolcpus", WARN): "boot: isolcpus=managed_irq,domain,2-5",
    ("interrupts", WARN): "always: sudo",
    ("irqbalance", WARN): "now: systemctl stop irqbalance",
    ("idle states", WARN): "now: cpupower -c 2-5 idle-set -D 10",
    ("frequency governor", BAD): "now: cpupower -c 2-5 frequency-set -g performance",
}


@pytest.mark.parametrize("check, changes, level, seen", CASES, ids=[f"{c[0]}: {c[3]}" for c in CASES])
def test_what_is_seen(tmp_path, check, changes, level, seen):
    finding = one(tmp_path, check, changes)
    assert finding.level is level and seen in finding.seen
    if (check, level) in REMEDIES:
        assert finding.do[0].startswith(REMEDIES[check, level])


def test_a_right_that_is_there_is_no_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr("nrbench.host.realtime_possible", lambda system: False)
    finding = one(tmp_path, "real-time class")
    assert "in spite of CAP_SYS_NICE" in finding.seen
    (remedy,) = finding.do
    assert finding.why.startswith("OAI silently") and remedy.startswith("boot: rt_group_sched=0 ")


SIBLINGS_AWAY = f"now: echo 0 > {CPU}/cpu6/online; echo 0 > {CPU}/cpu7/online  # takes the siblings away "


@pytest.mark.parametrize(
    "changes, texts",
    [
        (cores("2,6", "3,7"), [f"{SIBLINGS_AWAY}from all programs"]),
        (cores("0,2"), []),  # CPU 0 cannot be taken offline
        (cores("2-3", "4,6"), ["choose one CPU of each core: --cpus 2,4-5"]),
    ],
)
def test_no_remedy_takes_a_workers_cpu_offline(tmp_path, changes, texts):
    assert [*one(tmp_path, "SMT", changes).do] == texts


@pytest.mark.parametrize("name", sorted(machine_tree.TUNED))
@pytest.mark.parametrize("text", [None, "what is\nthis: 7,-x\n"], ids=["missing", "unexpected"])
def test_no_file_stops_the_examination(tmp_path, name, text):
    assert len(look(machine_tree.tuned(tmp_path, machine_tree.of_cpus({name: text})))) > 30


def test_this_machine_can_be_examined():
    system = System()
    findings = checks.examine(Target(system, system.affinity()), measure=False)
    assert len(findings) > 20
    assert not {checks.ACTIVITY, checks.WAKES} & {finding.area for finding in findings}
    assert checks.quiet(findings)["answer"] in ("unknown", "no")


def stat(user=0, steal=0, iowait=0, total=1000):
    idle = total - user - steal - iowait
    return {"/proc/stat": "".join(f"cpu{cpu} {user} 0 0 {idle} {iowait} 0 0 {steal} 0 0\n" for cpu in "2345")}


def thread(ticks, cpu=3, policy=1, flags=0):
    fields = ["0"] * 52
    fields[8], fields[13], fields[38], fields[39], fields[40] = map(str, (flags, ticks, cpu, 90, policy))
    return {"/proc/70/task/71/stat": f"71 (a b) R) R {' '.join(fields[3:])}\n", "/proc/70/comm": "gnb\n"}


def second(root, monkeypatch, before, after):
    """A target whose second changes these files."""
    system = machine_tree.tuned(root, stat(total=0) | before)
    monkeypatch.setattr(time, "sleep", lambda seconds: machine_tree.write(root, after))
    return Target(system, parse_cpus("2-5"))


@pytest.mark.parametrize(
    "spent, changes, levels, reasons",
    [
        ({}, {}, (GOOD, GOOD), []),
        ({"iowait": 900}, {}, (GOOD, GOOD), []),  # a CPU that waits for a disk is idle
        ({"steal": 2}, {}, (WARN, GOOD), ["steal time: 0.2 % over 1 s"]),
        ({"user": 110, "steal": 20}, {}, (BAD, WARN),
         ["other programs: CPUs 2-5: 11 % busy over 1 s", "steal time: 2.0 % over 1 s"]),
        ({"user": 99}, {"/proc/loadavg": "8 1 1 1/1 1"}, (GOOD, GOOD), ["load: 8 over one minute, 8 CPUs"]),
    ],
)  # fmt: skip
def test_whether_the_machine_is_quiet(tmp_path, monkeypatch, spent, changes, levels, reasons):
    findings = checks.examine(second(tmp_path, monkeypatch, changes, stat(**spent)))
    steal, others, *_ = (finding for finding in findings if finding.area == checks.ACTIVITY)
    assert (steal.level, others.level) == levels
    assert checks.quiet(findings) == {"answer": "no" if reasons else "yes", "reasons": reasons}


def test_counters_that_go_back_spend_no_time(tmp_path, monkeypatch):
    """A virtual machine comes to another host, and CPU 5 goes offline."""
    counts = {cpu: f"cpu{cpu} 0 0 0 900 500 0 0 70 0 0\n" for cpu in "2345"}
    after = "".join(f"cpu{cpu} 50 0 0 950 400 0 0 0 0 0\n" for cpu in "234")
    target = second(tmp_path, monkeypatch, {"/proc/stat": "".join(counts.values())}, {"/proc/stat": after})
    assert target.second.ticks == (150, 0, 0)


@pytest.mark.parametrize(
    "share, cpu, policy, seen",
    [
        (1.0, 3, 1, "CPU 3: a b) R (process 70, thread 71), SCHED_FIFO 90, 100 % over 1 s"),
        (0.9, 2, 2, "CPU 2: a b) R (process 70, thread 71), SCHED_RR 90, 90 % over 1 s"),
        (0.5, 3, 1, "none among the processes that can be seen here"),  # it sleeps half of the time
        (1.0, 6, 1, "none among the processes that can be seen here"),  # on no CPU of the workers
        (1.0, 3, 0, "none among the processes that can be seen here"),  # no real-time thread
    ],
)
def test_real_time_threads_that_never_sleep_on_the_workers_cpus(
    tmp_path, monkeypatch, share, cpu, policy, seen
):
    then, now = thread(1000, cpu, policy), thread(1000 + round(share * TICKS), cpu, policy)
    findings = checks.examine(second(tmp_path, monkeypatch, then, now | stat()))
    (found,) = (finding for finding in findings if finding.check == "real-time pollers")
    assert (found.level, found.seen) == (GOOD if seen.startswith("none") else BAD, seen)


RTLA = """                              Operating System Noise
CPU Period   Runtime   Noise  % CPU Aval   Max Noise   Max Single    HW   NMI    IRQ  Softirq  Thread
  2 #1       1000000    6000    99.40000        6978           56   549     0   1000      150      13
  3 #1       1000000    4000    99.60000        8092         {most}   399     0   1000       50       0
"""


@pytest.mark.parametrize(
    "answer, level, seen",
    [
        ((0, RTLA.format(most=90)), WARN, "0.50 % of the time, at most 90 us at once, by 948 hardware"),
        ((0, RTLA.replace(" 56 ", " 50 ").format(most=9)), GOOD, "2000 interrupts, 200 softirqs, 13 threads"),
        ((1, "Failed to apply\nconfig"), Level.UNSEEN, "rtla osnoise: Failed to apply config; it needs root"),
    ],
)
def test_what_disturbs_the_cpus(answer, level, seen, monkeypatch):
    monkeypatch.setattr(noise, "which", lambda _: "/usr/bin/rtla")
    monkeypatch.setattr(noise, "run", lambda *_, **__: answer)
    row = checks.ROWS["Activity"]["disturbances"]
    found = checks._finding("Activity", "disturbances", row, Target(System(), parse_cpus("2-3")))
    assert found.level is level and seen in found.seen


@pytest.mark.parametrize("waited_ns, taken_ns", [(0, 3_000_000), (2_900_000, 100_000), (4_000_000, 0)])
def test_time_that_a_loop_stood_still_counts_where_it_did_not_wait(waited_ns, taken_ns):
    """It looks every 50 us, an interrupt's length, but for 3 ms once. The clock is made up."""
    looks = iter([*range(0, 50_000_000, 50_000), *range(52_950_000, 600_000_000, 50_000)])
    waits = iter([7, 7 + waited_ns])
    assert noise.taken_ns(lambda: next(looks), lambda: next(waits)) == (taken_ns, 500_000_000)
