# SPDX-License-Identifier: BSD-3-Clause
"""Scenario files: the included ones have options of nr_ulsim, and a message names the error in a file."""

import getopt

import pytest

from nrbench.sweep.scenario import ScenarioError, load, merged, names, select

# Of nr_ulsim of v2.3.0, for getopt.
SHORT = "a:b:c:d:ef:g:h:i:jk:m:n:p:q:r:s:t:u:v:w:y:z:A:C:F:G:H:I:M:N:PR:S:T:U:L:ZW:E:X:Y:"
SHORT_DOWNLINK = "O:f:hA:p:g:i:n:s:S:t:v:x:y:z:o:H:M:N:F:GR:d:PI:L:a:b:e:m:w:T:U:q:X:Y:Z:"  # of nr_dlsim
HEAD = 'title = "t"\noptions = "-n10 -m 9"\n'
CASE = HEAD + "[[case]]\nname = 'a'\n"


def test_every_scenario_loads_and_its_options_are_of_nr_ulsim():
    """Which cases there are, golden/scenarios.txt has."""
    for case in (case for name in names() for case in load(name).cases):
        is_down = case.program == "nr_dlsim"
        pairs, rest = getopt.getopt(case.with_trials(7).options(3), SHORT_DOWNLINK if is_down else SHORT)
        pool = ("-X", "-1,-1,-1") if is_down else ("-C", "3")
        assert not rest and dict(pairs)["-n"] == "7" and pool in pairs


def test_the_slides_sweep():
    slides = load("slides")
    assert slides.sweep.threads == (1, 2, 4, 8, 16, 24) and slides.sweep.spin == ("off", "auto")
    (case,) = slides.cases
    assert case.options(16) == ("-n300", "-R273", "-r273", "-m25", "-s40", "-S40", "-P", "-C16")


def write(folder, text, name="own.toml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_options_of_a_case_take_the_place_of_those_of_the_file(tmp_path):
    path = write(tmp_path, CASE + "[[case]]\nname = 'b'\noptions = '-m25 -n 20 -s -2 -Z'\n")
    assert [case.options(2) for case in load(path).cases] == [
        ("-n10", "-m9", "-P", "-C2"),
        ("-n20", "-m25", "-s-2", "-Z", "-P", "-C2"),
    ]
    assert merged("-U 0,2,1,1 -S -0.6", "-E 1") == ("-U0,2,1,1", "-S-0.6", "-E1")


@pytest.mark.parametrize(
    "text, error",
    [
        ("title = 't'\n[[case]]\nname = 'a'\n", "own.toml: case a: options: -n: fewer than 2 slots"),
        (HEAD + "[[case]]\nmcs = 9\n", "own.toml: case 1: name: Field required"),
        (HEAD + "[[case]]\nname = 'a b'\n", "case a b: name: String should match pattern"),
        (CASE + "msc = 9\n", "case a: msc: Extra inputs are not permitted"),
        (CASE + "options = 9\n", "case a: options: 'int' object"),
        (CASE + "options = '9'\n", "case a: options: '9' is no option of nr_ulsim"),
        (CASE + "options = '-C3'\n", "case a: options: -C3: the sweep itself sets -C, -P, -Y"),
        (CASE + "options = '-nX'\n", "case a: options: invalid literal for int.*'X'"),
        (CASE + "[[case]]\nname = 'a'\n", "own.toml: two cases are called a"),
        (HEAD, r"own.toml: a scenario has \[\[case\]\] tables"),
        (CASE + "[sweep]\nthreads = [0]\n", "own.toml: sweep.threads.0: .* greater than"),
        (CASE + "[sweep]\nspin = ['on']\n", "own.toml: sweep.spin.0: String should match pattern"),
        ("[[case]]\nname = \n", "own.toml: Invalid value"),
    ],
)
def test_a_wrong_file_is_told_with_file_case_and_field(tmp_path, text, error):
    with pytest.raises(ScenarioError, match=error):
        load(write(tmp_path, text))


def chosen(text):
    return {scenario.name: [case.name for case in scenario.cases] for scenario in select(text)}


def test_whole_scenarios_and_some_of_their_cases(tmp_path):
    path = write(tmp_path, CASE + "[[case]]\nname = 'b'\n")
    assert chosen(f"slides,{path}") == {"slides": ["prb273-mcs25"], "own": ["a", "b"]}
    assert chosen(f"{path}:b") == {"own": ["b"]}
    assert chosen("kpi:ul-prb273,ul-prb106, quick:prb106-mcs9,slides") == {
        "kpi": ["ul-prb106", "ul-prb273"],
        "quick": ["prb106-mcs9"],
        "slides": ["prb273-mcs25"],
    }
    every = ["ul-prb106-2-layers", "ul-prb273", "ul-prb273-2-layers"]
    assert chosen("kpi:ul-*-layers,ul-prb273")["kpi"] == every
    assert chosen("quick:prb106-mcs9,quick") == chosen("quick")


@pytest.mark.parametrize(
    "text, error",
    [
        ("nothing", "nothing: neither a file nor a scenario; there are: downlink, kpi, quick, slides"),
        ("quick:prb106", "quick: has no case 'prb106'; there are: prb106-mcs9, prb273-mcs25"),
        ("quick,ul-prb106", "quick: has no case 'ul-prb106'"),
        ("", ": neither a file nor a scenario"),
        ("quick,", "quick: has no case ''"),
    ],
)
def test_a_choice_of_what_is_not_there(text, error):
    with pytest.raises(ScenarioError, match=error):
        select(text)


def test_two_scenarios_of_one_name_would_mix_their_results(tmp_path):
    own = write(tmp_path, CASE, "quick.toml")
    with pytest.raises(ScenarioError, match="two scenarios are called quick"):
        select(f"quick,{own}")
