# SPDX-License-Identifier: BSD-3-Clause
"""The drop-in: taken by systemd-analyze verify, and its effect on a unit as systemd itself computes it."""

import os
import re
from pathlib import Path

import pytest
from deploykit import DEPLOY, MODES, TESTS, check_pool, need, run, variants

DROP_IN = (DEPLOY / "oai-gnb.service.d" / "thread_pool_ws.conf").read_text()
UNIT = (TESTS / "oai-gnb.service").read_text()
# What the unit of the tests has, and what it has with the drop-in.
EFFECT = {
    "AllowedCPUs": ("0-1", "2-5"),
    "CPUAffinity": ("0-1", None),
    "CPUQuotaPerSecSec": ("1.5s", "infinity"),
    "AmbientCapabilities": ("cap_net_admin", "cap_net_admin cap_sys_nice"),
    "EnvironmentFile": ("/etc/default/gnb", "/etc/default/gnb /etc/oai/thread_pool_ws.env"),
    "Environment": ("TZ=Europe/Paris", "TZ=Europe/Paris"),
    "RestrictRealtime": ("yes", "no"),
    "LimitRTPRIO": ("0", "99"),
    "LimitMEMLOCK": ("65536", str(2**64 - 1)),
    "LimitNOFILE": ("4096", "4096"),
}
BOUNDING = "#CapabilityBoundingSet=CAP_SYS_NICE\n"


def install(folder: Path, drop_in: str = "", unit: str = UNIT, name: str = "oai-gnb.service") -> None:
    """A unit below a folder that every user may read, and its drop-in."""
    (folder / f"{name}.d").mkdir(parents=True)
    (folder / name).write_text(unit)
    (folder / f"{name}.d" / "thread_pool_ws.conf").write_text(drop_in)
    for path in (folder, *folder.parents):
        if path.stat().st_uid == os.getuid() and path != Path("/"):
            path.chmod(path.stat().st_mode | 0o055)


def verify(folder: Path, name: str) -> list[str]:
    """What systemd-analyze finds wrong; it warns of unknown names without a failure."""
    need("systemd-analyze")
    checked = run("systemd-analyze", "verify", name, SYSTEMD_UNIT_PATH=f"{folder}:")
    words = [line for line in checked.stderr.splitlines() if str(folder) in line or name in line]
    assert words or checked.returncode == 0, checked.stderr
    return words


@pytest.mark.parametrize("name", ["oai-gnb.service", "nr-softmodem.service"])
def test_systemd_accepts_the_drop_in_with_each_line_and_no_broken_one(tmp_path: Path, name: str) -> None:
    broken = DROP_IN.replace("LimitRTPRIO=", "LimitRTPRI=")
    for number, text in enumerate([broken, *variants(DROP_IN)]):
        install(tmp_path / str(number), text, name=name)
        assert bool(verify(tmp_path / str(number), name)) == (text == broken)


def effective(folder: Path) -> dict[str, str]:
    """The unit's properties, from the test mode of systemd's manager, which is not for root."""
    need("/lib/systemd/systemd")
    command = "/lib/systemd/systemd --test --system --unit=oai-gnb.service".split()
    if os.getuid() == 0:
        command = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", *command]
    dump = run(*command, SYSTEMD_UNIT_PATH=f"{folder}:", SYSTEMD_PAGER="")
    unit = re.search(r"^\t-> Unit oai-gnb\.service:\n(.*?)(?=^\t-> Unit |\Z)", dump.stdout, re.M | re.S)
    if unit is None:
        pytest.skip(f"systemd's test mode does not work here: {dump.stderr.strip()[-120:]}")
    found: dict[str, str] = {}
    for key, value in re.findall(r"^\s+(\w+): (.*?)\s*$", unit[1], re.MULTILINE):
        found[key] = f"{found[key]} {value}" if key in found else re.sub(r"0*s$", "s", value)
    return found


def test_what_the_drop_in_does_to_a_unit(tmp_path: Path) -> None:
    for at, drop_in in enumerate(("", DROP_IN)):
        install(tmp_path / str(at), drop_in)
        found = effective(tmp_path / str(at))
        assert {name: found.get(name) for name in EFFECT} == {name: pair[at] for name, pair in EFFECT.items()}


def test_a_bounding_set_of_the_unit_needs_the_line_in_the_comment(tmp_path: Path) -> None:
    """It is a comment, because a unit without a set of its own would lose all other capabilities."""
    assert BOUNDING in DROP_IN
    line_on = DROP_IN.replace(BOUNDING, BOUNDING.removeprefix("#"))
    bounded = UNIT + "CapabilityBoundingSet=CAP_NET_ADMIN\n"
    for drop_in, unit, expected in (
        (DROP_IN, bounded, "cap_net_admin"),
        (line_on, bounded, "cap_net_admin cap_sys_nice"),
        (line_on, UNIT, "cap_sys_nice"),
    ):
        folder = tmp_path / expected.replace(" ", "-")
        install(folder, drop_in, unit)
        assert effective(folder)["CapabilityBoundingSet"] == expected


def test_each_variable_of_the_drop_in_holds() -> None:
    found = re.findall(r"^#Environment=(\w+)=(\S+)$", DROP_IN, re.MULTILINE)
    assert {check_pool({name: value}) for name, value in found} == MODES
