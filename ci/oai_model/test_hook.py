# SPDX-License-Identifier: BSD-3-Clause
"""The hook (cmake_targets/thread_pool_ws.cmake) on models of OAI's build, from configure to a run's result.

Environment: WS_CMAKES = more cmake programs to try, a name a line: "<label>=<path>"; a line "<label>=" is a
version that could not be installed, and its tests are skipped.
"""

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet
from oai_model.model import HOOK, POOL, REPO, append, assemble, assemble_unknown, replace

INCLUDE = "CMAKE_PROJECT_OpenAirInterface_INCLUDE"
ADDRESS = ["-DCMAKE_C_FLAGS=-fsanitize=address", "-DCMAKE_CXX_FLAGS=-fsanitize=address"]
SECONDS_MAX = 1000
PROVIDER = "libthread_pool_ws_lttng.so.0"
# The target that holds the pool in the model of each shape.
TARGETS = {"A": "UTIL", "B1": "thread-pool", "B2": "thread-pool", "B2+": "thread-pool"}
# Trees of shape B2+ whose headers have more, and the definitions that the hook makes of that.
EXTRAS = {"B2+": set(), "B2+ newest": {"WS_OAI_PUSH_BATCH"}, "B2+ profile": {"WS_OAI_TASK_PROFILE"}}
CMAKES = dict(line.split("=", 1) for line in os.environ.get("WS_CMAKES", "").splitlines() if "=" in line)


def run(command: list[str], folder: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | variables
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=SECONDS_MAX, env=environment
    )


@dataclass
class Build:
    """A build folder of a model tree."""

    tree: Path
    folder: Path
    cmake: str = "cmake"
    log: str = field(default="", init=False)

    def configure(self, *options: str, fails: bool = False) -> "Build":
        """Returns itself; log has what cmake said, on one line: cmake breaks lines as it likes."""
        done = run([self.cmake, "-G", "Ninja", "-S", str(self.tree), "-B", str(self.folder), *options])
        self.log = " ".join((done.stdout + done.stderr).split())
        assert (done.returncode != 0) == fails, (options, self.log)
        return self

    def with_hook(self, *options: str, hook: Path = HOOK, lttng: str = "OFF", fails: bool = False) -> "Build":
        """Whether this machine has LTTng must not matter: tests of tracepoints say ON or AUTO."""
        lttng_option = f"-DTHREAD_POOL_WS_LTTNG={lttng}"
        return self.configure(f"-D{INCLUDE}={hook}", lttng_option, *options, fails=fails)

    def make(self, *targets: str) -> str:
        done = run([self.cmake, "--build", str(self.folder), *(("--target", *targets) if targets else ())])
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def result(self, **variables: str) -> tuple[str, str]:
        """What the program prints, and what it says on stderr."""
        done = run([str(self.folder / "softmodem")], self.folder, **variables)
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr

    def ours(self) -> bool:
        """Whether the program's pool and its callers' headers are ours; fails when it is half and half."""
        self.make()
        _, said = self.result()
        headers = set(re.findall(r"has the pool's (\w+) header", said))
        names = run(["nm", str(self.folder / "softmodem")]).stdout
        signs = {
            "symbol": " ws_pool_create" in names,
            "start log": bool(re.search(r"^thread_pool_ws .*shape", said, re.MULTILINE)),
            "headers": headers == {"shadow"},
        }
        assert len(headers) == 1 and len(set(signs.values())) == 1, (signs, headers)
        return signs["symbol"]

    def cache(self) -> str:
        """The cache without what names this folder."""
        return (self.folder / "CMakeCache.txt").read_text().replace(str(self.folder), "<build>")


NewBuild = Callable[..., Build]
Results = dict[str, str]


@pytest.fixture
def new_build(tmp_path: Path) -> NewBuild:
    def make(shape: str, name: str = "build", cmake: str = "cmake") -> Build:
        tree = tmp_path / f"oai-{shape}"
        return Build(tree if tree.exists() else assemble(shape, tree), tmp_path / name, cmake)

    return make


