# SPDX-License-Identifier: BSD-3-Clause
"""Programs that stand for nr_ulsim: recorded outputs, crashes, hangs, and builds that are none."""

import hashlib
import os
import re
import subprocess

import pytest
from fake import a_program, limit_when, printing
from part_runs import is_gone, until

from nrbench.sweep import process
from nrbench.sweep import simulator as simulator_of
from nrbench.sweep.record import Setting
from nrbench.sweep.simulator import BuildError, find, git


def take(folder, pool="new", cpus=None, **changes):
    simulator = find(folder, f"--{pool}")
    what = {"scenario": "s", "case": "c", "options": ("-P", "-C2"), "pool": pool, "threads": 2}
    setting = Setting(**what | {"program": simulator.build.sha256, "limit_s": 600.0} | changes)
    (taken,) = simulator_of.take({pool: simulator}, cpus, [setting])
    return taken


def test_a_run_gives_figures_costs_and_what_was_run(tmp_path):
    folder = a_program(tmp_path, printing("v2.3.0-new-2-layers.txt"))
    taken = take(folder)
    assert taken["status"] == "ok" and "error" not in taken
    assert taken["figures"]["rx_us"] > taken["figures"]["decoding_us"] > 0
    assert taken["wall_s"] > 0 and taken["cpu_s"] > 0 and taken["rss_mib"] > 1
    assert taken["build"].oai is None and taken["build"].pool.startswith("thread_pool_ws ")
    assert taken["build"].sha256 == hashlib.sha256((folder / "nr_ulsim").read_bytes()).hexdigest()[:12]
    assert taken["snr_db"] == 40


MEET = """
import time
cpus = sorted(os.sched_getaffinity(0))
open('came-' + '-'.join(map(str, cpus)), 'w').close()
while sum(name.startswith('came-') for name in os.listdir()) < 2:
    time.sleep(0.01)
"""


def test_runs_side_by_side_have_a_cpu_each_and_give_their_means(tmp_path):
    """None ends before all have begun."""
    before = os.sched_getaffinity(0)
    cpus = sorted(before)[:2]
    if len(cpus) < 2:
        pytest.skip("there is one CPU")
    alone = take(a_program(tmp_path / "alone", printing("v2.3.0-old-2-threads.txt")))
    folder = a_program(tmp_path / "a", MEET + printing("v2.3.0-old-2-threads.txt"))
    taken = take(folder, at_once=2)
    assert taken["status"] == "ok", taken["error"]
    assert {path.name for path in folder.glob("came-*")} == {f"came-{cpu}" for cpu in cpus}
    assert taken["figures"] == pytest.approx(alone["figures"]) and os.sched_getaffinity(0) == before
    assert taken["trials"] == 2 * alone["trials"] and taken["wall_s"] > 0


def test_one_of_several_that_fails_spoils_them_all(tmp_path):
    first = min(os.sched_getaffinity(0))
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one CPU")
    fall = f"if os.sched_getaffinity(0) != {{{first}}}: os.abort()\n"
    folder = a_program(tmp_path, fall + printing("v2.3.0-old-2-threads.txt"))
    taken = take(folder, at_once=2)
    assert (taken["status"], "figures" in taken) == ("crash", False)
    assert taken["error"].startswith("one of 2 at once: ended by SIGABRT")


@pytest.mark.parametrize(
    "body, status, error",
    [
        (
            "print('about to fall'); sys.stdout.flush(); os.abort()",
            "crash",
            "ended by SIGABRT. Last line: about",
        ),
        ("os.kill(os.getpid(), 36)", "crash", "ended by signal 36"),
        ("print('Unknown option'); sys.exit(3)", "failed", "exit status 3. Last line: Unknown option"),
        ("sys.exit(0)", "unparsable", "no SNR point was completed"),
        (
            "print('[LOADER] library libdfts.so is not loaded: no\\nbye'); sys.exit(1)",
            "failed",
            r"status 1. \[LOADER\] library libdfts.so is not loaded: no. Last line: bye",
        ),
        (
            "print('Assertion (lua) failed!\\nIn f() a.c:1\\nno script\\n\\nExiting at a.c:1'); sys.exit(1)",
            "failed",
            "status 1. It gave up: no script",
        ),
        (printing("v2.3.0-new-not-decoded.txt"), "failed", "not decoded: "),
        (printing("v2.3.0-new-killed.txt"), "unparsable", "interrupted|cut off|no SNR point"),
        (printing("v2.3.0-old-2-threads.txt", "sys.exit(1)"), "failed", "exit status 1 after its statistics"),
    ],
)
def test_a_run_that_fails_says_how(tmp_path, body, status, error):
    taken = take(a_program(tmp_path, body))
    assert taken["status"] == status
    assert re.search(error, taken["error"]), taken["error"]
    assert taken["build"] is not None and taken["wall_s"] > 0


