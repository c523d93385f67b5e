# SPDX-License-Identifier: BSD-3-Clause
"""The drop-in: taken by systemd-analyze verify, and its effect on a unit as systemd itself computes it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from deploykit import DEPLOY, MODES, TESTS, check_variables, run, tool, variants

DROP_IN = (DEPLOY / "oai-gnb.service.d" / "thread_pool_ws.conf").read_text()
UNIT = (TESTS / "oai-gnb.service").read_text()
MANAGERS = ("/lib/systemd/systemd", "/usr/lib/systemd/systemd")
# What the unit of the tests has, and what it has with the drop-in.
BEFORE = {
    "AllowedCPUs": "0-1",
    "CPUAffinity": "0-1",
    "AmbientCapabilities": "cap_net_admin",
    "EnvironmentFile": "/etc/default/gnb",
    "RestrictRealtime": "yes",
    "LimitRTPRIO": "0",
    "LimitMEMLOCK": "65536",
}
AFTER = {
    "CPUQuotaPerSecSec": "infinity",
    "RestrictRealtime": "no",
    "LimitRTPRIO": "99",
    "LimitMEMLOCK": str(2**64 - 1),
    "AmbientCapabilities": "cap_net_admin cap_sys_nice",
    "AllowedCPUs": "2-5",
    "CPUAffinity": None,
    "EnvironmentFile": "/etc/default/gnb /etc/oai/thread_pool_ws.env",
    "Environment": "TZ=Europe/Paris",
    "LimitNOFILE": "4096",
}
BOUNDING = "#CapabilityBoundingSet=CAP_SYS_NICE\n"


def install(folder: Path, name: str, drop_in: str | None, unit: str = UNIT) -> None:
    """A unit below a folder that every user may read, and its drop-in."""
    folder.mkdir()
    (folder / name).write_text(unit)
    if drop_in is not None:
        (folder / f"{name}.d").mkdir()
        (folder / f"{name}.d" / "thread_pool_ws.conf").write_text(drop_in)
    for path in (folder, *folder.parents):
        if path.owner() == folder.owner() and path.stat().st_uid == os.getuid() and path != Path("/"):
            path.chmod(path.stat().st_mode | 0o055)


def verify(folder: Path, name: str) -> str:
    """What systemd-analyze finds wrong; it warns of unknown names without a failure."""
    if tool("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed: apt install systemd")
    checked = run(["systemd-analyze", "verify", name], {"SYSTEMD_UNIT_PATH": f"{folder}:"})
    words = [line for line in checked.stderr.splitlines() if str(folder) in line or name in line]
    assert words or checked.returncode == 0, checked.stderr
    return "\n".join(words)


@pytest.mark.parametrize("name", ["oai-gnb.service", "nr-softmodem.service"])
def test_systemd_accepts_the_drop_in_with_each_line(tmp_path: Path, name: str) -> None:
    for number, text in enumerate(variants(DROP_IN)):
        install(tmp_path / str(number), name, text)
        assert verify(tmp_path / str(number), name) == ""


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("LimitRTPRIO=", "LimitRTPRI="),
        ("AllowedCPUs=2-5", "AllowedCPUs=2-x"),
        ("EnvironmentFile=/etc", "EnvironmentFile=etc"),
        ("CPUQuota=", "CPUQuota=fast"),
        ("[Service]", "[Servic]"),
    ],
)
def test_systemd_refuses_a_broken_drop_in(tmp_path: Path, right: str, wrong: str) -> None:
    assert right in DROP_IN
    install(tmp_path / "units", "oai-gnb.service", DROP_IN.replace(right, wrong))
    assert "thread_pool_ws.conf" in verify(tmp_path / "units", "oai-gnb.service")


def effective(folder: Path) -> dict[str, str]:
    """The unit's properties, from the test mode of systemd's manager, which is not for root."""
    manager = tool(*MANAGERS)
    if manager is None:
        pytest.skip("systemd is not installed: apt install systemd")
    if os.getuid() == 0 and tool("setpriv") is None:
        pytest.skip("systemd's test mode does not run as root, and there is no setpriv")
    drop = (
        ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"] if os.getuid() == 0 else []
    )
    dump = run(
        [*drop, manager, "--test", "--system", "--unit=oai-gnb.service"],
        {"SYSTEMD_UNIT_PATH": f"{folder}:", "SYSTEMD_PAGER": ""},
    )
    unit = re.search(
        r"^\t-> Unit oai-gnb\.service:\n(.*?)(?=^\t-> Unit |\Z)", dump.stdout, re.MULTILINE | re.DOTALL
    )
    if unit is None:
        pytest.skip(f"systemd's test mode does not work here: {dump.stderr.strip()[-120:]}")
    found: dict[str, str] = {}
    for key, value in re.findall(r"^\s+(\w+): (.*?)\s*$", unit[1], re.MULTILINE):
        found[key] = f"{found[key]} {value}" if key in found else value
    return found


def test_what_the_drop_in_does_to_a_unit(tmp_path: Path) -> None:
    install(tmp_path / "before", "oai-gnb.service", None)
    install(tmp_path / "after", "oai-gnb.service", DROP_IN)
    before, after = effective(tmp_path / "before"), effective(tmp_path / "after")
    assert before["CPUQuotaPerSecSec"].startswith("1.5")
    assert {name: before.get(name) for name in BEFORE} == BEFORE
    assert {name: after.get(name) for name in AFTER} == AFTER


def test_a_bounding_set_of_the_unit_needs_the_line_in_the_comment(tmp_path: Path) -> None:
    """It is a comment, because a unit without a set of its own would lose all other capabilities."""
    assert BOUNDING in DROP_IN
    line_on = DROP_IN.replace(BOUNDING, BOUNDING.removeprefix("#"))
    bounded = UNIT + "CapabilityBoundingSet=CAP_NET_ADMIN\n"
    cases = {"off": (DROP_IN, bounded), "on": (line_on, bounded), "needless": (line_on, UNIT)}
    sets = {}
    for case, (drop_in, unit) in cases.items():
        install(tmp_path / case, "oai-gnb.service", drop_in, unit)
        sets[case] = effective(tmp_path / case)["CapabilityBoundingSet"]
    assert sets == {"off": "cap_net_admin", "on": "cap_net_admin cap_sys_nice", "needless": "cap_sys_nice"}


def test_each_variable_of_the_drop_in_holds() -> None:
    modes = set()
    for line in DROP_IN.splitlines():
        found = re.match(r"#Environment=(\w+)=(\S+)$", line)
        if found is not None:
            modes.add(check_variables({found[1]: found[2]}))
    assert modes == MODES
