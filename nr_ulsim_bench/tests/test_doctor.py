# SPDX-License-Identifier: BSD-3-Clause
"""What the doctor finds on made-up machines, and that it does not fall over on this one."""

import os

import machine_tree
import pytest

from nrbench import facts, host
from nrbench.doctor import checks
from nrbench.doctor.checks import quiet
from nrbench.doctor.finding import Level, Target
from nrbench.system import CPU, System, parse_cpus

WORKERS = parse_cpus("2-5")
KERNEL = "/proc/sys/kernel"


def look(root, changes=None, cpus=WORKERS):
    target = Target(machine_tree.tuned(root, changes), cpus, wait=lambda seconds: None)
    return [finding for group in checks.examine(target).values() for finding in group]


def one(findings, check):
    found = [finding for finding in findings if finding.check == check]
    assert len(found) == 1, found
    return found[0]


def test_a_tuned_machine_has_nothing_to_complain_of(tmp_path):
    findings = look(tmp_path)
    complaints = [f for f in findings if f.level in (Level.WARN, Level.BAD)]
    assert complaints == []
    assert all(finding.seen for finding in findings)


def test_each_complaint_says_why_and_most_what_to_do(tmp_path):
    findings = look(tmp_path, {name: text for changes in COMPLAINTS for name, text in changes[0].items()})
    complaints = [f for f in findings if f.level in (Level.WARN, Level.BAD)]
    assert len(complaints) > 10
    for finding in complaints:
        assert finding.why.endswith("."), finding
    assert sum(not finding.remedies for finding in complaints) <= 1  # of load there is nothing to set


COMPLAINTS = [
    ({"/proc/cmdline": "quiet", f"{CPU}/isolated": ""}, "isolcpus", Level.WARN, "not set for CPUs 2-5"),
    ({"/proc/cmdline": "quiet", f"{CPU}/isolated": "2-3"}, "isolcpus", Level.WARN, "lacks 4-5"),
    ({"/proc/irq/24/smp_affinity_list": "0-7", "/proc/irq/24/effective_affinity_list": "3"},
     "interrupts", Level.WARN, "on CPUs 2-5: 24 (eth0-rx)"),
    ({"/proc/irq/default_smp_affinity": "ff"}, "interrupts", Level.WARN, "default_smp_affinity"),
    ({f"{KERNEL}/timer_migration": "1"}, "timer migration", Level.WARN, "nohz_full=2-5"),
    ({f"{CPU}/cpu2/topology/thread_siblings_list": "2,6"}, "SMT", Level.WARN, "2,6"),
    ({f"{CPU}/cpu3/cpufreq/scaling_governor": "powersave"}, "frequency governor", Level.WARN, "powersave"),
    (
        {
            f"{CPU}/cpu{cpu}/cpufreq/{name}": text
            for cpu in range(8)
            for name, text in (("scaling_governor", "powersave"), ("scaling_driver", "acpi-cpufreq"))
        },
        "frequency governor",
        Level.BAD,
        "acpi-cpufreq",
    ),
    (
        {f"{CPU}/cpu2/cpufreq/energy_performance_preference": "balance_power"},
        "energy preference",
        Level.WARN,
        "balance_power",
    ),
    ({f"{CPU}/cpu2/cpuidle/state2/disable": "0"}, "idle states", Level.WARN, "C6 170 us"),
    ({"/sys/fs/cgroup/user.slice/cpu.max": "150000 100000"}, "CPU quota", Level.BAD, "1.5 CPUs in each"),
    ({"/proc/self/limits": "", "/proc/self/status": "CapEff:\t0\n"}, "real-time class", Level.BAD, "refused"),
    ({"/proc/self/status": "CapEff:\t0\n"}, "real-time class", Level.WARN, "not by CAP_SYS_NICE, which OAI"),
    ({"/proc/self/status": "CapEff:\t0\n", "/proc/self/limits": "Max realtime priority     96   96\n"},
     "real-time class", Level.BAD, "refused (RLIMIT_RTPRIO 96)"),
    ({"/proc/cmdline": "isolcpus=managed_irq,2-5", f"{CPU}/isolated": "\n"}, "isolcpus", Level.WARN,
     "the kernel uses nothing of isolcpus=managed_irq,2-5"),
    ({"/proc/self/limits": "Max locked memory         65536   65536\n", "/proc/self/status": "CapEff:\t0\n"},
     "locked memory", Level.WARN, "64 KiB"),
    ({"/sys/devices/system/node/node1/cpulist": "8-9", f"{KERNEL}/numa_balancing": "1"},
     "NUMA balancing", Level.WARN, "on"),
    ({f"{CPU}/cpu{cpu}/cpufreq/{name}": text for cpu in range(8)
      for name, text in (("scaling_governor", "powersave"), ("scaling_driver", "intel_cpufreq"))},
     "frequency governor", Level.BAD, "intel_cpufreq"),
    ({f"{CPU}/cpu2/cpuidle/state1/latency": "11"}, "idle states", Level.WARN, "C1 11 us"),
    ({f"{CPU}/cpu4/cpuidle/state2/disable": "0"}, "idle states", Level.WARN, "on CPU 4"),
    ({f"{CPU}/cpu4/cpuidle/state2/disable": "0", f"{CPU}/cpu4/power/pm_qos_resume_latency_us": "200"},
     "idle states", Level.WARN, "C6 170 us"),
    (
        {f"{KERNEL}/osrelease": "6.8.0", f"{KERNEL}/sched_rt_runtime_us": "950000"},
        "real-time throttling",
        Level.WARN,
        "950000 of 1000000",
    ),
    ({f"{KERNEL}/version": "#1 SMP PREEMPT_DYNAMIC", "/proc/cmdline": "preempt=none", f"{CPU}/isolated": ""},
     "preemption model", Level.WARN, "none"),
    ({"/proc/swaps": "head\n/dev/sda2 partition 4194304 2048 -2\n"}, "swap", Level.WARN, "2 MiB"),
    (
        {
            "/sys/devices/system/node/node0/cpulist": "0-3",
            "/sys/devices/system/node/node1/cpulist": "4-7",
        },
        "NUMA",
        Level.WARN,
        "node0, node1",
    ),
    (
        {"/sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet"},
        "clocksource",
        Level.BAD,
        "hpet",
    ),
    ({"/proc/loadavg": "3.0 1 1 1/1 1"}, "load", Level.WARN, "3 over one minute, 8 CPUs"),
    ({"/proc/77/comm": "irqbalance", "/proc/2/comm": "kthreadd", "/proc/cmdline": "", f"{CPU}/isolated": "",
      f"{CPU}/nohz_full": "(null)"}, "irqbalance", Level.WARN, "runs"),
    ({"/proc/self/status": "Cpus_allowed_list:\t2-5\n"}, "affinity mask", Level.BAD, "all inside isolcpus"),
]  # fmt: skip