@pytest.fixture(scope="session")
def own_results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What the models print with their own pool."""
    results = {}
    for shape in ("A", "B1", "B2"):
        top = tmp_path_factory.mktemp("own")
        build = Build(assemble(shape, top / "oai"), top / "build").configure()
        assert not build.ours()
        results[shape] = build.result()[0]
    return results


# Not in the gate: builds of the library for what differs by an option, and other versions of CMake.
full = pytest.mark.full


def of_full(*values: str) -> list[ParameterSet]:
    return [pytest.param(value, marks=full) for value in values]


def cmake_called(label: str) -> str:
    if label != "system" and not CMAKES.get(label):
        pytest.skip(f"cmake {label} is not installed")
    return CMAKES.get(label, "cmake")


@pytest.mark.parametrize(
    ("shape", "label"),
    [(shape, "system") for shape in TARGETS]
    + [pytest.param(shape, other, marks=full) for shape in ("A", "B2") for other in ("oldest", "newest")],
)
def test_same_result_with_our_pool(new_build: NewBuild, own_results: Results, shape: str, label: str) -> None:
    build = new_build(shape, cmake=cmake_called(label)).with_hook()
    assert f"shape {shape}," in build.log and f"in target {TARGETS[shape]} " in build.log
    assert build.ours()
    assert build.result()[0] == own_results[shape.rstrip("+")]
    assert f"shape {shape}," in build.result()[1]


@full
def test_element_layout_is_the_trees(new_build: NewBuild) -> None:
    """measurement_display reads elements as bytes and keeps the tree's own header."""
    build = new_build("A").with_hook()
    assert build.ours()
    tree_says = run([str(build.folder / "measurement_display")]).stdout
    assert tree_says and tree_says in build.result()[0]


@pytest.mark.parametrize("label", ["system", *of_full("oldest")])
def test_switching_on_and_back_leaves_nothing(new_build: NewBuild, label: str) -> None:
    cmake = cmake_called(label)
    build, untouched = new_build("B2", cmake=cmake), new_build("B2", "untouched", cmake=cmake)
    build.configure()
    untouched.configure()
    assert not build.ours()
    for _ in range(2):
        build.configure(f"-D{INCLUDE}={HOOK}")
    assert build.ours()
    assert "version" in build.make("thread_pool_ws_report")
    build.configure(f"-U{INCLUDE}")
    assert "thread_pool_ws" not in build.log
    assert not build.ours()
    assert build.cache() == untouched.cache()
    report = [build.cmake, "--build", str(build.folder), "--target", "thread_pool_ws_report"]
    assert run(report).returncode != 0


def test_the_build_follows_the_headers(new_build: NewBuild) -> None:
    """Another version checked out in the same tree configures anew."""
    build = new_build("B2").with_hook()
    append(build.tree / POOL / "thread-pool.h", "\nint get_tpool_worker_index(void);\n")
    assert "shape B2+" in build.make("thread_pool_ws_report")


@full
@pytest.mark.parametrize("shape", ["A", "B2"])
def test_spaces_in_all_paths(tmp_path: Path, shape: str) -> None:
    top = tmp_path / "a folder"
    build = Build(assemble(shape, top / "the tree"), top / "the build")
    (top / "the project").symlink_to(REPO)
    hook = top / "the project" / HOOK.relative_to(REPO)
    build.with_hook(hook=hook)
    assert build.ours()


@full
@pytest.mark.parametrize("shape", ["A", "B2"])
def test_address_sanitizer(new_build: NewBuild, own_results: Results, shape: str) -> None:
    build = new_build(shape).with_hook(*ADDRESS)
    assert build.ours()
    assert build.result()[0] == own_results[shape]


def lttng_found() -> bool:
    return run(["pkg-config", "--atleast-version=2.13", "lttng-ust"]).returncode == 0


@pytest.mark.skipif(not lttng_found(), reason="lttng-ust 2.13 is not installed: apt install liblttng-ust-dev")
@pytest.mark.parametrize("shape", ["A", "B2", *of_full("B1", "B2+")])
def test_tracepoints(new_build: NewBuild, own_results: Results, shape: str) -> None:
    build = new_build(shape).with_hook(lttng="ON")
    assert f"in target {TARGETS[shape]}, LTTng tracepoints" in build.log
    assert build.ours()
    assert "lttng" not in run(["ldd", str(build.folder / "softmodem")]).stdout
    for value, loaded in (("0", False), ("1", True)):  # the provider lies beside the program
        result, said = build.result(TPOOL_WS_TRACE=value, LD_DEBUG="files", LTTNG_UST_REGISTER_TIMEOUT="0")
        assert (f"calling init: {build.folder}/{PROVIDER}" in said) == loaded
        assert result == own_results[shape.rstrip("+")]
    _, said = build.result(TPOOL_WS_TRACE="maybe")
    assert 'TPOOL_WS_TRACE="maybe": unknown value (known: 0, 1)' in said
    build.with_hook()
    assert "THREAD_POOL_WS_LTTNG is off" in build.log and ", LTTng tracepoints" not in build.log
    assert build.ours()
    assert "lttng" not in run(["ldd", str(build.folder / "softmodem")]).stdout


def test_unknown_shape_stops(tmp_path: Path) -> None:
    build = Build(assemble_unknown(tmp_path / "oai"), tmp_path / "build").with_hook(fails=True)
    assert "unknown shape" in build.log and str(tmp_path / "oai" / POOL) in build.log
    assert "task_ans.h: there, with: task_t init_task_ans" not in build.log
    assert "task_ans.h: there, with: init_task_ans" in build.log
    assert f"without -D{INCLUDE}" in build.log


