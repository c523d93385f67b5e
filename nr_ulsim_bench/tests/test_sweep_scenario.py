# SPDX-License-Identifier: BSD-3-Clause
"""Scenario files: the included ones are what OAI's CI runs, and a message names the error in a file."""

import getopt

import pytest

from nrbench.sweep.scenario import Case, ScenarioError, load, names, reason_against, select

# Of nr_ulsim of v2.3.0, for getopt.
SHORT = "a:b:c:d:ef:g:h:i:jk:m:n:p:q:r:s:t:u:v:w:y:z:A:C:F:G:H:I:M:N:PR:S:T:U:L:ZW:E:X:Y:"
NUMBERS = {"-s", "-S", "-t"}

OAI_CI = {
    "misc.test1": "-n300 -m9 -r106 -s5",
    "misc.test4": "-n300 -m27 -s25 -q1",
    "misc.test6": "-n300 -m9 -R273 -r273 -s5",
    "misc.test8": "-n300 -s5 -T 1,2 -U 0,2,1,1",
    "misc.test10": "-n300 -s5 -a4 -b8 -T 1,2 -U 1,3,1,1",
    "misc.test11": "-n300 -u0 -m0 -R25 -r25 -i 1,0",
    "misc.test12": "-n300 -s5 -r32 -R32 -u3",
    "misc.test13": "-n300 -m0 -S -0.6 -i 1,0",
    "misc.test14": "-n300 -m28 -R106 -r106 -t90 -s24 -S24 -d 8",
    "misc.test15": "-n300 -s40 -E 1",
    "sc-fdma.test1": "-n300 -s5 -Z",
    "sc-fdma.test4": "-n150 -s5 -Z -r270 -R273",
    "sc-fdma.test5": "-n300 -s5 -Z -U 0,2,1,2",
    "mimo.test1": "-n300 -m19 -s10 -S15 -z2",
    "mimo.test5": "-n300 -m9 -r106 -s10 -W4 -y4 -z4",
}
OAI_3GPP = {
    "3gpp.test1": "-n300 -b14 -I7 -i 0,1 -g A,l,10 -t70 -u 1 -m20 -R106 -r106 -U 0,1,1,2 -z2 -s12.4 -S12.4",
    "3gpp.test6": "-n300 -b14 -I7 -i 0,1 -g A,l,10 -t70 -u 0 -m20 -R25 -r25 -U 1,1,1,2 -z8 -s5.7 -S5.7",
    "3gpp.test24": "-n300 -b14 -I8 -i 0,1 -g A,l,10 -t70 -u 1 -m20 -R273 -r273 -U 1,1,1,2 -z8 -s5.9 -S5.9",
    "3gpp.test26": (
        "-n300 -b14 -I15 -i 0,1 -g B,l -t70 -u 1 -m2 -R106 -r106 -U 1,1,1,2 -W2 -y2 -z4 -s-2.1 -S-2.1"
    ),
    "3gpp.test28": (
        "-n300 -b14 -I15 -i 0,1 -g C,l -t70 -u 1 -m16 -R106 -r106 -U 1,1,1,2 -W2 -y2 -z4 -s11.2 -S11.2"
    ),
}
OFFLOAD_CI = {
    "prb106-mcs5": "-n1000 -s30 -S30.2 -m5 -r106 -R106",
    "prb273-mcs25": "-n1000 -s30 -S30.2 -m25 -r273 -R273",
    "prb273-mcs15-2-layers": "-n1000 -s30 -S30.2 -m15 -r273 -R273 -W2 -z2 -y2",
}
CI = [
    (scenario, case, options)
    for scenario, cases in (("oai-ci", OAI_CI), ("oai-ci-3gpp", OAI_3GPP), ("oai-offload-ci", OFFLOAD_CI))
    for case, options in cases.items()
]


def meaning(options):
    """Options as nr_ulsim reads them, which is neither by order nor by how a number is written."""
    pairs, rest = getopt.getopt(list(options), SHORT)
    assert rest == []
    return {option: float(value) if option in NUMBERS else value for option, value in pairs}


def case_of(scenario, name):
    (found,) = (case for case in load(scenario).cases if case.name == name)
    return found


@pytest.mark.parametrize("scenario, case, options", CI)
def test_cases_are_those_of_the_ci(scenario, case, options):
    wanted = meaning(options.split()) | {"-P": "", "-C": "10"}
    assert meaning(case_of(scenario, case).options(10)) == wanted


def test_every_scenario_loads_and_its_options_are_of_nr_ulsim():
    for name in names():
        scenario = load(name)
        assert scenario.name == name
        for case in scenario.cases:
            read = meaning(case.options(0))
            assert read["-C"] == "0"
            assert int(read["-n"]) >= 2


