# SPDX-License-Identifier: BSD-3-Clause
"""
The parts of the benchmark. A new part is a file here with three functions and one line, and an entry in
bench.NAMED:

    def plan(request: Request) -> Plan       # its steps: words for a program, labels of the answers
    def report(results: Results)             # the lines of its report; text.ending() writes the verdicts
    def draw(results: Results, out: Path)    # its plots, if it has any; @return their names
    PART = Part("name", report, plan, draw=draw)

nrbench.engine does the rest. Where more than steps is to be done, the Part has a measure() instead of a
plan().
"""
