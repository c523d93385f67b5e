# SPDX-License-Identifier: BSD-3-Clause
"""A sweep that is interrupted, continued, disturbed: no run is lost and none is taken twice."""

import json
from collections import Counter
from dataclasses import replace

import pytest
from sweep_runs import HOST, run

from nrbench.sweep.record import Build, ResultsError, read_runs
from nrbench.sweep.session import Runner, Setting, Sweep, Writer, end_last_line, locked, put_aside

PROGRAM = "0123456789ab"
SETTINGS = [
    Setting("quick", "a case", ("-n9", f"-C{threads}"), pool, None, threads, program=PROGRAM)
    for pool in ("old", "new")
    for threads in (1, 2)
]


def fine(setting):
    return {"status": "ok", "build": Build(sha256=PROGRAM), "figures": {"rx_us": 1.5}}


def ran(sweep, path):
    runner = Runner(sweep, path)
    runner.run()
    return runner


def a_sweep(take=fine, settings=SETTINGS, repeats=3, sweep_id="aaaaaaaaaaaa"):
    repeated = [replace(setting, repeats=repeats) for setting in settings]
    return Sweep(sweep_id, "nr_ulsim", HOST, repeated, 1, take)


def interrupting(after):
    calls = []

    def take(setting):
        calls.append(setting)
        if len(calls) > after:
            raise KeyboardInterrupt
        return fine(setting)

    return take


def test_an_interrupted_sweep_goes_on_where_it_ended(tmp_path):
    path = tmp_path / "out" / "runs.ndjson"
    result = ran(a_sweep(interrupting(after=5)), path)
    assert result.interrupted and len(result.taken) == 5 and len(read_runs(path)) == 5
    rest = Runner(a_sweep(), path)
    assert len(rest.steps) == 7
    rest.run()
    assert not rest.interrupted and len(rest.taken) == 7 and len(rest.runs) == 12
    places = Counter((run.pool, run.threads, run.repeat) for run in read_runs(path))
    assert len(places) == 12 and set(places.values()) == {1}
    assert Runner(a_sweep(), path).steps == []


def test_a_line_that_was_cut_short_is_taken_again(tmp_path):
    path = tmp_path / "runs.ndjson"
    Runner(a_sweep(repeats=1), path).run()
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    runner = Runner(a_sweep(repeats=1), path)
    assert len(runner.steps) == 1
    runner.run()
    assert len(read_runs(path)) == 4 and all(json.loads(line) for line in path.read_text().splitlines())


def test_a_last_line_without_its_end_is_kept(tmp_path):
    path = tmp_path / "runs.ndjson"
    Runner(a_sweep(repeats=1), path).run()
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    Runner(a_sweep(repeats=2), path).run()
    assert len(read_runs(path)) == 8


def test_results_of_another_sweep_are_not_mixed_in(tmp_path):
    path = tmp_path / "runs.ndjson"
    Runner(a_sweep(), path).run()
    with pytest.raises(ResultsError, match="holds a sweep of another machine, other programs"):
        Runner(a_sweep(sweep_id="bbbbbbbbbbbb"), path)
    other = [Setting("quick", "a case", ("-n5", "-C1"), "old", None, 1, program=PROGRAM)]
    with pytest.raises(ResultsError, match="quick:a case was run with -n9 -C1 .*, not with -n5 -C1 "):
        Runner(a_sweep(settings=other), path)
    assert put_aside(path).name == "runs.1.ndjson" and not path.exists()
    Runner(a_sweep(sweep_id="bbbbbbbbbbbb"), path).run()
    assert put_aside(path).name == "runs.2.ndjson"


def test_what_fails_twice_is_left_out_and_the_rest_goes_on(tmp_path):
    def take(setting):
        hung = {"status": "hang", "error": "no end within 3 s"}
        return hung if setting.threads == 2 else fine(setting)

    result = ran(a_sweep(take, repeats=4), tmp_path / "runs.ndjson")
    states = Counter((run.threads, run.status) for run in result.runs)
    assert states == {(1, "ok"): 8, (2, "hang"): 4, (2, "missing"): 4}
    assert len(result.failed) == 8
    assert {run.error for run in result.runs if run.status == "missing"} == {
        "left out: 2 runs of it failed and none succeeded"
    }


@pytest.mark.parametrize(
    "line, error",
    [
        ("{}", "kind: Field required"),
        ('{"kind": 3', "not JSON"),
        ("[1]", "Input should be"),
    ],
)
def test_a_line_that_is_no_run_is_named(tmp_path, line, error):
    path = tmp_path / "runs.ndjson"
    Runner(a_sweep(repeats=1), path).run()
    path.write_text(path.read_text() + line + "\n" + "\n")
    with pytest.raises(ResultsError, match=rf"runs.ndjson:5: .*{error}"):
        read_runs(path)


