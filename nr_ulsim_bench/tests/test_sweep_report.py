# SPDX-License-Identifier: BSD-3-Clause
"""Files of a report, its page among them."""

import csv
from html.parser import HTMLParser

import pytest
from rich.console import Console
from sweep_runs import HOST, OTHER_HOST, at, build, rounds, run, sweep

from nrbench.record import ResultsError
from nrbench.sweep import report
from nrbench.sweep.report import report_files, write_report

pytestmark = pytest.mark.usefixtures("no_pictures")  # but in two_hosts
VOID = {"meta", "img", "br"}


class Page(HTMLParser):
    """Texts by element, references, and whether all elements are closed."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.references = []
        self.texts = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.references += [value for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        for tag in set(self.open):
            self.texts[tag] = self.texts.get(tag, "") + data


def read_page(folder):
    text = (folder / "report.html").read_text(encoding="utf-8")
    found = Page(text)
    assert found.open == []
    return text, found


@pytest.fixture(scope="module")
def two_hosts(tmp_path_factory):
    out = tmp_path_factory.mktemp("report") / "new folder"
    runs = sweep(cases=("273 PRB",), threads=(1, 4), repeats=5)
    bad = run("old", None, 4, repeat=9, status="hang", error="killed after 60 s", figures={})
    names = write_report([*runs, bad], out)
    return out, names


def test_all_files_are_written(two_hosts):
    out, names = two_hosts
    assert sorted(names) == sorted(path.name for path in out.iterdir())
    assert {"report.html", "report.txt", "results.csv", "runs.csv"} <= set(names)
    assert len([name for name in names if name.endswith(".png")]) == 2 + 1  # of the hosts side by side
    assert all((out / name).stat().st_size > 500 for name in names)


def test_the_page_needs_no_other_file(two_hosts):
    text, found = read_page(two_hosts[0])
    pictures = [reference for reference in found.references if not reference.startswith("#")]
    assert len(pictures) == 3
    assert all(reference.startswith("data:image/") for reference in pictures)
    assert "http" not in text and "@import" not in text and "url(" not in text
    assert len(text) < 3_000_000


def test_several_cases_of_several_hosts_are_linked(tmp_path):
    write_report(sweep(threads=(1,), repeats=1), tmp_path)
    text, found = read_page(tmp_path)
    anchors = {reference for reference in found.references if reference.startswith("#")}
    assert len(anchors) == 4 and all(f'id="{anchor[1:]}"' in text for anchor in anchors)


def test_the_page_says_it_first(two_hosts):
    _, found = read_page(two_hosts[0])
    body = found.texts["body"]
    order = (
        "Summary",
        "1 of 71 runs gave no result",
        "How it was measured",
        "Options",
    )
    places = [body.index(part) for part in order]
    assert places == sorted(places)
    assert "times as fast as old at 4 threads" in found.texts["ul"]
    assert "killed after 60 s" in found.texts["td"]
    for host in (HOST, OTHER_HOST):
        assert found.texts["h2"].count(host.label) == 2
    assert "C1 (2 µs), C6 (133 µs)" in found.texts["td"]
    assert "-m 28" in found.texts["td"]


def test_the_text_has_the_same_tables(two_hosts):
    text = (two_hosts[0] / "report.txt").read_text(encoding="utf-8")
    assert text.count("Whole RX, against old and the bound") == 2
    assert text.rindex("Summary") > text.rindex("gave no result")
    assert max(len(line) for line in text.splitlines()) <= 110


def test_all_runs_are_in_the_csv(two_hosts):
    with open(two_hosts[0] / "runs.csv", encoding="utf-8") as rows:
        assert len(list(csv.DictReader(rows))) == 71


def test_names_are_escaped(tmp_path):
    evil = "<script>alert(1)</script> & \"x\" 'y' é"
    host = HOST.model_copy(update={"label": evil})
    runs = [run("old", case=evil, host=host, options=(evil,)), run(evil, case=evil, host=host)]
    runs.append(run("new", "off", case=evil, host=host, status="failed", error=evil, figures={}))
    write_report(runs, tmp_path)
    text, found = read_page(tmp_path)
    assert "<script" not in text
    assert found.texts["td"].count(evil) >= 3
    assert evil in found.texts["h2"]
    assert evil in (tmp_path / "report.txt").read_text(encoding="utf-8")


def test_settings_do_not_make_a_program_another_one(tmp_path, capsys):
    """What the pool says of itself, and options such as the number of threads, go with the setting."""
    runs = [
        run(
            "new",
            "auto",
            threads,
            options=(f"-C{threads}",),
            build={"sha256": "1" * 12, "pool": f"{threads} workers"},
        )
        for threads in (1, 2)
    ]
    write_report(runs, tmp_path)
    assert "WARNING" not in capsys.readouterr().out
    _, found = read_page(tmp_path)
    assert "1 workers" in found.texts["td"] and found.texts["td"].count("-C<threads>") == 1


@pytest.mark.parametrize(
    "runs",
    [
        [run("new", "auto")],
        [run("old", status="missing", error="no such program", figures={})],
        [run("inline", None, 0)],
        rounds([10, 11, 12, 13, 14], "glib", kind="replay"),
    ],
    ids=["one run", "only failed", "only inline", "one pool of others"],
)
def test_little_is_enough(runs, tmp_path):
    assert "report.html" in write_report(runs, tmp_path)
    read_page(tmp_path)


def test_no_runs_are_an_error(tmp_path):
    with pytest.raises(ResultsError, match="no runs"):
        write_report([], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsError, match="file/out: Not a directory"):
        write_report([run()], tmp_path / "file" / "out")


def test_hosts_of_one_label_are_told_apart(tmp_path, capsys):
    twin = HOST.model_copy(update={"id": "99999999"})
    write_report([run(), run(host=twin)], tmp_path)
    shown = capsys.readouterr().out
    assert f"{HOST.label} ({HOST.id})" in shown and f"{HOST.label} (99999999)" in shown


def test_mixed_options_and_changed_hosts_are_reported(tmp_path, capsys):
    runs = [
        run(),
        run(repeat=1, options=("-m", "9")),
        run(repeat=2, host=HOST.model_copy(update={"governor": "powersave"})),
    ]
    write_report(runs, tmp_path)
    shown = " ".join(capsys.readouterr().out.split())  # lines are broken anywhere
    assert "2 different lists of options taken together: -m 28 | -m 9" in shown
    assert "frequency governor" in shown and "changed between runs (1 of them)" in shown
    _, found = read_page(tmp_path)
    assert "2 different lists of options taken together" in found.texts["p"]


def write_runs(path, runs):
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(map(runs)))
    return path


def rx_rows(out):
    with open(out / "results.csv", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["figure"] == "rx_us"]


def test_files_and_folders_are_taken_together_each_run_once(tmp_path, capsys):
    first = write_runs(tmp_path / "a.ndjson", rounds([100, 110], "old"))
    longer = write_runs(tmp_path / "b" / "runs.ndjson", rounds([100, 110, 120], "old"))
    other = write_runs(tmp_path / "c.ndjson", rounds([900], "old", host=OTHER_HOST))
    report_files([first, longer.parent, other], tmp_path / "out")
    shown = " ".join(capsys.readouterr().out.split())
    assert "runs.ndjson: 2 of its runs are there twice and count once" in shown
    assert [(row["host"], row["runs"], row["median"]) for row in rx_rows(tmp_path / "out")] == [
        (HOST.id, "3", "110"),
        (OTHER_HOST.id, "1", "900"),
    ]


def test_two_results_of_one_run_name_their_files(tmp_path):
    one = write_runs(tmp_path / "one.ndjson", [run()])
    other = write_runs(tmp_path / "other.ndjson", [run(figures={"rx_us": 1.0}, began=at(0))])
    with pytest.raises(ResultsError, match="one.ndjson and .*other.ndjson: two results of one run"):
        report_files([one, other], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_failed_runs_that_were_taken_again_are_no_failures_but_are_said(tmp_path, capsys):
    bad = run("old", status="hang", error="killed", figures={}, began=at(-600))
    write_report([bad, *rounds([100, 110], "old"), *rounds([50, 60])], tmp_path)
    shown = " ".join(capsys.readouterr().out.split())
    assert "gave no result" not in shown
    assert f"1 failed runs were taken again and no longer count: {HOST.label}, old, hang ×1" in shown
    assert [row["failed"] for row in rx_rows(tmp_path)] == ["0", "0"]


def test_versions_have_tables_of_their_own(tmp_path):
    runs = [
        run(pool, sweep=sweep * 12, build=build(pool, sweep * 12, oai), repeat=repeat)
        for sweep, oai in (("a", "v2.1.0"), ("b", "v2.3.0"))
        for pool in ("old", "new")
        for repeat in range(5)
    ]
    runs.append(runs[-1].model_copy(update={"repeat": 5, "status": "hang", "figures": {}}))
    names = write_report(runs, tmp_path)
    assert [name for name in names if name.endswith(".png")] == [
        f"Model-A-4-CPUs-slides-273-PRB-OAI-{oai}.png" for oai in ("v2.1.0", "v2.3.0")
    ]
    found = [(row["oai"], row["configuration"], row["variant"], row["runs"]) for row in rx_rows(tmp_path)]
    assert found == [
        (oai, f"OAI {oai}", pool, "5") for oai in ("v2.1.0", "v2.3.0") for pool in ("old", "new")
    ]
    text = (tmp_path / "report.txt").read_text(encoding="utf-8")
    assert f"{HOST.label}: slides / 273 PRB, OAI v2.3.0" in text
    assert "WARNING" not in text
    failures = text[text.index("gave no result") : text.index("Summary")]
    assert "OAI v2.3.0" in " ".join(failures.split())
    words = read_page(tmp_path)[1].texts["td"]
    assert words.count("slides / 273 PRB, OAI v2.3.0") == 3  # failures, and options of two pools


def test_changes_of_a_host_are_told_in_the_order_of_time(tmp_path, capsys):
    slow = HOST.model_copy(update={"governor": "powersave"})
    write_report([run(began=at(9)), run(repeat=1, host=slow, began=at(0))], tmp_path)
    shown = " ".join(capsys.readouterr().out.split())
    assert "frequency governor powersave / performance: changed between runs (1 of them)" in shown


def test_what_differs_within_a_table_is_said(tmp_path, capsys):
    runs = [run(snr_db=20.0), run(repeat=1, snr_db=21.5)]
    write_report(runs, tmp_path)
    shown = " ".join(capsys.readouterr().out.split())
    assert "2 different SNR (dB) taken together: 20 | 21.5" in shown


def test_a_report_is_written_before_it_is_shown(tmp_path, monkeypatch):
    def closed(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(Console, "print", closed)
    monkeypatch.setattr(report, "to_text", lambda shown: "text")  # it prints, too
    with pytest.raises(BrokenPipeError):
        write_report([run()], tmp_path)
    assert {"report.html", "report.txt", "results.csv", "runs.csv"} <= {
        path.name for path in tmp_path.iterdir()
    }


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "results.csv").mkdir()
    with pytest.raises(ResultsError, match="results.csv: Is a directory"):
        write_report([run()], tmp_path)


def test_the_page_tells_of_rounds_that_were_not_taken_in_one_go(tmp_path):
    runs = [*rounds([100, 110], "old"), *rounds([50, 60], began=at(3600))]
    write_report(runs, tmp_path)
    assert f"rounds not taken in one go2 on {HOST.label}" in read_page(tmp_path)[1].texts["tr"]
    write_report(rounds([100, 110], "old"), tmp_path)
    assert "rounds not taken in one go" not in read_page(tmp_path)[1].texts["tr"]


def test_bad_files_are_named(tmp_path):
    bad = tmp_path / "bad.ndjson"
    bad.write_text("{}\n")
    with pytest.raises(ResultsError, match="bad.ndjson:1: not a run"):
        report_files([bad], tmp_path / "out")
    bad.write_text("")
    with pytest.raises(ResultsError, match="bad.ndjson: holds no runs"):
        report_files([bad], tmp_path / "out")
    with pytest.raises(ResultsError, match="none.ndjson"):
        report_files([tmp_path / "none.ndjson"], tmp_path / "out")
    with pytest.raises(ResultsError, match="runs.ndjson: No such file"):
        report_files([tmp_path], tmp_path / "out")


def test_of_many_variants_a_terminal_gets_the_main_figure_and_the_files_get_all(tmp_path, capsys):
    pools = ("old", "glib", "asio", "eigen", "libuv", "openmp", "onetbb")
    runs = [one for pool in pools for one in rounds([100.0, 101.0, 99.0, 100.5, 99.5], pool)]
    write_report(runs, tmp_path)
    shown, kept = capsys.readouterr().out, (tmp_path / "report.txt").read_text()
    for title, everywhere in (("Whole RX, against", True), ("ULSCH decoding, against", False)):
        assert title in kept and (title in shown) is everywhere
    assert "in report.txt and report.html only" in shown and "report.html only" not in kept


def test_a_machine_that_was_busy_is_a_warning(tmp_path, capsys):
    write_report([run("new", host=HOST.model_copy(update={"load": 2.0}))], tmp_path)
    assert "WARNING" not in capsys.readouterr().out
    write_report([run("new", host=HOST.model_copy(update={"load": 2.1}))], tmp_path)
    assert "busy when the sweep began (load 2.1 on 8 CPUs)" in " ".join(capsys.readouterr().out.split())
