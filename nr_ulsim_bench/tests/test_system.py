# SPDX-License-Identifier: BSD-3-Clause
"""What is read of a machine, on made-up ones."""

import gzip
import os
import re
from pathlib import Path

import machine_tree
import pytest

from nrbench import facts, host
from nrbench.doctor.checks import examine
from nrbench.doctor.layout import Layout
from nrbench.doctor.target import Target
from nrbench.system import CPU, System, format_cpus, parse_cpus, quota


@pytest.mark.parametrize("text", ["", "a", "3-1", "0-3,", "-1", "0-3:1/2", "0-4000000"])
def test_what_is_no_list_of_cpus_is_named(text):
    with pytest.raises(ValueError, match=f"'{re.escape(text)}' is no list of CPUs"):
        parse_cpus(text)


@pytest.mark.parametrize("cpus", [{0}, {0, 1, 2, 5}, {31, 32, 33}, {3, 70}, set(range(128))])
def test_lists_are_read_as_they_are_written(cpus):
    assert parse_cpus(format_cpus(cpus)) == cpus and parse_cpus("0-3,8") == {0, 1, 2, 3, 8}


GROUP, BALANCED = "/sys/fs/cgroup", "/sys/fs/cgroup/gnb/cpuset.sched_load_balance"
CPUSETS = {"/proc/self/cgroup": "2:cpuset:/gnb\n"}
CPUSETS |= {"/proc/self/mountinfo": f"30 20 0:1 / {GROUP} rw - cgroup cgroup rw,cpuset\n"}


@pytest.mark.parametrize(
    "files, cpus",
    [
        ({f"{GROUP}/user.slice/cpuset.cpus.partition": "isolated\n"}, {2, 3}),
        ({f"{GROUP}/user.slice/cpuset.cpus.partition": "isolated invalid (Parent is no root)\n"}, {2}),
        (CPUSETS | {BALANCED: "0", f"{GROUP}/cpuset.sched_load_balance": "0"}, {2, 3}),
        (CPUSETS | {BALANCED: "0", f"{GROUP}/cpuset.sched_load_balance": "1"}, {2}),
    ],
)
def test_a_partition_is_isolated_as_by_boot_parameter(tmp_path, files, cpus):
    sets = {f"{GROUP}/{name}": "3\n" for name in ("user.slice/cpuset.cpus.effective", "gnb/cpuset.cpus")}
    system = machine_tree.tuned(tmp_path, {f"{CPU}/isolated": "2\n"} | sets | files)
    assert facts.unbalanced(system) == cpus


@pytest.mark.parametrize("listed", ["0-1\n", None], ids=["counted anew, as by lxcfs", "hidden"])
def test_cpus_that_this_process_may_use_are_online(monkeypatch, listed):
    monkeypatch.setattr(System, "text", lambda system, name: listed)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {24, 25})
    assert {24, 25} < System().online() and {24, 25} <= Layout(System(), 1).usable


def test_masks_have_a_comma_after_every_32_bits(tmp_path):
    system = machine_tree.tuned(tmp_path, {"/a": "1,00000005\n", "/b": "0\n", "/c": "x\n"})
    assert [system.mask(name) for name in ("/a", "/b", "/c")] == [{0, 2, 32}, set(), None]


def test_boot_parameters_end_where_those_of_init_begin(tmp_path):
    system = machine_tree.tuned(tmp_path, {"/proc/cmdline": "a=1 rcu-nocbs=2 a=3 flag -- b=4\n"})
    assert [system.boot_parameter(name) for name in ("a", "rcu_nocbs", "flag", "b")] == ["3", "2", "", None]


GROUP_V1 = {
    "/proc/self/cgroup": "3:cpu,cpuacct:/docker/abc\n2:cpuset:/\n0::/system.slice\n",
    "/proc/self/mountinfo": (
        "30 20 0:1 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "31 20 0:2 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    ),
    "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "250000\n",
    "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
}
GROUP_V2 = {
    "/proc/self/cgroup": "0::/kube/pod/gnb\n",
    "/sys/fs/cgroup/kube/pod/gnb/cpu.max": "max 100000\n",
    "/sys/fs/cgroup/kube/pod/cpu.max": "150000 50000\n",
    "/sys/fs/cgroup/kube/cpu.max": "400000 100000\n",
}


