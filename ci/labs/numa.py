# SPDX-License-Identifier: BSD-3-Clause
"""Machines with several NUMA nodes. The tests are told which nodes they must find."""

from __future__ import annotations

from labs.kind import Kind, Machine

TESTS = ("lab_numa", "test_setup topo", "test_setup observer", "test_classes nodes", "test_parallel scan")
Node = tuple[str, int]  # its CPUs ("" = it has memory only), MiB


def machine(name: str, nodes: list[Node], distances: dict[tuple[int, int], int]) -> Machine:
    with_cpus = [cpus for cpus, _ in nodes if cpus]
    qemu = ["-smp", str(int(with_cpus[-1].split("-")[-1]) + 1), "-m", str(sum(mib for _, mib in nodes))]
    for number, (cpus, mib) in enumerate(nodes):
        qemu += ["-object", f"memory-backend-ram,id=memory{number},size={mib}M"]
        of_node = f"nodeid={number},memdev=memory{number}"
        qemu += ["-numa", f"node,{of_node},cpus={cpus}" if cpus else f"node,{of_node}"]
    for (one, other), distance in distances.items():
        qemu += ["-numa", f"dist,src={one},dst={other},val={distance}"]
    expected = f"transparent_hugepage=always WS_LAB_NODES={len(nodes)} WS_LAB_CPU_NODES={len(with_cpus)}"
    return Machine(name, TESTS, tuple(qemu), expected)


RING = {(0, 1): 20, (1, 2): 20, (2, 3): 20, (0, 3): 20, (0, 2): 30, (1, 3): 30}
KIND = Kind(
    "numa",
    (
        machine("one", [("0-7", 1024)], {}),
        machine("two", [("0-3", 512), ("4-7", 512)], {(0, 1): 20}),
        machine("four", [("0-1", 256), ("2-3", 256), ("4-5", 256), ("6-7", 256)], RING),
        machine("memory", [("0-2", 384), ("3-5", 384), ("", 256)], {(0, 1): 20, (0, 2): 30, (1, 2): 17}),
    ),
    programs=("lab_numa", "test_setup", "test_classes", "test_parallel"),
)
