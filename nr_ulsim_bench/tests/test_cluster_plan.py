# SPDX-License-Identifier: BSD-3-Clause
"""Which host takes what, and what is said of hosts whose figures are doubtful."""

from itertools import product

import pytest
from sweep_runs import HOST

pytest.importorskip("distributed")

from nrbench.cluster import health  # noqa: E402
from nrbench.cluster.hosts import ClusterHost, one_each  # noqa: E402
from nrbench.cluster.parts import folder_name  # noqa: E402
from nrbench.cluster.shares import Shares, blocks_of  # noqa: E402
from nrbench.sweep.session import Setting


def a_host(name, about=None, **changes):
    description = HOST.model_dump(mode="json") | {"id": f"id-{name}"} | changes
    about = {"boot": name, "offset_s": 0.0, "nrbench": "c0ffee"} | (about or {})
    return ClusterHost(name, f"tcp://{name}", description, about)


SETTINGS = [
    Setting("s", case, ("-C",), pool, None, threads, repeats=3)
    for case, threads, pool in product(("x", "y"), (1, 2), ("old", "new"))
]


def left(done=lambda setting, repeat: False):
    return lambda host: blocks_of(SETTINGS, 1, done)


def taken(shares, host):
    while block := shares.next(host):
        yield block


def test_a_block_is_a_round_of_a_case_with_one_number_of_threads():
    blocks = [block for of_case in blocks_of(SETTINGS, 1, lambda *_: False).values() for block in of_case]
    assert len(blocks) == 2 * 2 * 3
    for block in blocks:
        assert {setting.pool for setting in block.settings} == {"old", "new"}
        assert len({(setting.case, setting.threads) for setting in block.settings}) == 1
    assert len({tuple(setting.pool for setting in block.settings) for block in blocks}) == 2  # drawn orders


def test_what_is_done_is_not_planned():
    found = blocks_of(SETTINGS, 1, lambda setting, repeat: repeat < 2 or setting.pool == "old")
    settings = [
        (block.repeat, one.pool) for blocks in found.values() for block in blocks for one in block.settings
    ]
    assert settings == [(2, "new")] * 4


@pytest.mark.parametrize(
    ("per", "counts"), [("host", [12, 12, 12]), ("class", [12, 0, 12]), ("any", [12, 0, 0])]
)
def test_each_scope_has_every_case_once(per, counts):
    hosts = [a_host("a"), a_host("b"), a_host("c", kernel="6.2.0")]
    shares = Shares(per, left())
    for host in hosts:
        shares.join(host, [("s", "x"), ("s", "y")], lambda *_: 0)
    assert [len(list(taken(shares, host))) for host in hosts] == counts


def test_rounds_follow_each_other_and_two_hosts_share_the_cases():
    a, b = a_host("a"), a_host("b")
    shares = Shares("any", left())
    for host in (a, b):
        shares.join(host, [("s", "x"), ("s", "y")], lambda *_: 0)
    first, second = shares.next(a), shares.next(b)
    assert {first.case, second.case} == {("s", "x"), ("s", "y")}
    rest = list(taken(shares, a))
    assert {block.case for block in rest} == {first.case}
    assert [block.repeat for block in rest] == sorted(block.repeat for block in rest)


def test_what_was_interrupted_comes_first_and_a_lost_hosts_cases_begin_anew_elsewhere():
    a, b = a_host("a"), a_host("b")
    shares = Shares("any", left())
    for host in (a, b):
        shares.join(host, [("s", "x")], lambda *_: 0)
    first = shares.next(a)
    shares.put_back("id-a", first)
    assert shares.next(a) == first
    assert shares.next(b) is None
    shares.release(a)
    assert len(list(taken(shares, b))) == 6


def test_after_an_interruption_a_case_goes_on_where_it_was():
    a, b = a_host("a"), a_host("b")
    shares = Shares("any", left())
    shares.join(a, [("s", "x")], lambda *_: 0)
    shares.join(b, [("s", "x")], lambda host, case: 3 if host == "id-b" else 0)
    assert shares.next(a) is None and shares.next(b)


def complaints(one, hosts, speeds=None, commit="c0ffee"):
    good = {"speed_s": 1.0, "throttled": False, "capped": False}
    speeds = {host.id: good for host in hosts} | (speeds or {})
    return dict(health.complaints(one, hosts, speeds, commit))


def test_good_hosts_give_no_complaint():
    hosts = [a_host("a"), a_host("b")]
    assert complaints(hosts[0], hosts) == {}


@pytest.mark.parametrize(
    ("kind", "about", "changes", "text"),
    [
        ("busy", {}, {"load": 7.5}, "a load of 7.5 on 8 CPUs"),
        ("clock", {"offset_s": -90.0}, {}, "its clock is -90 s from this machine's"),
        ("clock", {}, {"clocksource": "hpet"}, "clock source hpet; most have tsc"),
        ("kernel", {}, {"kernel": "5.4.0"}, "kernel 5.4.0; most have 6.1.0"),
        ("version", {"nrbench": None}, {}, "nrbench of an unknown commit; here it is c0ffee"),
    ],
)
def test_what_makes_figures_doubtful_is_named(kind, about, changes, text):
    others = [a_host(name, clocksource="tsc") for name in ("b", "c")]
    one = a_host("a", about, **({"clocksource": "tsc"} | changes))
    assert complaints(one, [one, *others])[kind] == text
    assert set(complaints(others[0], [one, *others])) == set()


def test_slow_and_throttled_hosts_are_named():
    hosts = [a_host(name) for name in ("a", "b", "c")]
    slow = {"id-a": {"speed_s": 1.6, "throttled": False, "capped": True}}
    found = complaints(hosts[0], hosts, slow)
    assert found["slow"] == "1.60 times as long for the same work as its class"
    assert found["throttled"] == "its CPUs may not run as fast as they can"
    assert "slow" not in complaints(hosts[1], hosts, slow)


def test_words_of_leave_out():
    assert health.leave_out_of(None) == frozenset()
    assert health.leave_out_of("busy, slow") == {"busy", "slow"}
    assert health.leave_out_of("all") == set(health.KINDS)
    with pytest.raises(ValueError, match="'ugly' is not one of busy"):
        health.leave_out_of("ugly")


def test_of_two_workers_on_a_machine_one_is_used():
    kept, said = one_each([a_host("b", {"boot": 1}, id="same"), a_host("a", {"boot": 1}, id="same")])
    assert [host.name for host in kept] == ["a"] and said == ["b: left out: the same machine as a"]


def test_hosts_whose_names_become_the_same_have_folders_of_their_own():
    names = ["a_b", "a/b", "a:b", "me@b", "..", "."]
    folders = [folder_name(a_host(name, id=f"{number}")) for number, name in enumerate(names)]
    assert folders == ["a_b", "a_b-1", "a_b-2", "me@b", "-4", "-5"]