GROUP_OUTSIDE = {
    "/proc/self/cgroup": "0::/other\n",
    "/proc/self/mountinfo": "31 20 0:2 /kube /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
    "/sys/fs/cgroup/cpu.max": "300000 100000\n",
}


@pytest.mark.parametrize(
    "files, cpus, period_us",
    [(GROUP_V1, 2.5, 100000), (GROUP_V2, 3.0, 50000), (GROUP_OUTSIDE, 3.0, 100000)],
    ids=["version 1 in a container", "version 2, of a group above", "outside of what is mounted"],
)
def test_the_tightest_quota_is_found(tmp_path, files, cpus, period_us):
    found = quota(machine_tree.tuned(tmp_path, files))
    assert found.cpus == cpus and found.period_us == period_us
    assert host.describe(system=System(tmp_path)).cores == 3


def test_a_quota_outside_of_what_a_namespace_shows_is_unknown(tmp_path):
    """Mounted from above the namespace, the folder is not the process's group."""
    for top, level, seen in (("/../..", "?", "not visible"), ("/", "good", "none that is visible here")):
        files = {name: text.replace("/docker/abc", "/") for name, text in GROUP_V1.items()}
        files["/proc/self/mountinfo"] = GROUP_V1["/proc/self/mountinfo"].replace("/docker/abc", top)
        files |= {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n"}
        files |= {"/proc/self/ns/cgroup": Path("cgroup:[4026532000]")}
        system = machine_tree.tuned(tmp_path / level, files)
        (found,) = (one for one in examine(Target(system, {2}), False) if one.check == "CPU quota")
        assert found.level.value == level and seen in found.seen


@pytest.mark.parametrize("text", ["max 100000\n", "-1 100000\n", "", "nonsense\n"])
def test_no_quota_is_no_limit(tmp_path, text):
    assert quota(machine_tree.tuned(tmp_path, {"/sys/fs/cgroup/user.slice/cpu.max": text})) is None


def test_a_tuned_machine_is_described(tmp_path):
    about = host.describe(system=machine_tree.tuned(tmp_path))
    assert (about.label, about.cpu, about.architecture) == ("Some CPU, 8 CPUs", "Some CPU", "x86_64")
    assert (about.cores, about.cores_online, about.mask, about.quota_cpus) == (8, 8, "0-7", None)
    assert (about.isolated, about.nohz_full, about.rcu_nocbs) == ("2-5", "2-5", "2-5")
    assert (about.preemption, about.virtual, about.rt_allowed) == ("rt", False, True)
    assert (about.governor, about.frequency_driver, about.idle_driver) == (
        "performance",
        "intel_pstate",
        "intel_idle",
    )
    states = [(state.name, state.exit_latency_us, state.disabled) for state in about.idle_states]
    assert states == [("POLL", 0, False), ("C1", 1, False), ("C6", 170, True)]
    assert (about.threads_per_core, about.rt_runtime_us, about.load) == (1, -1, 0.12)


def test_a_machine_is_told_from_another_of_its_model_and_is_not_traceable(tmp_path):
    first = machine_tree.tuned(tmp_path / "first")
    second = machine_tree.tuned(tmp_path / "second", {"/etc/machine-id": "f" * 32})
    ids = {host.describe(system=system).id for system in (first, second)}
    assert len(ids) == 2 and all(re.fullmatch("[0-9a-f]{8}", name) for name in ids)
    assert host.describe(system=first).id == host.describe("other label", first).id
    assert not any(name in machine_tree.TUNED["/etc/machine-id"] for name in ids)


DYNAMIC = "#1 SMP PREEMPT_DYNAMIC"


@pytest.mark.parametrize(
    "version, files, model",
    [
        ("#1 SMP PREEMPT_RT", {}, "rt"),
        ("#1 SMP PREEMPT RT", {}, "rt"),
        ("#1 SMP PREEMPT_LAZY", {}, "lazy"),
        (DYNAMIC, {"/sys/kernel/debug/sched/preempt": "none voluntary (full) lazy"}, "full"),
        (DYNAMIC, {"/proc/cmdline": "preempt=none"}, "none"),
        (DYNAMIC, {"/boot/config-6.8.0-rt": "CONFIG_PREEMPT_VOLUNTARY=y\n"}, "voluntary"),
        (DYNAMIC, {}, None),
        ("#1 SMP PREEMPT", {}, "full"),
        ("#1 SMP", {"/boot/config-6.8.0-rt": "# CONFIG_PREEMPT is not set\nCONFIG_PREEMPT_NONE=y\n"}, "none"),
    ],
)
def test_the_preemption_model_is_told(tmp_path, version, files, model):
    system = machine_tree.tuned(tmp_path, {"/proc/sys/kernel/version": version} | files)
    assert facts.preemption(system) == model


def test_the_kernels_own_configuration_is_read(tmp_path):
    system = machine_tree.tuned(tmp_path)
    system.path("/proc/config.gz").write_bytes(gzip.compress(b"CONFIG_HZ=250\n"))
    assert facts.kernel_config(system) == "CONFIG_HZ=250\n"


@pytest.mark.parametrize("file, cpus", [(None, None), ("(null)\n", None), ("\n", None), ("4\n", "4")])
@pytest.mark.parametrize("name", ["isolated", "nohz_full"])
def test_the_kernel_says_what_it_keeps_free(tmp_path, name, file, cpus):
    system = machine_tree.tuned(tmp_path, {f"{CPU}/{name}": file})
    assert format_cpus(getattr(facts, name)(system)) == (cpus or "")


@pytest.mark.parametrize(
    "words, files, cpus",
    [
        ("rcu_nocbs=2-N", {}, "2-7"),
        ("rcu_nocbs=all", {}, "0-7"),
        ("rcu_nocbs", {}, None),
        ("rcu_nocbs=2-5", {"/boot/config-6.8.0-rt": "CONFIG_HZ=250\n"}, None),
        ("rcu_nocbs=2-5", {f"{CPU}/nohz_full": "6\n"}, "2-6"),
    ],
)
def test_callbacks_are_elsewhere_as_far_as_can_be_told(tmp_path, words, files, cpus):
    system = machine_tree.tuned(tmp_path, {"/proc/cmdline": words, f"{CPU}/nohz_full": ""} | files)
    assert format_cpus(facts.rcu_nocbs(system)) == (cpus or "")


def _id(folder, changes):
    return host.identifier(machine_tree.tuned(folder, changes))


def test_machines_that_share_an_image_are_told_apart(tmp_path):
    changes = (
        {},
        {"/proc/cpuinfo": "model name: Other\n"},
        {f"{CPU}/online": "0-3\n"},
        {"/proc/sys/kernel/arch": "aarch64\n"},
        {"/etc/machine-id": "f" * 32},
    )
    ids = [_id(tmp_path / str(n), change) for n, change in enumerate(changes)]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("machine", [None, "\n", "uninitialized\n"])
def test_without_a_machine_id_the_boot_counts(tmp_path, machine):
    boot_id = "/proc/sys/kernel/random/boot_id"
    with_id = [_id(tmp_path / f"a{boot}", {boot_id: boot}) for boot in "12"]
    without = [_id(tmp_path / f"b{boot}", {boot_id: boot, "/etc/machine-id": machine}) for boot in "12"]
    assert with_id[0] == with_id[1] and len({*with_id, *without}) == 3


@pytest.mark.parametrize("refusal", [PermissionError, OSError(38, "not implemented"), OSError(22, "invalid")])
def test_a_refused_real_time_class_is_no_crash(monkeypatch, refusal):
    def refuse(*args):
        raise refusal

    monkeypatch.setattr(host.os, "sched_setscheduler", refuse)
    assert host.realtime_allowed() is False


def test_the_real_time_class_is_tried_at_oais_priority(monkeypatch):
    tried = []
    monkeypatch.setattr(host.os, "sched_setscheduler", lambda pid, policy, param: tried.append(param))
    assert host.realtime_possible(System()) and tried[0].sched_priority == 97