def test_how_many_cases_come_with_the_tool():
    counts = {name: len(load(name).cases) for name in names()}
    assert counts == {
        "mimo": 8,
        "oai-ci": 25,
        "oai-ci-3gpp": 28,
        "oai-offload-ci": 9,
        "quick": 2,
        "slides": 1,
    }


def test_the_slides_sweep():
    slides = load("slides")
    assert slides.sweep.threads == (1, 2, 4, 8, 16, 24)
    assert slides.sweep.spin == ("off", "auto")
    (case,) = slides.cases
    assert case.options(16) == ("-n300", "-R273", "-r273", "-m25", "-s40", "-S40", "-P", "-C16")


def test_how_many_snr_points_there_can_be():
    assert case_of("slides", "prb273-mcs25").snr_points == 1
    assert case_of("oai-offload-ci", "prb106-mcs5").snr_points == 2
    assert case_of("oai-ci", "misc.test1").snr_points == 51
    assert case_of("oai-ci", "misc.test13").snr_points == 8  # from -2 dB to -0.6 dB


def test_a_case_with_other_trials_is_made_of_what_it_holds():
    for name in names():
        for case in load(name).cases:
            other = Case.model_validate(case.model_dump() | {"trials": 7})
            assert meaning(other.options(2)) == meaning(case.options(2)) | {"-n": "7"}


HEAD = 'title = "t"\n[defaults]\ntrials = 10\n'


def write(folder, text):
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_cases_override_the_defaults_of_the_file(tmp_path):
    path = write(
        tmp_path, HEAD + "mcs = 9\n[[case]]\nname = 'a'\n[[case]]\nname = 'b'\nmcs = 25\ntrials = 20\n"
    )
    assert [case.options(2) for case in load(path).cases] == [
        ("-n10", "-m9", "-P", "-C2"),
        ("-n20", "-m25", "-P", "-C2"),
    ]


def test_every_field_has_its_option(tmp_path):
    fields = """
        first_prb = 3
        harq_rounds = 1
        antennas_per_thread = 2
        throughput_percent = 70
        snr_db = 12
        extra = ["-k", "-L1"]
    """
    case = load(write(tmp_path, f"{HEAD}{fields}\n[[case]]\nname = 'a'\n")).cases[0]
    assert case.options(0) == ("-n10", "-w3", "-v1", "-t70", "-A2", "-s12", "-k", "-L1", "-P", "-C0")


@pytest.mark.parametrize(
    "text, error",
    [
        ("[[case]]\nname = 'a'\n", "own.toml: case a: trials: Field required"),
        (HEAD + "[[case]]\nmcs = 9\n", "own.toml: case 1: name: Field required"),
        (HEAD + "[[case]]\nname = 'a b'\n", "case a b: name: String should match pattern"),
        (HEAD + "[[case]]\nname = 'a'\nmsc = 9\n", "case a: msc: Extra inputs are not permitted"),
        (HEAD + "[[case]]\nname = 'a'\nmcs = '9'\n", "case a: mcs: Input should be a valid integer"),
        (HEAD + "[[case]]\nname = 'a'\nmcs = 31\n", "case a: mcs: Input should be less than or equal to 28"),
        (HEAD + "[[case]]\nname = 'a'\ntrials = 1\n", "case a: trials: .* greater than or equal to 2"),
        (HEAD + "[[case]]\nname = 'a'\nprb = 107\n", "case a: prb: more than the carrier has"),
        (HEAD + "[[case]]\nname = 'a'\nlayers = 2\n", "case a: layers: more than there are antennas"),
        (
            HEAD + "[[case]]\nname = 'a'\nsymbols = 12\nfirst_symbol = 3\n",
            "case a: symbols: more than the slot",
        ),
        (HEAD + "[[case]]\nname = 'a'\nsnr_db = 9\nsnr_last_db = 8\n", "case a: snr_last_db: below snr_db"),
        (HEAD + "[[case]]\nname = 'a'\nextra = ['-C3']\n", "case a: extra: -C3: the sweep itself sets"),
        (HEAD + "[[case]]\nname = 'a'\nversions = '2.3'\n", "case a: versions: '2.3' is no requirement"),
        (
            HEAD + "[[case]]\nname = 'a'\nptrs = { time_density = 1 }\n",
            "case a: ptrs.frequency_density: Field",
        ),
        (HEAD + "[[case]]\nname = 'a'\n[[case]]\nname = 'a'\n", "own.toml: two cases are called a"),
        (HEAD, r"own.toml: a scenario has \[\[case\]\] tables"),
        ("name = 'x'\n" + HEAD + "[[case]]\nname = 'a'\n", "own.toml: name, cases: the name is the file's"),
        (
            HEAD + "[[case]]\nname = 'a'\n[sweep]\nthreads = [0]\n",
            "own.toml: sweep.threads.0: .* greater than",
        ),
        (
            HEAD + "[[case]]\nname = 'a'\n[sweep]\nspin = ['on']\n",
            "own.toml: sweep.spin.0: String should match pattern",
        ),
        (
            HEAD + "[[case]]\nname = 'a'\n[sweep]\ncpus = '0-'\n",
            "own.toml: sweep.cpus: '0-' is no list of CPUs",
        ),
        ("[[case]]\nname = \n", "own.toml: Invalid value"),
    ],
)
def test_a_wrong_file_is_told_with_file_case_and_field(tmp_path, text, error):
    with pytest.raises(ScenarioError, match=error):
        load(write(tmp_path, text))