@pytest.mark.parametrize(
    "changes, check, level, seen", COMPLAINTS, ids=[f"{c[1]}: {c[3]}" for c in COMPLAINTS]
)
def test_what_is_wrong_is_seen(tmp_path, changes, check, level, seen):
    finding = one(look(tmp_path, changes), check)
    assert finding.level is level and finding.checked
    assert seen in finding.seen and finding.why


NOTES = [
    ({f"{CPU}/cpufreq/boost": "0"}, "boost", "off"),
    (
        {f"{KERNEL}/osrelease": "6.12.1", f"{KERNEL}/sched_rt_runtime_us": "950000"},
        "real-time throttling",
        "950000",
    ),
    ({f"{KERNEL}/sched_autogroup_enabled": "1"}, "autogroups", "on (kernel.sched_autogroup_enabled=1)"),
    ({f"{KERNEL}/nmi_watchdog": "1"}, "watchdogs", "kernel.nmi_watchdog=1"),
    ({f"{KERNEL}/watchdog": "1", f"{KERNEL}/watchdog_cpumask": "0-3"}, "watchdogs", "CPUs 2-3"),
    ({"/proc/sys/vm/stat_interval": "1"}, "vm.stat_interval", "1 s"),
    ({"/sys/devices/virtual/workqueue/cpumask": "ff"}, "workqueues", "CPUs 2-5"),
    ({f"{CPU}/vulnerabilities/meltdown": "Mitigation: PTI"}, "mitigations", "meltdown"),
    ({facts.THP.name: "[always] madvise never"}, "transparent huge pages", "always"),
    ({"/proc/meminfo": "HugePages_Total: 0\n"}, "huge pages", "none reserved"),
    ({"/proc/self/timerslack_ns": "50000"}, "timer slack", "50 us"),
    ({"/sys/kernel/debug/sched/features": "PLACE_LAG NO_HRTICK NO_HRTICK_DL\n"}, "HRTICK", "off"),
    ({f"{KERNEL}/version": "#1 SMP PREEMPT_DYNAMIC", "/sys/kernel/debug/sched/preempt": "full (lazy)\n"},
     "preemption model", "lazy"),
    ({f"{CPU}/cpu3/power/pm_qos_resume_latency_us": "n/a"}, "resume latency", "CPU 3 no idle state"),
    ({"/sys/fs/cgroup/user.slice/cpu.max": "800000 100000"}, "CPU quota", "8 CPUs in each 100 ms"),
    ({"/proc/cmdline": "nohz_full=2-5", f"{CPU}/nohz_full": "(null)\n"}, "nohz_full",
     "the kernel uses nothing of nohz_full=2-5"),
    ({"/boot/config-6.8.0-rt": "CONFIG_HZ=250\n"}, "rcu_nocbs", "built without"),
    (
        {"/sys/fs/cgroup/user.slice/cpuset.cpus.partition": "isolated\n"},
        "cpuset partition",
        "/sys/fs/cgroup/user.slice",
    ),
    (
        {"/proc/cpuinfo": "model name: x\nflags: hypervisor\n", f"{CPU}/cpu2/cpuidle/state2/disable": "0"},
        "idle states",
        "C6 170 us",
    ),
]  # fmt: skip


