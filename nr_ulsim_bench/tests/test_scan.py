# SPDX-License-Identifier: BSD-3-Clause
"""The part scan: the size of the table, its report and verdicts on made-up rounds; ws-scan itself."""

import random

import pytest
from machine_tree import CPUS, tuned
from part_runs import ask, host

from nrbench.engine import Request
from nrbench.parts import scan
from nrbench.parts.scan import MIB, report, table_bytes, verdicts
from nrbench.stats import Results
from nrbench.system import CPU

needs_program = pytest.mark.program("ws-scan")
HOST = host(9, bytes=256 * MIB, block_bytes=MIB, passes=3, last_level_bytes=32 * MIB, note=None)
GB_PER_S = {"one": 10.0, "nodes": 10.0, "parallel": 18.0, "hints": 18.0, "read": 18.2}


def lines_of(measured=None, rounds=9, nodes=1, noise=0.005, **more):
    """One line for each case and round, alone; the steps with contention too."""
    jitter = random.Random(1)
    lines = []
    for number in range(rounds):
        for step, value in {**GB_PER_S, **(measured or {})}.items():
            for scanners in (1, 4) if step in ("one", "nodes", "parallel", "hints") else (1,):
                lines.append(
                    {"bench": "scan", "round": number, "step": step, "scanners": scanners, "threads": 2}
                    | {"nodes": nodes, "misplaced_blocks": 0, "bytes": 256 * MIB}
                    | {"gb_per_s": value * (1 + noise * jitter.uniform(-1, 1))}
                    | more
                )
    return [HOST, *lines]


def words_of(lines):
    return [verdict.split()[0] for verdict in verdicts(Results(lines))]


def test_equal_steps_and_the_bandwidth_of_the_memory_pass():
    assert words_of(lines_of()) == ["met", "met"]


def test_a_scan_that_is_slower_than_the_memory_misses():
    assert words_of(lines_of({"read": 22.0})) == ["met", "missed"]


def test_noise_and_few_rounds_leave_the_verdicts_open():
    assert words_of(lines_of({"read": 19.0}, noise=0.3)) == ["not known", "not known"]
    assert words_of(lines_of(rounds=4)) == ["not known", "not known"]


def test_on_several_nodes_hints_have_to_gain_something():
    assert words_of(lines_of({"hints": 20.0}, nodes=4))[0] == "met"
    assert words_of(lines_of({"hints": 16.0}, nodes=4))[0] == "missed"
    assert words_of(lines_of(nodes=4))[0] == "not known"


def test_the_report_has_all_tables():
    text = "\n".join(report(Results(lines_of())))
    for part in ("(a) one thread", "4 threads outside the pool", "no pool"):
        assert part in text
    assert "1.8" in next(line for line in text.splitlines() if line.startswith("(c) "))
    assert "Reported elsewhere" not in text and "note" not in text
    assert "(d) 4.5" in "\n".join(report(Results(lines_of(nodes=2))))


def test_errors_and_notes_are_named():
    lines = [HOST | {"note": "the table is small"}, {"bench": "scan", "round": 0, "error": "no"}]
    text = "\n".join(report(Results(lines)))
    assert "without a result: 1 times: ws-scan: no" in text
    assert "the table is small" in text and text.count("no result") == 2


def caches(l3="32768K"):
    """Each CPU has a cache of its own; four share one of the last level."""
    files = {}
    for cpu in range(CPUS):
        folder = f"{CPU}/cpu{cpu}/cache"
        shared = "0-3" if cpu < 4 else "4-7"
        for index, (level, size, cpus) in enumerate([(1, "32K", str(cpu)), (3, l3, shared)]):
            files |= {
                f"{folder}/index{index}/level": f"{level}\n",
                f"{folder}/index{index}/size": f"{size}\n",
                f"{folder}/index{index}/shared_cpu_list": f"{cpus}\n",
            }
    return files


def machine(tmp_path, free_kib, **files):
    return tuned(tmp_path, {**caches(**files), "/proc/meminfo": f"MemAvailable: {free_kib} kB\n"})


def test_all_caches_of_the_last_level_count(tmp_path):
    assert scan.last_level_bytes(machine(tmp_path, 1)) == 64 * MIB


@pytest.mark.parametrize(
    "free_gib, quick, l3, mib, noted",
    [
        (64, False, "32768K", 1024, False),
        (64, True, "32768K", 256, False),
        (64, True, "256M", 2048, False),  # four times both caches
        (1, True, "32768K", 128, True),
    ],
)
def test_the_table_is_larger_than_the_caches_if_memory_allows(tmp_path, free_gib, quick, l3, mib, noted):
    size, note = table_bytes(machine(tmp_path, free_gib << 20, l3=l3), quick)
    assert size == mib * MIB and (note is not None) == noted


def test_unknown_caches_are_noted(tmp_path):
    assert "not known" in table_bytes(tuned(tmp_path, {}), True)[1]


def test_each_round_has_a_seed_of_its_own(tmp_path):
    (tmp_path / "ws-scan").touch()
    steps = scan.plan(Request(tmp_path / "ws-bench", seed=3, rounds=3)).steps
    assert [step.words[-1] for step in steps] == ["seed=3000", "seed=3001", "seed=3002"]


@needs_program
@pytest.mark.parametrize("workers", [0, 1, 3])
def test_ws_scan_reads_each_block_in_every_case(workers):
    words = [f"bytes={7 * MIB}", "block_bytes=65536", "scanners=3", "passes=2", f"workers={workers}"]
    status, answers = ask("ws-scan", *words)
    assert status == 0 and len(answers) == 9
    assert not [answer for answer in answers if "error" in answer]
    assert all(answer["ns"] > 0 and answer["threads"] == workers + 1 for answer in answers)
    contended = [answer for answer in answers if answer["scanners"] == 3]
    assert len(contended) == 4 and all(answer["bytes"] == 3 * 7 * MIB for answer in contended)
