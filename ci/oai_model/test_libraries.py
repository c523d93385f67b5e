# SPDX-License-Identifier: BSD-3-Clause
"""What the pool takes from the machine: where it is found if nothing is said, for sure when it is asked for.
In the hook, on a model, and in the standalone build."""

from pathlib import Path

import pytest
from oai_model.model import HOOK, REPO
from oai_model.test_hook import INCLUDE, Build, NewBuild

# In the order of the parameter hooked.
FIRST = "-DWS_TESTS=OFF", f"-D{INCLUDE}={HOOK}"
LTTNG = "-DWS_LTTNG", "-DTHREAD_POOL_WS_LTTNG"
TRACED = "traced by lttng-ust", ", LTTng tracepoints"  # what is said when it is there

pytestmark = pytest.mark.full
both = pytest.mark.parametrize("hooked", [False, True], ids=["alone", "hook"])


@pytest.fixture
def build(new_build: NewBuild, tmp_path: Path, hooked: bool) -> Build:
    return new_build("B2") if hooked else Build(REPO, tmp_path / "alone")


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The only folder in which pkg-config looks."""
    monkeypatch.setenv("PKG_CONFIG_LIBDIR", str(tmp_path))
    monkeypatch.delenv("PKG_CONFIG_PATH", raising=False)
    return tmp_path


@both
def test_a_library_that_is_asked_for_and_missing_stops(build: Build, modules: Path, hooked: bool) -> None:
    name, wanted = LTTNG[hooked], "no lttng-ust, 2.13 or newer"
    assert f"finds {wanted}" in build.configure(FIRST[hooked]).log  # not asked for
    build.configure(f"{name}=ON", fails=True)
    assert f"{name[2:]} is ON, but pkg-config finds {wanted}" in build.log and "liblttng-ust-dev" in build.log
    for value in (f"{name}=OFF", f"{name}=AUTO", "-U" + name[2:]):
        build.configure(value)


@both
def test_an_unknown_value_stops(build: Build, hooked: bool) -> None:
    name = LTTNG[hooked]
    build.configure(FIRST[hooked], f"{name}=maybe", fails=True)
    assert f'{name[2:]} is "maybe", which is unknown; its values: ON, OFF, AUTO' in build.log
    for value in ("off", "No", "FALSE", "0"):
        build.configure(f"{name}={value}")


@both
def test_a_library_that_is_too_old_is_not_there(build: Build, modules: Path, hooked: bool) -> None:
    text = "Name: lttng-ust\nDescription: none\nVersion: 2.12.7\nLibs:\nCflags:\n"
    (modules / "lttng-ust.pc").write_text(text)
    build.configure(FIRST[hooked])
    assert "finds lttng-ust 2.12.7 only, 2.13 or newer is wanted" in build.log
    assert TRACED[hooked] not in build.log
    build.configure(f"{LTTNG[hooked]}=ON", fails=True)
    assert "is ON, but pkg-config finds lttng-ust 2.12.7 only, 2.13 or newer is wanted" in build.log