@pytest.mark.parametrize("changes, check, seen", NOTES, ids=[note[1] for note in NOTES])
def test_what_is_worth_knowing_is_a_note(tmp_path, changes, check, seen):
    finding = one(look(tmp_path, changes), check)
    assert finding.level is Level.NOTE and finding.checked and seen in finding.seen


def _limits(latency):
    return {f"{CPU}/cpu{cpu}/power/pm_qos_resume_latency_us": latency for cpu in range(8)}


C6_ALLOWED = {f"{CPU}/cpu{cpu}/cpuidle/state2/disable": "0" for cpu in range(8)}
GOOD = [
    (C6_ALLOWED | _limits("n/a"), "idle states", "POLL 0 us (intel_idle)"),
    (C6_ALLOWED | _limits("169"), "idle states", "POLL 0 us, C1 1 us (intel_idle)"),
    ({f"{CPU}/cpu2/cpuidle/state1/latency": "10"}, "idle states", "C1 10 us"),
    ({f"{KERNEL}/osrelease": "5.15.0"}, "real-time throttling", "off"),
    ({"/proc/cmdline": "isolcpus=2-N", f"{CPU}/isolated": None}, "isolcpus", "2-7, which includes all"),
    ({"/proc/sys/vm/stat_interval": "10"}, "vm.stat_interval", "10 s"),
    ({"/sys/devices/system/node/node1/cpulist": "8-9", f"{KERNEL}/numa_balancing": "0"}, "NUMA", "of 2"),
]  # fmt: skip


@pytest.mark.parametrize("changes, check, seen", GOOD, ids=[f"{good[1]}: {good[2]}" for good in GOOD])
def test_what_is_as_it_should_be_is_good(tmp_path, changes, check, seen):
    finding = one(look(tmp_path, changes), check)
    assert finding.level is Level.GOOD and finding.checked and seen in finding.seen


def test_cpu_0_is_no_good_worker(tmp_path):
    finding = one(look(tmp_path, cpus=parse_cpus("0-5")), "CPUs")
    assert finding.level is Level.WARN and finding.seen == "CPU 0 is among 0-5"
    finding = one(look(tmp_path, cpus=parse_cpus("0-7")), "CPUs")
    assert finding.level is Level.NOTE


def test_nothing_stops_a_runaway_thread_without_throttling_on_old_kernels_only(tmp_path):
    old = one(look(tmp_path / "old", {f"{KERNEL}/osrelease": "6.11.9"}), "real-time throttling")
    new = one(look(tmp_path / "new", {f"{KERNEL}/osrelease": "6.12.0"}), "real-time throttling")
    assert old.why.startswith("Nothing stops a real-time thread") and "50 ms" in new.why


