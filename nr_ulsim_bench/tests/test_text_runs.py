# SPDX-License-Identifier: BSD-3-Clause
"""Figures of raw runs that are kept as text."""

import pytest

from nrbench import results
from nrbench.record import ResultsError

SCALING = """\
SIMULATED

v2.3.0_prb273_mcs25_l1.slots on a-1, simulated
  CPUs                          4     8
  ws: p50 us                    -  50.0
  mutex-per-worker: p50 us   90.0  80.0

v2.3.0_prb273_mcs25_l1.slots on b-2, simulated
  CPUs                          4     8
  ws: p50 us                 45.0  60.0
  mutex-per-worker: p50 us   90.0  80.0

Goals (simulated; ws)
  goal            machine  limit             holds at  worst
  tasks: x B2     a-1      1.10     met      4 of 4    1.05: 4x20, 8 CPUs
  tasks: x B2     b-2      1.10     NOT MET  3 of 4    1.20: 4x20, 4 CPUs
  empty: a task   a-1      50.0 ns  NOT MET  0 of 1    64.5 ns: empty, 8 CPUs
  every curve     a-1      +3 %     NOT MET  0 of 1    4x20, 4 to 8 CPUs +71 %

Does the curve turn up? (simulated)
  curve      machine  ws                 mutex-queue
  4x20       a-1      4 to 8 CPUs +5 %   no
  100x100    a-1      no                 4 to 8 CPUs +80 %
  12x6+22x28  a-1      4 to 8 CPUs +40 %  -
  "perhaps": the runs overlap.
"""
LIVES = """\
head

alone
  case  class
4x20  other      ws  2  100 %  0  1  1  1  1   50  0  0   80  0.3  0  0
4x20  other  ws hot  2  100 %  0  1  1  1  1   40  0  0   40  0.3  0  0
4x20     rr      ws  2  100 %  0  1  1  1  1  500  0  0  800  0.3  0  0
4x20     rr  ws hot  2  100 %  0  1  1  1  1    4  0  0    4  0.3  0  0

(b) busy
4x20  other      ws  2  100 %  0  1  1  1  1   90  0  0   80  0.3  0  0
4x20  other  ws hot  2  100 %  0  1  1  1  1  100  0  0  160  0.3  0  0
"""
NOISES = """\
AMD

noise           bursts  late   right %
long task 1/15    4500   113  99.3
pool beside      14999    53  94.9
stopped          14999   102 100.0
"""
PREWAKE = """\
Regret: cost of a slot
env     scenario  best  its cost  tuned  auto   off       ratio [95 %]  rounds  verdict
normal      gap2   120      18.4   20.9  20.8  73.3  0.99 [0.72, 1.61]  7 of 7      met
hog         slow    80      15.4   15.4  19.5  55.4  1.26 [0.79, 1.50]  7 of 7   missed
  ratio: auto / tuned

Lateness of the first tasks on the other CPUs, in µs.
env     scenario  slots  off p50  auto    %  off p99   auto     %  verdict  took  verdict    cpu
normal      gap2    336     56.5   1.5  -97    128.1   61.6   -52      met   1.7      met  +31.3
hog         slow    144     69.8   3.9  -94    322.6   39.4   +50   missed   0.8      met  +19.5
hog       steady    144     12.0   2.0  -94    322.6   39.4   -49   missed   0.8      met  +19.5
  met: p50 at least 70 %
"""
FILES = {
    "scaling-simulated": SCALING,
    "2-cores-lives": LIVES,
    "2-cores-noises": NOISES,
    "2-cores-pre-wake": PREWAKE,
}
MARKS = {
    "simulated_gain 8": "0.62 to 0.75",
    "simulated_most v2.3.0_prb273_mcs25_l1.slots | ws: p50 us": "60.0",
    "growth": "5 %",
    "goals": """
| goal | limit | worst |
|---|---|---|
| tasks: x B2 | 1.10 | 1.20: 4x20, 4 CPUs, b-2 |
| empty: a task | 50.0 ns | 64.5 ns: empty, 8 CPUs, a-1 |
""",
    "lives_p99 other": "1.25 to 2.00, and beside other programs 0.50 to 0.90",
    "right 95": "94.9 to 100.0 %. Below 95 %: *pool beside* 94.9 %",
    "right 90": "94.9 to 100.0 %. Below 90 %: none",
    "late_starts": "In 3 cases `off` starts the worker's first task 12.0 to 69.8 µs late (p50), and `auto` "
    "1.5 to 3.9 µs. p99 falls by half or more in 1 of them, and rises by half or more in 1.",
    "regret": "0.99 to 1.26, at most 1.1 in 1 of 2 cases; 95 % intervals: 0.72 to 1.61",
}


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_becomes_the_figures_of_its_report(tmp_path, mark):
    for name, text in FILES.items():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    begin = f"<!-- results: {mark} -->"
    assert (
        results.filled(f"{begin}?<!-- end -->", tmp_path).removeprefix(begin) == f"{MARKS[mark]}<!-- end -->"
    )


def test_a_report_without_the_table_is_an_error(tmp_path):
    (tmp_path / "2-cores-pre-wake.txt").write_text("Steps: none", encoding="utf-8")
    with pytest.raises(ResultsError, match="nothing begins with 'Regret:'"):
        results.filled("<!-- results: regret -->?<!-- end -->", tmp_path)


CONTEST = """\
head

Contest of 3 pools
case   pool  wall, s  this pool / it [95 %]
fib19  ws        1.5
fib19  a         3.0      0.50 [0.40, 0.60]
fib19  b         2.0                  0.750
"""


def test_headlines_stand_beside_those_of_the_sources(tmp_path):
    def row(here):
        (tmp_path / "sources.csv").write_text(f'headline,theirs,here,file\nfib,"1, 2 s","{here}",run.txt\n')
        return results.filled("<!-- results: headlines -->?<!-- end -->", tmp_path / "results")

    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "run.txt").write_text(CONTEST, encoding="utf-8")
    text = row("[Contest|fib19 ws|2] s, ÷ [Contest|fib19|3], [Contest|fib19 a|3]")
    assert "| [fib](results/run.txt) | 1, 2 s | 1.5 s, ÷ 0.50 to 0.75, 0.50 [0.40, 0.60] |" in text
    with pytest.raises(ResultsError, match="has no cell"):
        row("[Contest|fib19 c|2]")
