# SPDX-License-Identifier: BSD-3-Clause
"""`nrbench run --cluster`: parts of ci/bench on each host."""

import pytest

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

from cluster_tools import lab, nrbench  # noqa: E402
from part_runs import PROGRAMS  # noqa: E402

from nrbench import bench  # noqa: E402
from nrbench.cluster import lanes  # noqa: E402

pytestmark = pytest.mark.alone


@pytest.mark.program("ws-bench")
def test_each_host_takes_a_part_once(tmp_path, monkeypatch):
    reported = []
    monkeypatch.setattr(bench, "report_again", reported.append)
    monkeypatch.setattr(lanes, "LOOK_S", 0.2)
    out = tmp_path / "out"
    words = (
        "run",
        "--program",
        PROGRAMS / "ws-bench",
        "--only",
        "slot",
        "--quick",
        "--rounds",
        "1",
        "--backends",
        "ws,glib",
    )
    with lab(tmp_path, "a", "b") as made:
        answer = nrbench(*words, "--out", out, "--cluster", made.address)
        assert answer.exit_code == 0, answer.output
        assert reported == [out / "a", out / "b"]
        texts = [(folder / "results.ndjson").read_text() for folder in reported]
        assert all(text.count("\n") > 2 for text in texts) and texts[0] != texts[1]
        assert "nothing left to do" in nrbench(*words, "--out", out, "--cluster", made.address).output


def test_a_program_that_fails_is_named_and_not_done(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "report_again", lambda _: None)
    monkeypatch.setattr(lanes, "LOOK_S", 0.2)
    program = tmp_path / "ws-bench"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    words = ("run", "--program", program, "--only", "slot", "--out", tmp_path / "out")
    with lab(tmp_path, "a") as made:
        for _ in range(2):
            answer = nrbench(*words, "--cluster", made.address)
            assert answer.exit_code == 1 and "nrbench: a: slot: exit status 2: " in answer.output
