# SPDX-License-Identifier: BSD-3-Clause
"""Cases of which figures are published: these beside those that were measured here."""

from collections.abc import Iterator

from nrbench.render import Table, plain_columns
from nrbench.sweep.scenario import load, names
from nrbench.sweep.tables import case_name, main_cells, number
from nrbench.table import Frame


def published_tables(cells: Frame) -> Iterator[Table]:
    """One a host and scenario; a row a case and number of threads, a column a pool."""
    for (_, name), of in cells.groupby(["host", "scenario"], sort=False):
        scenario = load(str(name)) if name in names() else None
        if scenario is None or scenario.published is None:
            continue
        about, published = scenario.published, {case.name: case.published_us for case in scenario.cases}
        main = main_cells(of)
        variants = list(main["variant"].unique())
        rows = []
        for (_, threads), row in main.groupby(["number", "threads"]):
            median = dict(zip(row["variant"], row["median"]))
            here = (number(median.get(variant)) for variant in variants)
            first = row.iloc[0]
            rows.append([case_name(first), str(threads), *here, number(published.get(first["case"]))])
        cores, threads = of["cores"].max(), of["threads"].max()
        notes = [f"published: {about.source}, {about.cpu} with {about.cores} cores"]
        if cores <= threads:
            notes.append(f"{cores} CPUs here, too few for {threads} threads: the columns do not compare")
        columns = plain_columns("case", "threads", *variants, "published")
        title = f"{of['host_label'].iloc[0]}: whole slot, µs, beside published figures"
        yield Table(title, columns, rows, notes)