def test_throttling_of_any_group_above_is_counted(tmp_path):
    changes = {
        "/proc/self/cgroup": "0::/pod/gnb\n",
        "/sys/fs/cgroup/pod/gnb/cpu.max": "300000 100000\n",
        "/sys/fs/cgroup/pod/gnb/cpu.stat": "nr_throttled 0\n",
        "/sys/fs/cgroup/pod/cpu.max": "400000 100000\n",
        "/sys/fs/cgroup/pod/cpu.stat": "nr_throttled 9\n",
    }
    assert "stopped the group 9 times" in one(look(tmp_path, changes), "CPU quota").seen


def test_nothing_visible_is_said_with_the_reason_and_is_not_bad(tmp_path):
    machine_tree.write(tmp_path, {f"{CPU}/online": "0-7"})
    target = Target(System(tmp_path), WORKERS, wait=lambda seconds: None)
    findings = [finding for group in checks.examine(target).values() for finding in group]
    unseen = [finding for finding in findings if not finding.checked]
    assert len(unseen) > 15
    assert all(
        finding.level is Level.NOTE and "cannot be checked here: " in finding.seen for finding in unseen
    )
    assert {finding.check for finding in findings if finding.level is Level.BAD} == {"real-time class"}


@pytest.mark.parametrize("name", sorted(machine_tree.TUNED))
def test_no_missing_file_stops_the_examination(tmp_path, name):
    assert len(look(tmp_path, {name: None})) > 20


@pytest.mark.parametrize("name", sorted(machine_tree.TUNED))
def test_no_unexpected_text_stops_the_examination(tmp_path, name):
    assert len(look(tmp_path, {name: "what is\nthis: 7,-x\n"})) > 20


def test_quota_of_version_1_counts_how_often_it_stopped_the_group(tmp_path):
    group = "/sys/fs/cgroup/cpu/gnb"
    changes = {
        "/proc/self/cgroup": "2:cpu:/gnb\n",
        "/proc/self/mountinfo": "30 20 0:1 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
        f"{group}/cpu.cfs_quota_us": "50000",
        f"{group}/cpu.cfs_period_us": "20000",
        f"{group}/cpu.stat": "nr_periods 9\nnr_throttled 7\nthrottled_time 5\n",
        f"{group}/cpu.rt_runtime_us": "0",
    }
    findings = look(tmp_path, changes)
    assert "2.5 CPUs in each 20 ms" in one(findings, "CPU quota").seen
    assert "stopped the group 7 times" in one(findings, "CPU quota").seen
    budget = one(findings, "real-time budget")
    assert budget.level is Level.BAD and budget.remedies[0].text == f"echo 950000 > {group}/cpu.rt_runtime_us"


def test_a_budget_that_refuses_the_real_time_class_is_no_matter_of_capabilities(tmp_path, monkeypatch):
    monkeypatch.setattr(host, "realtime_possible", lambda system: False)
    finding = one(look(tmp_path), "real-time class")
    assert "in spite of CAP_SYS_NICE" in finding.seen and finding.remedies == ()


def test_workers_on_every_cpu_are_told_to_leave_one(tmp_path):
    findings = look(tmp_path, {"/proc/cmdline": "", f"{CPU}/isolated": ""}, cpus=parse_cpus("0-7"))
    assert "--cpus" in one(findings, "isolcpus").remedies[0].text
    assert one(findings, "interrupts").level is Level.NOTE


@pytest.mark.parametrize(
    "cpus, changes, level, seen",
    [
        ("2-9", {}, Level.BAD, "CPUs 8-9 are not online"),
        ("2-5", {"/proc/self/status": "Cpus_allowed_list:\t0-3\n"}, Level.NOTE, "CPUs 4-5 are outside"),
        (
            "2-5",
            {
                "/proc/self/status": "Cpus_allowed_list:\t0-3\n",
                "/sys/fs/cgroup/user.slice/cpuset.cpus.effective": "0-3\n",
            },
            Level.BAD,
            "CPUs 4-5 are outside",
        ),
    ],
    ids=["offline", "outside of the mask", "outside of the cpuset"],
)
def test_cpus_that_the_workers_cannot_have(tmp_path, cpus, changes, level, seen):
    finding = one(look(tmp_path, changes, parse_cpus(cpus)), "CPUs")
    assert finding.level is level and seen in finding.seen


def _stat(user, steal, iowait):
    idle = 1000 - user - steal - iowait
    return "".join(f"cpu{cpu} {user} 0 0 {idle} {iowait} 0 0 {steal} 0 0\n" for cpu in WORKERS)


