# SPDX-License-Identifier: BSD-3-Clause
"""The pools that can take part: how they are set hot or passive, and where to get one that is missing."""

from dataclasses import dataclass

OWN = "ws"
ALONE = "alone"
CLASSES = ("other", "rr", "rrall")  # of scheduling
FACADES = ("ws-task-manager", "ws-tpool", "ws-sched")

_PASSIVE = ("OMP_WAIT_POLICY=passive", "KMP_BLOCKTIME=0")
_ACTIVE = ("OMP_WAIT_POLICY=active", "GOMP_SPINCOUNT=infinite", "KMP_BLOCKTIME=infinite")


@dataclass(frozen=True)
class Backend:
    """A pool by the name of its module, with the environment of each mode that it has."""

    name: str
    install: str
    modes: tuple[tuple[str, tuple[str, ...]], ...] = (("default", ()),)
    settle_s: float = 0.1  # after its first slot until its figures no longer change
    part: str = ""  # that alone measures it, unless it is named

    def environment(self, mode: str) -> tuple[str, ...]:
        return dict(self.modes)[mode]


_FACADE = "this project: build the target thread_pool_ws_api"
_BUILT_IN = "part of this benchmark: build it"
_BY_OPTION = (("default", ()), ("hot", ()))
_BY_ENVIRONMENT = (("default", _PASSIVE), ("hot", _ACTIVE))

BACKENDS: tuple[Backend, ...] = (
    # pre-wake learns for 0.1 to 0.2 s; no other pool here learns anything
    Backend(OWN, "this project: build the target thread_pool_ws", _BY_OPTION, settle_s=0.5),
    *(Backend(name, _FACADE, part="coliseum") for name in FACADES),
    Backend(ALONE, _BUILT_IN),
    Backend("mutex-queue", _BUILT_IN),
    Backend("mutex-per-worker", _BUILT_IN),
    Backend("oai", "cmake -DWS_BENCH_OAI_DIR=<checkout of OAI>"),
    Backend("onetbb", "PyPI tbb and tbb-devel, or Debian libtbb-dev", _BY_OPTION),
    Backend("openmp-gcc", "Debian gcc", _BY_ENVIRONMENT),
    Backend("openmp-llvm", "Debian clang and libomp-dev", _BY_ENVIRONMENT),
    Backend("glib", "Debian libglib2.0-dev"),
    Backend("libuv", "Debian libuv1-dev"),
    Backend("cthreadpool", "Debian cthreadpool-dev, or cmake -DWS_BENCH_CTHREADPOOL_DIR=<checkout>"),
    Backend("asio", "Debian libboost-dev"),
    Backend("eigen", "Debian libeigen3-dev"),
    Backend("bs", "cmake -DWS_BENCH_BS_DIR=<checkout of bshoshany/thread-pool>"),
    Backend("taskflow", "cmake -DWS_BENCH_TASKFLOW_DIR=<checkout of taskflow/taskflow>"),
    Backend("forkunion", "cmake -DWS_BENCH_FORKUNION_DIR=<checkout of ashvardanian/ForkUnion>"),
    Backend("libfork", "cmake -DWS_BENCH_LIBFORK_DIR=<checkout of ConorWilliams/libfork>"),
    Backend("citor", "cmake -DWS_BENCH_CITOR_DIR=<checkout of Lallapallooza/citor>", _BY_OPTION),
    Backend("barrier", _BUILT_IN, part="wake"),  # of POSIX, on which all workers wait
    Backend("condition", _BUILT_IN, part="wake"),  # a condition variable, with a broadcast
    Backend("ocudu", "cmake -DWS_BENCH_OCUDU_DIR=<checkout of ocudu/ocudu>", _BY_OPTION),
)


@dataclass(frozen=True)
class Present:
    """A pool whose module could be loaded, with what it says about itself."""

    backend: Backend
    version: str
    waiter_helps: bool
    has_workers: bool
    nests: bool

    def fair_workers(self, cores: int) -> int:
        """Workers that make as many computing threads as there are cores; at least one."""
        return max(1, cores - 1) if self.waiter_helps else cores
