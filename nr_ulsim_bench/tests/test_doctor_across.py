# SPDX-License-Identifier: BSD-3-Clause
"""The doctor on all hosts of a cluster: of made-up answers, and by a real scheduler on the loopback."""

import io
import json
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from rich.console import Console
from test_doctor_report import examine

from nrbench.doctor import across
from nrbench.system import CPU


def answer(kernel="6.1.0", governor="performance", nrbench="abc", findings=(), quiet="yes"):
    machine = {"cpu": "Model A", "cores": 4, "kernel": kernel, "governor": governor}
    listed = [
        {"area": "Power", "check": check, "level": level, "checked": True, "seen": seen}
        for check, level, seen in findings
    ]  # fmt: skip
    return {"host": machine, "findings": listed, "quiet": {"answer": quiet, "reasons": []},
            "nrbench": nrbench, "python": "3.11.2"}  # fmt: skip


class Fake:
    """Its hosts answer at once; each look at a clock takes 10 ms."""

    def __init__(self, offset_s=None, **answers):
        self.answers, self.offset_s, self.asked = answers, offset_s or {}, []
        self.hosts = [SimpleNamespace(name=name) for name in answers]
        self.time_s = 1000.0

    def now(self):
        self.time_s += 0.01
        return self.time_s

    def run_on(self, host, function, *arguments):
        self.asked.append((host.name, function))
        future, found = Future(), self.answers[host.name]
        if isinstance(found, Exception):
            future.set_exception(found)
        elif function is across.clock_here:
            future.set_result(self.time_s + 0.005 + self.offset_s.get(host.name, 0.0))
        else:
            future.set_result(found)
        return future

    def examined(self):
        return across.examine(self, False, self.now)


def shown(hosts):
    console = Console(width=120, record=True, file=io.StringIO(), color_system=None)
    across.show(console, hosts)
    return console.export_text()


def test_every_host_is_asked_before_the_first_answer_is_awaited():
    fake = Fake(a=answer(), b=answer(), c=answer())
    fake.examined()
    assert fake.asked[:3] == [(name, across.examine_here) for name in "abc"]


def test_equal_hosts_have_no_differences():
    hosts = Fake(a=answer(), b=answer()).examined()
    assert list(across.differences(hosts)) == [] and across.status_of(hosts) == 0
    assert across.finding_rows(hosts) == []
    assert [across.host_row(one)[0] for one in hosts] == ["a", "b"]


def test_each_difference_is_named_with_its_hosts():
    hosts = Fake(
        {"c": 2.5}, a=answer(), b=answer(kernel="6.8.0"), c=answer(governor="powersave", nrbench="def")
    ).examined()
    assert list(across.differences(hosts)) == [
        "kernel differs: 6.1.0 (a, c); 6.8.0 (b)",
        "governor differs: performance (a, b); powersave (c)",
        "nrbench differs: abc (a, b); def (c)",
        "clock differs: c is +2.5 s from this machine; run NTP there",
    ]


@pytest.mark.parametrize("offset_s, is_off", [(0.05, False), (-0.05, False), (0.2, True), (-0.2, True)])
def test_a_clock_is_off_by_more_than_the_question_took(offset_s, is_off):
    (one,) = Fake({"a": offset_s}, a=answer()).examined()
    assert one.offset_s == pytest.approx(offset_s) and one.clock_is_off == is_off


def test_a_finding_of_several_hosts_is_one_row_and_the_worst_comes_first():
    slow, quota = ("boost", "warn", "off"), ("quota", "bad", "10 %")
    fake = Fake(a=answer(findings=[slow]), b=answer(findings=[slow, quota]), c=answer(findings=[slow]))
    hosts = fake.examined()
    assert across.finding_rows(hosts) == [
        ["bad", "quota", "10 %", "b"],
        ["warn", "boost", "off", "all hosts"],
    ]
    assert across.status_of(hosts) == 1
    assert [across.host_row(one)[-4:] for one in hosts][1] == ["1", "1", "0", "yes"]


def test_a_host_that_fails_is_named_and_costs_no_other_one():
    hosts = Fake(a=answer(), b=OSError("worker is gone")).examined()
    assert [one.error for one in hosts] == ["", "OSError: worker is gone"]
    assert across.status_of(hosts) == 1
    text = shown(hosts)
    assert "b: not examined: OSError: worker is gone" in text
    assert "quiet enough to measure? yes 1, failed 1 (of 2 hosts)" in text


def test_the_table_has_a_row_a_host_and_the_json_all_findings():
    hosts = Fake(a=answer(), b=answer(kernel="6.8.0", findings=[("boost", "note", "off")])).examined()
    text = shown(hosts)
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    assert rows["a"][1:] == "Model A 4 6.1.0 performance 0 abc 0 0 0 yes".split()
    assert rows["b"][1:] == "Model A 4 6.8.0 performance 0 abc 0 0 1 yes".split()
    about = json.loads(across.to_json(hosts))
    assert [one["name"] for one in about["hosts"]] == ["a", "b"] and len(about["differences"]) == 1
    assert about["hosts"][1]["findings"][0]["check"] == "boost"


@pytest.mark.parametrize("words", [("--apply",), ("--cpus", "2"), ("--undo", "file")])
def test_across_hosts_it_only_examines(words):
    done = examine("--cluster", "ssh:hosts.txt", *words)
    assert done.exit_code == 2 and "--cluster examines only" in done.output


def test_a_cluster_that_is_none_is_told():
    done = examine("--cluster", "http://a:1")
    assert done.exit_code == 2 and "--cluster http://a:1: not " in done.output


@pytest.mark.alone
def test_real_workers_are_examined_at_once(tmp_path):
    """Two processes behind a scheduler, each on a made-up machine; one has another governor and kernel."""
    pytest.importorskip("distributed")
    from cluster_tools import lab

    with lab(tmp_path, "a") as made:
        changed = {f"{CPU}/cpu{cpu}/cpufreq/scaling_governor": "powersave\n" for cpu in range(8)}
        made.worker("b", **changed, **{"/proc/sys/kernel/osrelease": "6.12.0\n"})
        made.wait_for_workers(2)
        done = examine("--cluster", made.address, "--quick", "--json")
    about = json.loads(done.stdout)
    assert [one["name"] for one in about["hosts"]] == ["a", "b"]
    assert any(text.startswith("kernel differs: ") for text in about["differences"])
    assert "governor differs: performance (a); powersave (b)" in about["differences"]
    assert all(one["error"] is None and len(one["findings"]) > 20 for one in about["hosts"])