def _second(root, stat, changes=None):
    """Findings of a machine that spends the measured second so."""
    zero = "".join(f"cpu{cpu} 0 0 0 0 0 0 0 0 0 0\n" for cpu in WORKERS)
    waited = []

    def wait(seconds):
        waited.append(seconds)
        machine_tree.write(root, {"/proc/stat": stat})

    system = machine_tree.tuned(root, (changes or {}) | {"/proc/stat": zero.replace(" 0", " 1", 1)})
    findings = checks.examine(Target(system, WORKERS, wait))
    assert waited == [1.0]
    return findings


@pytest.mark.parametrize(
    "user, steal, iowait, levels",
    [
        (0, 0, 0, (Level.GOOD, Level.GOOD)),
        (0, 0, 900, (Level.GOOD, Level.GOOD)),  # a CPU that waits for a disk is idle
        (50, 5, 0, (Level.WARN, Level.GOOD)),
        (500, 30, 0, (Level.BAD, Level.WARN)),
    ],
)
def test_steal_and_other_programs_are_measured_over_a_second(tmp_path, user, steal, iowait, levels):
    findings = _second(tmp_path, _stat(user, steal, iowait))[checks.ACTIVITY]
    assert (one(findings, "steal time").level, one(findings, "other programs").level) == levels
    assert one(findings, "steal time").seen.startswith(f"{steal / 10:.1f} %")


@pytest.mark.parametrize(
    "user, steal, changes, answer",
    [
        (0, 0, {}, "yes"),
        (990, 0, {}, "no: other programs: CPUs 2-5: 99 % busy over 1 s"),
        (0, 50, {}, "no: steal time: 5.0 % over 1 s"),
        (0, 0, {"/proc/loadavg": "8.0 1 1 1/1 1"}, "no: load: 8 over one minute, 8 CPUs"),
        (990, 0, {"/proc/loadavg": "8.0 1 1 1/1 1"},
         "no: other programs: CPUs 2-5: 99 % busy over 1 s; load: 8 over one minute, 8 CPUs"),
    ],
)  # fmt: skip
def test_whether_the_machine_is_quiet(tmp_path, user, steal, changes, answer):
    said = quiet(_second(tmp_path, _stat(user, steal, 0), changes))
    assert str(said) == f"quiet enough to measure? {answer}"


def test_whether_the_machine_is_quiet_is_not_known_without_a_measurement(tmp_path):
    system = machine_tree.tuned(tmp_path)
    said = quiet(checks.examine(Target(system, WORKERS), measure=False))
    assert str(said) == "quiet enough to measure? unknown: not measured: other programs, steal time"


@pytest.mark.parametrize("enabled", [0, 1])
def test_nice_is_no_remedy_where_sessions_share(tmp_path, enabled):
    changes = {f"{KERNEL}/sched_autogroup_enabled": str(enabled)}
    busy = one(_second(tmp_path, _stat(990, 0, 0), changes)[checks.ACTIVITY], "other programs")
    assert any("nice does not" in remedy.text for remedy in busy.remedies) == bool(enabled)