def test_neither_a_name_nor_a_file():
    with pytest.raises(
        ScenarioError, match="nothing: neither a file nor a scenario; there are: mimo, oai-ci,"
    ):
        load("nothing")


def chosen(text):
    return {scenario.name: [case.name for case in scenario.cases] for scenario in select(text)}


def test_whole_scenarios_by_name_and_by_file(tmp_path):
    path = write(tmp_path, HEAD + "[[case]]\nname = 'a'\n[[case]]\nname = 'b'\n")
    assert chosen(f"slides,{path}") == {"slides": ["prb273-mcs25"], "own": ["a", "b"]}
    assert chosen(f"{path}:b") == {"own": ["b"]}


def test_some_cases_then_another_scenario():
    assert chosen("oai-ci:misc.test2,misc.test1, quick:prb106-mcs9,slides") == {
        "oai-ci": ["misc.test1", "misc.test2"],
        "quick": ["prb106-mcs9"],
        "slides": ["prb273-mcs25"],
    }
    assert chosen("oai-ci:mimo.test?,misc.test15")["oai-ci"] == [
        "misc.test15",
        *(f"mimo.test{number}" for number in range(1, 6)),
    ]
    assert chosen("quick:prb106-mcs9,quick") == chosen("quick")


@pytest.mark.parametrize(
    "text, error",
    [
        ("quick:prb106", "quick: has no case 'prb106'; there are: prb106-mcs9, prb273-mcs25"),
        ("quick:prb106-mcs9,misc.test1", "misc.test1: neither a file nor a scenario"),
        ("", ": neither a file nor a scenario"),
        ("quick,", ": neither a file nor a scenario"),
    ],
)
def test_a_choice_of_what_is_not_there(text, error):
    with pytest.raises(ScenarioError, match=error):
        select(text)


def test_two_scenarios_of_one_name_would_mix_their_results(tmp_path):
    own = tmp_path / "quick.toml"
    own.write_text(HEAD + "[[case]]\nname = 'a'\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match="two scenarios are called quick"):
        select(f"quick,{own}")


def test_a_case_that_a_version_lacks_says_so():
    srs = case_of("oai-ci", "misc.test15")
    assert srs.reason_against("v2.1.0") == "needs OAI >= v2.2.0, this is v2.1.0"
    assert srs.reason_against("2024.w12") == "needs OAI >= v2.2.0, this is 2024.w12"
    for version in ("v2.2.0", "v2.3.0", "2025.w37", "v3.0.0", "develop", None):
        assert srs.reason_against(version) is None


def test_a_case_in_which_old_versions_crash_is_left_out_there():
    reasons = {case.name: case.reason_against("v2.2.0") for case in load("mimo").cases}
    assert [name for name, reason in reasons.items() if reason] == [
        "prb106-mcs25-4-layers",
        "prb273-mcs25-4-layers",
    ]


def test_antennas_per_thread_brings_its_requirement(tmp_path):
    case = load(write(tmp_path, HEAD + "antennas_per_thread = 2\n[[case]]\nname = 'a'\n")).cases[0]
    assert case.reason_against("v2.2.0") == "antennas_per_thread: needs OAI >= v2.3.0, this is v2.2.0"
    assert case.reason_against("2025.w37") is None


def test_requirements_on_versions():
    assert reason_against("", "v2.0.0") is None
    assert reason_against(">=v2.1.0,<v2.3.0", "v2.2.0") is None
    assert reason_against(">=v2.1.0, <v2.3.0", "v2.3.0") == "needs OAI < v2.3.0, this is v2.3.0"
    assert reason_against("==v2.1.0", "v2.1.0") is None
    for version in ("v2.1.0-dirty", "v2.1.0-12-g0123abc", "v2.1.0-12-g0123abc-dirty", "2024.w12-1-gabc"):
        assert reason_against(">=v2.2.0", version) == f"needs OAI >= v2.2.0, this is {version}"
    assert reason_against(">=v2.2.0", "8bf6d5d7da-dirty") is None  # no tag: unknown
    for requirement in ("v2.3.0", ">=2.3.0", ">=v2.1.0,", ">=v1.0.0"):
        with pytest.raises(ValueError, match="is no requirement on a version"):
            reason_against(requirement, None)