@pytest.mark.parametrize(
    "change, error",
    [
        ({"threads": 2**64}, "threads: Input should be less than or equal to"),
        ({"repeat": 2**64}, "repeat: Input should be less"),
        ({"trials": 2**64}, "trials: Input should be less"),
        ({"figures": {"rx_us": 1e308}}, "figures.rx_us: Input should be less"),
        ({"wall_s": 1e308}, "wall_s: Input should be less"),
        ({"snr_db": float("nan")}, "snr_db: Input should be"),
        ({"host": HOST.model_dump() | {"load": 1e308}}, "host.load: Input should be less"),
        ({"host": HOST.model_dump() | {"quota_cpus": float("inf")}}, "host.quota_cpus: Input should be"),
        ({"a\x1b[2Jb": 1}, r"a\\x1b\[2Jb: Extra inputs are not permitted"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_values_that_no_table_can_show_are_named_with_their_line(tmp_path, change, error):
    path = tmp_path / "runs.ndjson"
    Runner(a_sweep(repeats=1), path).run()
    first, *rest = path.read_text().splitlines()
    path.write_text("\n".join([first, json.dumps(json.loads(first) | change), *rest]) + "\n")
    with pytest.raises(ResultsError, match=f"runs.ndjson:2: not a run of a sweep: {error}"):
        read_runs(path)


@pytest.mark.parametrize(
    "line, reason", [("[" * 200_000, "nested too deeply"), ('{"a": ' + "1" * 5000 + "}", "integer string")]
)
def test_a_line_that_json_cannot_take_is_named(tmp_path, line, reason):
    path = tmp_path / "runs.ndjson"
    path.write_text(line + "\n")
    with pytest.raises(ResultsError, match=f"runs.ndjson:1: not JSON: .*{reason}"):
        read_runs(path)
    path.write_text(line)  # it was being written
    assert read_runs(path) == []
    end_last_line(path)
    assert path.read_text() == ""


def test_what_a_terminal_would_obey_is_shown_as_an_escape():
    """Texts come from files that others send, and from what a program printed last."""
    host = HOST.model_copy(update={"label": "\x1b]0;title\x07 A\u202e\ud800 µ"})
    told = run(
        host=host.model_dump(), case="a\nb", status="failed", error="\x1b[31mred", environment={"A\x9b": "b"}
    )
    assert told.host.label == r"\x1b]0;title\x07 A\u202e\ud800 µ"
    assert (told.case, told.error, told.environment) == (r"a\nb", r"\x1b[31mred", {r"A\x9b": "b"})


def test_a_time_that_is_none_is_named_with_its_line(tmp_path):
    path = tmp_path / "runs.ndjson"
    Runner(a_sweep(repeats=1), path).run()
    line = json.loads(path.read_text().splitlines()[0])
    path.write_text(json.dumps(line | {"began": "noon"}) + "\n")
    with pytest.raises(ResultsError, match="runs.ndjson:1: not a run of a sweep: began: "):
        read_runs(path)
    path.write_text(json.dumps(line | {"figures": {"rx_us": -1}}) + "\n")
    with pytest.raises(ResultsError, match="runs.ndjson:1: not a run of a sweep: figures.rx_us: "):
        read_runs(path)


def test_results_that_are_not_there_are_named(tmp_path):
    with pytest.raises(ResultsError, match="absent.ndjson: No such file"):
        read_runs(tmp_path / "absent.ndjson")


def test_what_fails_now_and_then_is_not_left_out(tmp_path):
    count = Counter()

    def take(setting):
        count[setting] += 1
        return {"status": "crash", "error": "ended by SIGSEGV"} if count[setting] % 3 else fine(setting)

    result = ran(a_sweep(take, SETTINGS[:1], repeats=12), tmp_path / "runs.ndjson")
    assert Counter(run.status for run in result.runs) == {"crash": 2, "missing": 10}
    again = Runner(a_sweep(lambda setting: fine(setting), SETTINGS[:1], repeats=1), tmp_path / "runs.ndjson")
    again.run()
    count.clear()
    result = ran(a_sweep(take, SETTINGS[:1], repeats=12), tmp_path / "runs.ndjson")
    assert Counter(run.status for run in result.taken) == {"crash": 8, "ok": 3}


def test_one_sweep_at_a_time_writes_to_a_folder(tmp_path):
    with locked(tmp_path):
        with pytest.raises(ResultsError, match="another sweep is writing its results there"):
            with locked(tmp_path):
                pass
    with locked(tmp_path):
        pass


def test_a_full_disk_is_named_and_what_is_there_is_kept(tmp_path):
    path = tmp_path / "runs.ndjson"
    run = ran(a_sweep(repeats=1), path).runs[0]
    writer = Writer(path)
    writer.close()
    writer.out = open("/dev/full", "wb", buffering=0)
    with pytest.raises(ResultsError, match=f"{path}: No space left on device; the runs before are there"):
        writer.write(run)
    assert len(read_runs(path)) == 4


def test_each_run_is_in_the_file_before_the_next_begins(tmp_path):
    path = tmp_path / "runs.ndjson"
    seen = []

    def take(setting):
        seen.append(len(read_runs(path)))
        return fine(setting)

    Runner(a_sweep(take), path).run()
    assert seen == list(range(12))
