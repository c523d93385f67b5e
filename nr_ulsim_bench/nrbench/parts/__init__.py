# SPDX-License-Identifier: BSD-3-Clause
"""
The parts of the benchmark. A new part is a file here with three functions and one line, and an entry in
bench.NAMES:

    def plan(request: Request) -> Plan   # its steps: words for a program, labels of the answers; its rounds
    def report(results: Results)         # its tables, texts and verdicts
    def plots(results: Results)          # points in a long table, and which figures are axes and panels
    PART = Part("name", "what it measures", report, "the label of what fails", plan, plots=plots)

nrbench.engine does the rest: rounds in an order drawn anew, the text, the page, the pictures.
"""