@full
@pytest.mark.parametrize("tree", EXTRAS)
def test_what_the_newest_headers_have(new_build: NewBuild, tree: str) -> None:
    """Told by content: the same shape, with definitions for what our headers and sources must offer."""
    own = new_build(tree, "own").configure()
    assert not own.ours()
    build = new_build(tree).with_hook("-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
    assert "Warning" not in build.log
    assert "shape B2+," in build.log
    commands = (build.folder / "compile_commands.json").read_text()
    assert set(re.findall(r"-D(WS_OAI_\w+)=1", commands)) == EXTRAS[tree]
    assert build.ours()
    assert build.result()[0] == own.result()[0]
    assert re.findall(r"len_thr \d+", build.result()[1]) == re.findall(r"len_thr \d+", own.result()[1])


def test_what_we_lack_is_named(new_build: NewBuild) -> None:
    build = new_build("B2").with_hook()
    assert "Warning" not in build.log
    batch = "pushTpool_batch(tpool_t *pool, task_t *tasks, int n);"
    text = f"\nvoid pushTpool_later(tpool_t *pool, task_t task);\nvoid {batch}\n"
    append(build.tree / POOL / "thread-pool.h", text)
    member = ("} task_t;", "  int weight; /* of it; */\n} task_t;")
    replace(build.tree / POOL / "task.h", (member,))
    build.with_hook()
    assert "has pushTpool_later(), which thread_pool_ws does not have" in build.log
    assert f"has {batch} thread_pool_ws supports" in build.log and "WS_OAI_PUSH_BATCH" not in build.log
    assert 'has the member "int weight", which' in build.log


def test_two_targets_with_the_pool_stop(new_build: NewBuild) -> None:
    build = new_build("B2")
    pool = "target_sources(UTIL PRIVATE ${OPENAIR_DIR}/common/utils/threadPool/thread-pool.c)\n"
    append(build.tree / "CMakeLists.txt", pool)
    build.with_hook(fails=True)
    assert "exactly one of the targets" in build.log and "but 2 do" in build.log


@pytest.mark.parametrize("label", ["system", *of_full("oldest")])
def test_no_target_with_the_pool_stops(new_build: NewBuild, label: str) -> None:
    build = new_build("B2", cmake=cmake_called(label))
    replace(build.tree / POOL / "CMakeLists.txt", (("thread-pool.c task_ans.c", "other.c"),))
    (build.tree / POOL / "other.c").write_text("")
    build.with_hook(fails=True)
    assert "but 0 do" in build.log


def test_included_too_late_stops(new_build: NewBuild) -> None:
    build = new_build("A")
    append(build.tree / "CMakeLists.txt", f'include("{HOOK}")\n')
    build.configure(fails=True)
    assert "included too late" in build.log and f"-D{INCLUDE}={HOOK}" in build.log


def test_included_before_project_stops(new_build: NewBuild) -> None:
    build = new_build("A").configure(f"-D{INCLUDE}_BEFORE={HOOK}", fails=True)
    assert f"-D{INCLUDE}={HOOK}" in build.log


def test_as_a_script_stops() -> None:
    done = run(["cmake", "-P", str(HOOK)])
    assert done.returncode != 0
    assert "hooks into project(OpenAirInterface)" in " ".join(done.stderr.split())


def test_in_a_subdirectory_stops(new_build: NewBuild, tmp_path: Path) -> None:
    build = new_build("A")
    top = tmp_path / "super"
    top.mkdir()
    text = "cmake_minimum_required(VERSION 3.16)\nproject(Super C CXX)\n"
    text += f'add_subdirectory("{build.tree}" oai)\n'
    (top / "CMakeLists.txt").write_text(text)
    build.tree = top
    build.with_hook(fails=True)
    assert "is a subdirectory" in build.log


def test_the_version_names_the_commit(new_build: NewBuild) -> None:
    build = new_build("B2").with_hook()
    found = re.search(r"thread_pool_ws: version (\S+) replaces", build.log)
    header = HOOK.parents[1] / "common/utils/thread_pool_ws/include/ws_version.h"
    held = re.findall(r"#define WS_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header.read_text())
    git = ["git", "-C", str(HOOK.parent.parent)]
    commit = run([*git, "rev-parse", "--short=7", "HEAD"])
    prefix = run([*git, "rev-parse", "--show-prefix"])  # of a copy inside another project's checkout
    named = commit.returncode == 0 and prefix.stdout.strip() == ""
    assert found and len(held) == 3
    assert found[1].removesuffix(".dirty") == ".".join(held) + (f"+{commit.stdout.strip()}" if named else "")
