# SPDX-License-Identifier: BSD-3-Clause
"""Kernels with PREEMPT_RT: threads of class FIFO with the right to be it and without, beside others that hold
every CPU. Normal threads have a share of each CPU by throttling (Linux 6.1), by the fair server, or none."""

from __future__ import annotations

from labs.kind import Kind, Machine

LAB = "WS_TEST_DEADLINE_S=60 lab_rt"
WITHOUT = "WS_LAB_NICE=0 /bin/setpriv --bounding-set -sys_nice --inh-caps -sys_nice "
CLASSES = ("test_setup start", "test_setup pool", "test_fiber service", "test_record record")
RIGHTS = ("test_setup threads", "test_sleep", "test_page", "test_rt_memory", "test_rt_syscalls")
LONG = ("contract_task", "contract_fifo", "test_stress_joins")
WAKES = ("lab_wakes",)  # on which CPU a thread wakes, as in the simulated kernel
NEWER = ("linux-image-6.12-rt-amd64", "linux-image-rt-amd64")
FAIR = "/sys/kernel/debug/sched/fair_server"
EACH = "export WS_LAB_NICE=1 WS_LAB_SHARE="


def machine(
    name: str, share: int, tests: tuple[str, ...], setup: str = "", **others: tuple[str, ...]
) -> Machine:
    setup = f"mount -t debugfs debugfs /sys/kernel/debug; {setup}"
    return Machine(name, tests, kernel_options="tsc=reliable", setup=setup, each=f"{EACH}{share}", **others)


without = tuple(WITHOUT + test for test in ("lab_rt the_class_needs_the_capability_or_the_limit", *CLASSES))
KIND = Kind(
    "rt",
    (
        machine("throttled", 1, (LAB, *CLASSES, *RIGHTS, *LONG, *WAKES, *without)),
        machine("off", 0, (LAB,), "echo -1 >/proc/sys/kernel/sched_rt_runtime_us"),
        machine(
            "fair",
            1,
            (f"test -e {FAIR} || {{ echo this kernel has no fair server; exit 77; }}", LAB, *CLASSES, *WAKES),
            kernels=NEWER,
        ),
        machine("unfair", 0, (LAB,), f"for cpu in {FAIR}/cpu*; do echo 0 >$cpu/runtime; done", kernels=NEWER),
        machine("normal", 1, WAKES, kernels=("linux-image-cloud-amd64", "linux-image-amd64")),
    ),
    programs=tuple({test.split()[0] for test in ("lab_rt", *CLASSES, *RIGHTS, *LONG, *WAKES)}),
    tools=("setpriv",),
    kernels=("linux-image-rt-amd64",),
)
