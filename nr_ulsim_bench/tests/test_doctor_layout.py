# SPDX-License-Identifier: BSD-3-Clause
"""The layouts that the doctor proposes for made-up machines, and for this one."""

import json

import machine_tree
import pytest
from test_doctor_machines import doctor, files

from nrbench.doctor.layout import COMMAND, CONFIG, CONTAINER, KERNEL, UNIT
from nrbench.system import CPU

FLOAT = (CONFIG, "L1s: L1_rx_thread_core = -1; L1_tx_thread_core = -1;  RUs: ru_thread_core = -1;")


def siblings(*cores):
    return {f"{CPU}/cpu[{core}]/topology/thread_siblings_list": core for core in cores}


def machine(online, **more):
    return {"/proc/sys/kernel/osrelease": "6.8.0", f"{CPU}/online": online, **more}


# 6 performance cores with two threads each, 8 efficiency cores.
LAPTOP = machine("0-19") | siblings(*(f"{cpu}-{cpu + 1}" for cpu in range(0, 12, 2)))
LAPTOP |= {"/sys/devices/cpu_core/cpus": "0-11", "/sys/devices/cpu_atom/cpus": "12-19"}
# 2 sockets with 8 cores each, 2 threads a core: 16 and more are siblings. 10 Gb/s at the second one.
NET = "/sys/class/net"
SERVER = machine("0-31") | siblings(*(f"{cpu},{cpu + 16}" for cpu in range(16)))
SERVER |= {f"{CPU}/isolated": "2-7,10-15", "/proc/self/status": "Cpus_allowed_list:\t0-1,8-9,16-31\n"}
NODES = {"node0": "0-7,16-23", "node1": "8-15,24-31"}
SERVER |= {f"/sys/devices/system/node/{node}/cpulist": cpus for node, cpus in NODES.items()}
SERVER |= {f"{NET}/{name}/{file}": text for name, about in {"eth0": (1000, 0), "eth1": (10000, 1)}.items()
           for file, text in (("speed", f"{about[0]}"), ("device/numa_node", f"{about[1]}"))}  # fmt: skip
SERVER |= {f"{NET}/eth1/device/msi_irqs/{irq}": "msix" for irq in (40, 41)} | {f"{NET}/lo/speed": "99999"}
CONTAINER_25 = machine("0-7") | {"/proc/self/cgroup": "0::/\n", "/proc/self/mountinfo": machine_tree.MOUNTS}
CONTAINER_25 |= {"/sys/fs/cgroup/cpu.max": "250000 100000\n"}
CASES = {
    "laptop": (LAPTOP, 3, [
        (COMMAND, "--thread-pool 6,8,10"),
        (CONFIG, "L1s: L1_rx_thread_core = 4; L1_tx_thread_core = 4;"),
        (CONFIG, "RUs: ru_thread_core = 2;"),
        (CONFIG, "RUs: num_tp_cores = 3; tp_cores = (6, 8, 10);"),
        (UNIT, "AllowedCPUs=0-2,4,6,8,10,12-19"),
        (UNIT, "CPUAffinity=0-1,12-19"),
        (CONTAINER, "docker run --cpuset-cpus 0-2,4,6,8,10,12-19"),
        (KERNEL, "boot: isolcpus=managed_irq,domain,2-11 irqaffinity=0-1,12-19"),
    ]),
    "server": (SERVER, 8, [
        (COMMAND, "--thread-pool 12,13,14,15"),
        (CONFIG, "L1s: L1_rx_thread_core = 11; L1_tx_thread_core = 11;"),
        (CONFIG, "RUs: ru_thread_core = 10;"),
        (CONFIG, "RUs: num_tp_cores = 4; tp_cores = (12, 13, 14, 15);"),
        (UNIT, "AllowedCPUs=0-1,8-25"),
        (UNIT, "CPUAffinity=0-1,8-9,16-25"),
        (CONTAINER, "docker run --cpuset-cpus 0-1,8-25"),
        (KERNEL, "for i in 40 41; do echo 8-9,24-25 > /proc/irq/$i/smp_affinity_list; done"),
        (KERNEL, "boot: isolcpus=managed_irq,domain,2-7,10-15,26-31 irqaffinity=0-1,8-9,16-25"),
    ]),
    "container": (CONTAINER_25, 4, [
        (COMMAND, "--thread-pool -1,-1"), FLOAT, (UNIT, "CPUQuota="), (UNIT, "AllowedCPUs=0-2"),
        (CONTAINER, "docker run --cpuset-cpus 0-2  # without --cpus"),
    ]),
    "two CPUs": (machine("0-1"), 4, [
        (COMMAND, "--thread-pool -1,-1"), FLOAT, (UNIT, "AllowedCPUs=0-1"),
        (CONTAINER, "docker run --cpuset-cpus 0-1  # without --cpus"),
    ]),
}  # fmt: skip
REASONS = {
    "laptop": ["all performance cores", "Their siblings 3,5,7,9,11 get no thread"],
    "server": ["of the isolated CPUs 2-7,10-15", "on node1, which has the card eth1",
               "Asked: 8; beside RU and L1 no more isolated"],
    "container": ["Asked: 4; the quota is 2.5 CPUs"],
    "two CPUs": ["here: 1.", "Asked: 4; there are 2 CPUs"],
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_layout_of_a_machine(tmp_path, name):
    made, workers, expected = CASES[name]
    machine_tree.write(tmp_path, files(made))
    text, done = (doctor("--root", tmp_path, "--layout", workers, *more) for more in ((), ("--json",)))
    assert (text.exit_code, done.exit_code) == (0, 0), text.output
    lines = json.loads(done.output)
    found = [(line["where"], line["line"]) for line in lines if "--tuned" not in line["line"]]
    assert found == expected
    assert all(f"{line['line']}\n" in text.output and line["why"] for line in lines)
    assert [reason for reason in REASONS[name] if reason not in lines[0]["why"]] == []


def test_a_layout_of_this_machine():
    done = doctor("--layout", 2)
    assert done.exit_code == 0 and done.output.count("--thread-pool ") == 1
