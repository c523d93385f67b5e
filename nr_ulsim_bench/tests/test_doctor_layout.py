# SPDX-License-Identifier: BSD-3-Clause
"""The layouts that the doctor proposes for made-up machines, and for this one."""

import json
import sys
from pathlib import Path

import machine_tree
import pytest
from test_doctor_machines import doctor, is_golden

from nrbench.doctor.layout import COMMAND, CONFIG, CONTAINER, KERNEL, UNIT, Layout
from nrbench.system import CPU, System


def siblings(*cores):
    return {f"{CPU}/cpu[{core}]/topology/thread_siblings_list": core for core in cores}


def machine(online, **more):
    about = {"/proc/sys/kernel/osrelease": "6.8.0", "/proc/cpuinfo": "model name\t: Some CPU\n"}
    return about | {f"{CPU}/online": online, **more}


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
CONTAINER_25 = machine("0-7") | {
    "/proc/self/cgroup": "0::/\n",
    "/proc/self/mountinfo": machine_tree.TUNED["/proc/self/mountinfo"],
}
CONTAINER_25 |= {"/sys/fs/cgroup/cpu.max": "250000 100000\n"}
# The same server without isolation. The card of the fronthaul is DPDK's, that of the management the kernel's.
CARD, OTHERS = "/sys/bus/pci/devices/0000:98:00.0", "/sys/bus/pci/devices/0000:17:00.0"
DPDK = {name: text for name, text in SERVER.items() if not name.startswith((NET, f"{CPU}/isolated"))}
DPDK |= {"/proc/self/status": "Cpus_allowed_list:\t0-31\n", f"{NET}/eno1/device/numa_node": "0"}
DPDK |= {f"{CARD}/class": "0x020000", f"{CARD}/numa_node": "1", f"{CARD}/driver": Path("/drivers/vfio-pci")}
DPDK |= {f"{OTHERS}/class": "0x120000", f"{OTHERS}/driver": Path("/drivers/vfio-pci")}  # an accelerator
SET = machine("0-7") | {"/proc/self/cgroup": "0::/\n", "/proc/self/status": "Cpus_allowed_list:\t2-7\n"}
SET |= {"/proc/self/mountinfo": machine_tree.TUNED["/proc/self/mountinfo"]}
SET |= {"/sys/fs/cgroup/cpuset.cpus.effective": "2-7\n"}
MACHINES = {  # with the number of workers that is asked for
    "dpdk": (DPDK, 4),
    "far": (DPDK | {f"{CPU}/isolated": "2-7,12"}, 2),
    "set": (SET, 6),
    "laptop": (LAPTOP, 3),
    "server": (SERVER, 8),
    "container": (CONTAINER_25, 4),
    "two-cpus": (machine("0-1"), 4),
}


@pytest.mark.parametrize("name", MACHINES)
def test_a_layout_of_a_machine(tmp_path, monkeypatch, name):
    """The whole text, of which the lines were worked out by hand; each has its reason."""
    monkeypatch.setattr(sys, "argv", ["/opt/nrbench", *sys.argv[1:]])
    made, workers = MACHINES[name]
    machine_tree.write(tmp_path, machine_tree.of_cpus(made))
    text, done = (doctor("--root", tmp_path, "--layout", workers, *more) for more in ((), ("--json",)))
    assert (text.exit_code, done.exit_code) == (0, 0), text.output
    is_golden(f"layout-{name}.txt", text.output)
    lines = json.loads(done.output)
    assert all(f"{line['line']}\n" in text.output and line["why"] for line in lines)
    assert {line["where"] for line in lines} <= {COMMAND, CONFIG, CONTAINER, KERNEL, UNIT}


@pytest.mark.parametrize("cpuset, workers, rest", [("0-7", "5,6", "0-1"), ("2-7", "6,7", "2")])
def test_threads_that_may_run_on_isolated_cpus_only_are_pinned(tmp_path, cpuset, workers, rest):
    """The kernel spreads no threads over them: floating ones would share a CPU."""
    files = SET | {f"{CPU}/isolated": "2-7", "/sys/fs/cgroup/cpuset.cpus.effective": cpuset}
    machine_tree.write(tmp_path, files)
    lines = {line.line for line in Layout(System(tmp_path), 2).lines()}
    assert {f"--thread-pool {workers}", f"CPUAffinity={rest}"} <= lines


def test_a_mask_counts_as_a_set_where_no_control_group_is_visible(tmp_path):
    machine_tree.write(tmp_path, {name: text for name, text in SET.items() if "cgroup" not in name})
    assert Layout(System(tmp_path), 4).lines()[0].line == "--thread-pool -1,-1,-1,-1"


def test_a_layout_of_this_machine():
    done = doctor("--layout", 2)
    assert done.exit_code == 0 and done.output.count("--thread-pool ") == 1