def _thread(name, ticks, cpu, priority, policy):
    """A line of /proc/<process>/task/<thread>/stat."""
    fields = ["0"] * 52
    fields[13], fields[14] = str(ticks), str(ticks // 4)
    fields[38], fields[39], fields[40] = str(cpu), str(priority), str(policy)
    return f"4712 ({name}) R {' '.join(fields[3:])}\n"


@pytest.mark.parametrize(
    "ticks, cpu, priority, policy, seen",
    [
        (0.8, 3, 90, 1, "CPU 3: dpdk) R 1 (process 4711, thread 4712), SCHED_FIFO 90, 100 % over 1 s"),
        (0.8, 2, 1, 2, "CPU 2: dpdk) R 1 (process 4711, thread 4712), SCHED_RR 1, 100 % over 1 s"),
        (0.76, 3, 0, 6, "CPU 3: dpdk) R 1 (process 4711, thread 4712), SCHED_DEADLINE, 95 % over 1 s"),
        (0.4, 3, 90, 1, "none"),  # it sleeps half of the time
        (0.8, 6, 90, 1, "none"),  # on no CPU of the workers
        (0.8, 3, 0, 0, "none"),  # normal workers share the CPU with it, real-time ones take it
    ],
)
def test_real_time_threads_that_never_sleep_on_the_workers_cpus_are_named(
    tmp_path, ticks, cpu, priority, policy, seen
):
    path, per_s = "/proc/4711/task/4712/stat", os.sysconf("SC_CLK_TCK")

    def at(ticks):
        return {path: _thread("dpdk) R 1", ticks, cpu, priority, policy), "/proc/4711/comm": "dpdk\n"}

    zero, stat = _stat(0, 0, 0).replace("1000", "0"), _stat(0, 0, 0)
    target = Target(
        machine_tree.tuned(tmp_path, at(1000) | {"/proc/stat": zero, "/proc/2/comm": "kthreadd\n"}), WORKERS,
        wait=lambda _: machine_tree.write(tmp_path, at(1000 + int(ticks * per_s)) | {"/proc/stat": stat}),
    )  # fmt: skip
    found = one(checks.examine(target)[checks.ACTIVITY], "real-time pollers")
    assert (found.level, found.seen) == (Level.GOOD if seen == "none" else Level.BAD, seen)


def test_a_container_does_not_show_pollers_of_its_host(tmp_path):
    findings = _second(tmp_path, _stat(0, 0, 0))[checks.ACTIVITY]
    assert one(findings, "real-time pollers").seen == "none among the processes that can be seen here"


def test_features_of_the_scheduler(tmp_path):
    features = "/sys/kernel/debug/sched/features"
    on = one(look(tmp_path / "on", {features: "PLACE_LAG HRTICK NO_HRTICK_DL\n"}), "HRTICK")
    assert (on.level, on.seen) == (Level.GOOD, "on")
    for number, text in enumerate((None, "PLACE_LAG HRTICK_DL\n")):  # no debugfs, or no such feature
        changes = {features: text} if text else {}
        hidden = one(look(tmp_path / str(number), changes), "HRTICK")
        assert not hidden.checked and "features is not visible" in hidden.seen


def test_lazy_preemption_says_whom_it_delays(tmp_path):
    lazy = {f"{KERNEL}/version": "#1 SMP PREEMPT_DYNAMIC", "/sys/kernel/debug/sched/preempt": "full (lazy)\n"}
    assert "at the next tick" in one(look(tmp_path, lazy), "preemption model").why


def test_the_limit_of_each_cpu_is_offered_in_place_of_the_one_of_all(tmp_path):
    def offered(folder, changes):
        system = machine_tree.tuned(tmp_path / folder, changes)
        device = system.path("/dev/cpu_dma_latency")
        device.parent.mkdir()
        device.write_bytes((2_000_000_000).to_bytes(4, "little"))
        findings = checks.examine(Target(system, WORKERS), measure=False)["Frequency and idle states"]
        return [remedy.text for remedy in one(findings, "cpu_dma_latency").remedies]

    (text,) = offered("there", {})
    assert text.startswith(f"for n in 2 3 4 5; do echo 10 > {CPU}/cpu$n/power/pm_qos_resume_latency_us; done")
    assert offered("none", _limits(None)) == []


def test_holders_of_cpu_dma_latency_are_named(tmp_path):
    held = {"/proc/4711/comm": "cyclictest\n", "/proc/4711/fd/.keep": ""}
    system = machine_tree.tuned(tmp_path, C6_ALLOWED | held)
    device = system.path("/dev/cpu_dma_latency")
    device.parent.mkdir()
    device.write_bytes((2).to_bytes(4, "little"))
    os.symlink("/dev/cpu_dma_latency", system.path("/proc/4711/fd/7"))
    findings = checks.examine(Target(system, WORKERS), measure=False)["Frequency and idle states"]
    assert one(findings, "cpu_dma_latency").seen == "held at 2 us by cyclictest"
    assert one(findings, "idle states").seen == "POLL 0 us, C1 1 us (intel_idle), as long as 2 us are held"
    assert one(findings, "idle states").level is Level.NOTE
    device.write_bytes((2_000_000_000).to_bytes(4, "little"))
    findings = checks.examine(Target(system, WORKERS), measure=False)["Frequency and idle states"]
    assert one(findings, "cpu_dma_latency").seen.startswith("no program holds it")


def test_this_machine_can_be_examined():
    system = System()
    findings = checks.examine(Target(system, system.affinity()), measure=False)
    assert set(findings) == set(checks.AREAS) and sum(map(len, findings.values())) > 20