def test_a_run_that_hangs_says_its_last_words_and_is_killed_with_its_children(tmp_path, monkeypatch):
    limit_when(monkeypatch, (tmp_path / "hangs").exists)
    body = (
        "import subprocess, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])\n"
        "print('child', child.pid, flush=True); open('hangs', 'w').close(); time.sleep(1000)"
    )
    taken = take(a_program(tmp_path, body), limit_s=3)
    said, _, child = taken["error"].rpartition(" ")
    assert (taken["status"], said) == ("hang", "no end within 3 s; killed. Last line: child")
    until(lambda: is_gone(int(child)))


def test_a_run_that_writes_without_end_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "FILE_MAX_BYTES", 1 << 20)
    body = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nwhile True: print('x' * 10000)"
    taken = take(a_program(tmp_path, body))
    assert taken["status"] == "failed" and taken["error"].startswith("it wrote more than ")


def test_a_library_beside_the_program_is_part_of_it(tmp_path):
    folder = a_program(tmp_path, "pass")
    before = find(folder, "--new").build.sha256
    (folder / "libldpc.so").write_bytes(b"one")
    between = find(folder, "--new").build.sha256
    (folder / "libldpc.so").write_bytes(b"two")
    assert len({before, between, find(folder, "--new").build.sha256}) == 3


def test_the_program_sees_its_folder_its_options_and_only_the_settings_of_the_sweep(tmp_path, monkeypatch):
    monkeypatch.setenv("TPOOL_WS_SPIN", "fixed:99")
    body = (
        "here = os.path.samefile(os.getcwd(), os.path.dirname(os.path.abspath(__file__)))\n"
        "mine = {k: v for k, v in os.environ.items() if k.startswith('TPOOL')}\n"
        "sys.exit(0 if (here, mine, options) == (True, {'TPOOL_WS_REPORT': '1'}, ['-P', '-C2']) else 9)"
    )
    taken = take(a_program(tmp_path, body), environment={"TPOOL_WS_REPORT": "1"})
    assert taken["status"] == "unparsable", taken["error"]


@pytest.mark.parametrize(
    "name, error",
    [
        ("absent", "no such file or folder"),
        (
            "empty",
            "it holds no nr_ulsim; build it: cmake --build .* --target nr_ulsim ldpc dfts params_libconfig",
        ),
        ("text/nr_ulsim", "not a program that may be run"),
        ("above", "it holds no nr_ulsim; --new .*/above/build does"),
    ],
)
def test_a_path_that_is_no_build_is_named(tmp_path, name, error):
    for folder in ("empty", "text"):
        (tmp_path / folder).mkdir()
    (tmp_path / "text" / "nr_ulsim").write_text("no program")
    a_program(tmp_path / "above" / "build", "")
    with pytest.raises(BuildError, match=f"--new {tmp_path / name}: {error}"):
        find(tmp_path / name, "--new")


def test_the_version_comes_from_the_sources_that_were_built(tmp_path):
    sources = tmp_path / "sources"
    sources.mkdir()
    for words in (
        ["init", "-q"],
        ["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "--allow-empty", "-m", "first"],
        ["tag", "v2.2.0"],
    ):
        subprocess.run(["git", "-C", str(sources), *words], check=True)
    folder = a_program(tmp_path / "build", "pass")
    (folder / "CMakeCache.txt").write_text(f"A:STRING=b\nCMAKE_HOME_DIRECTORY:INTERNAL={sources}\n")
    build = find(folder, "--old").build
    assert build.oai == "v2.2.0" and len(build.commit) == 40
    assert git(a_program(sources / "copy", ""), "rev-parse", "HEAD") is None
    assert find(folder / "nr_ulsim", "--old", oai="develop").build.oai == "develop"


def test_options_of_a_build_have_no_paths(tmp_path):
    folder = a_program(tmp_path / "build", "")
    cache = "CMAKE_BUILD_TYPE:STRING=Release\nCMAKE_C_COMPILER:FILEPATH=/opt/a/gcc\nAVX512:BOOL=OFF\n"
    (folder / "CMakeCache.txt").write_text(
        cache + "CMAKE_C_FLAGS:STRING=-O2 -I/opt/a\nCMAKE_CXX_FLAGS:STRING=\n"
    )
    options = {
        "AVX512": "OFF",
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_C_COMPILER": "gcc",
        "CMAKE_C_FLAGS": "-O2",
    }
    assert find(folder, "--new").build.options == options
