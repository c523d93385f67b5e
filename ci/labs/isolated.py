# SPDX-License-Identifier: BSD-3-Clause
"""A machine with isolated CPUs, which have no timer tick while one thread runs there."""

from __future__ import annotations

from labs.kind import Kind, Machine

OPTIONS = "isolcpus=4-7 nohz_full=4-7 rcu_nocbs=4-7 irqaffinity=0-3 tsc=reliable"
TESTS = (
    "WS_TEST_DEADLINE_S=60 lab_isolated",
    "ws-ticks cpu=3 count=2000",
    "ws-ticks cpu=7 count=2000",
    "test_setup start",
    "test_setup topo",
    "test_setup threads",
    "test_sleep place",
    "test_tpool_cores",
    "contract_task",
)
KIND = Kind(
    "isolated",
    (
        Machine(
            "isolated", TESTS, kernel_options=OPTIONS, setup="echo -1 >/proc/sys/kernel/sched_rt_runtime_us"
        ),
    ),
    programs=("lab_isolated", "ws-ticks", "test_setup", "test_sleep", "test_tpool_cores", "contract_task"),
    kernels=("linux-image-rt-amd64", "linux-image-amd64"),
    cmake=("-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DWS_BENCH=ON"),
)
