# SPDX-License-Identifier: BSD-3-Clause
"""Each rule on its examples: <set>/<rule>/in.c, of which no line is OAI's, becomes expected.c beside it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PATCHES = HERE.parent
RULES = sorted(f"{file.parent.name}/{file.stem}" for file in PATCHES.glob("*/*.cocci"))
EXAMPLES = sorted(str(file.parent.relative_to(HERE)) for file in HERE.glob("*/*/**/in.c"))
WARNINGS = ("-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-unused-function", "-Werror")

needs_spatch = pytest.mark.skipif(
    not shutil.which("spatch"), reason="spatch is not installed: apt install coccinelle"
)


def rule_of(example: str) -> str:
    return "/".join(Path(example).parts[:2])


def patch(rule: str, file: Path) -> None:
    """Applies the rule in place, as apply.cmake does."""
    options = ["--very-quiet", "--no-includes", "--macro-file", str(PATCHES / "macros.h"), "--in-place"]
    command = ["spatch", *options, "--sp-file", str(PATCHES / f"{rule}.cocci"), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def expected_table() -> list[list[str]]:
    """The rows of expected.txt: rule, a count for each of four shapes, file."""
    lines = (PATCHES / "expected.txt").read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]


def test_every_rule_is_in_the_table_and_has_an_example() -> None:
    assert sorted(row[0] for row in expected_table()) == RULES
    assert sorted({rule_of(example) for example in EXAMPLES}) == RULES
    for row in expected_table():
        assert len(row) == 6 and all(count == "-" or int(count) > 0 for count in row[1:5]), row


@needs_spatch
@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example(tmp_path: Path, example: str) -> None:
    file = tmp_path / "file.c"
    shutil.copy(HERE / example / "in.c", file)
    expected = (HERE / example / "expected.c").read_text(encoding="utf-8")
    assert "WS_OAI_" in expected
    patch(rule_of(example), file)
    assert file.read_text(encoding="utf-8") == expected
    patch(rule_of(example), file)  # a second time adds nothing
    assert file.read_text(encoding="utf-8") == expected


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("example", EXAMPLES)
def test_the_result_compiles(example: str, compiler: str) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed: apt install {compiler}")
    hooks = ("-include", str(PATCHES / "ws_oai_hooks.h"))
    command = [compiler, "-std=gnu11", "-fsyntax-only", *WARNINGS, *hooks, str(HERE / example / "expected.c")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_the_macros_compile_as_cxx(tmp_path: Path, compiler: str) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed: apt install {compiler}")
    file = tmp_path / "file.cpp"
    file.write_text(
        "struct RU { void *threadPool; int nb_rx; };\n"
        "unsigned all(RU *ru, const bool *chosen)\n{\n"
        "  WS_OAI_DECODING_SCOPE(1, 2, chosen, 3);\n"
        "  {\n    WS_OAI_DECODING_LIST(1, 2, &ru->nb_rx);\n  }\n"
        "  WS_OAI_DECODING_BEGIN(1, 2, 3);\n  WS_OAI_DECODING_END();\n"
        "  WS_OAI_PREWAKE_RU(ru);\n  WS_OAI_PREWAKE_SLOT(ru);\n"
        "  return ws_oai_first(chosen, 3);\n}\n",
        encoding="utf-8",
    )
    hooks = ("-include", str(PATCHES / "ws_oai_hooks.h"))
    command = [compiler, "-std=c++17", "-fsyntax-only", *WARNINGS, *hooks, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


@needs_spatch
@pytest.mark.parametrize("rule", RULES)
def test_a_file_without_the_function_stays_as_it_is(tmp_path: Path, rule: str) -> None:
    file = tmp_path / "file.c"
    text = "int nothing_of_ours(int *x)\n{\n  return x[0];\n}\n"
    file.write_text(text, encoding="utf-8")
    patch(rule, file)
    assert file.read_text(encoding="utf-8") == text
