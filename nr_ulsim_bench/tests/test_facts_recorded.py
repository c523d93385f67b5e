# SPDX-License-Identifier: BSD-3-Clause
"""What results record of a machine."""

import json

import pytest
from made_up import HOST as RECORDED

from nrbench import facts, host
from nrbench.record import Host
from nrbench.sweep.facts import host_differences
from nrbench.system import System

HOST = Host.model_validate(RECORDED.model_dump(exclude={"clocksource"}) | {"governor": "performance"})


def test_what_a_machine_does_not_show_is_unknown(tmp_path):
    about = host.machine(System(tmp_path))
    known = set("cpu cores cores_online architecture kernel virtual idle_states mask load".split())
    assert {name for name, value in about.items() if value is not None} == known


@pytest.mark.parametrize(
    "said, name", [("Model: 1\nHypervisor vendor:   KVM\n", "kvm"), ("Model: 1\n", "xen")]
)
def test_the_hypervisor_has_a_name(tmp_path, monkeypatch, said, name):
    """The CPU is asked on the real machine only."""
    monkeypatch.setattr(facts, "answer", lambda program: said)
    monkeypatch.setattr(System, "text", lambda *_: "xen")
    assert facts.hypervisor(System()) == name and facts.hypervisor(System(tmp_path)) == "xen"


def test_every_kind_of_result_holds_the_same_facts():
    about = host.facts()
    assert set(host.machine(host.REAL)) <= set(about) & set(Host.model_fields)
    json.dumps(about)


def test_what_an_older_version_did_not_record_is_no_difference_between_hosts():
    now = HOST.model_copy(update={"clocksource": "tsc", "governor": "powersave"})
    assert host_differences(HOST, now) == ["frequency governor performance / powersave"]
    other = now.model_copy(update={"clocksource": "hpet"})
    assert host_differences(now, other) == ["clocksource tsc / hpet"]


def test_what_only_older_versions_recorded_is_ignored():
    older = HOST.model_dump() | {"command_line": "quiet", "smt": True}
    assert Host.model_validate(older) == HOST
