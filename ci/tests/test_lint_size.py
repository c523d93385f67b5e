# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

from lint_size import Function, c_functions, check, check_ratchet, python_functions, shell_functions
from lintkit import split_c

from tests.fixture import TreeTest


def measure_c(text: str) -> list[Function]:
    return list(c_functions(split_c(text).code))


class CTest(TreeTest):
    def test_length_counts_from_the_signature_to_the_brace(self) -> None:
        text = "// a\nstatic int\nf(int a,\n  int b)\n{\n  return a;\n}\n"
        self.assertEqual(measure_c(text), [Function("f", 2, 6, 0)])

    def test_nesting_counts_control_blocks_only(self) -> None:
        text = (
            "void f(void)\n{\n  x_t a = {0};\n  if (a) {\n    for (;;) {\n      g((x_t){1});\n    }\n  }\n}\n"
        )
        self.assertEqual([f.nesting for f in measure_c(text)], [2])

    def test_else_if_is_one_level(self) -> None:
        text = "void f(void)\n{\n  if (a) {\n  } else if (b) {\n  } else {\n  }\n}\n"
        self.assertEqual([f.nesting for f in measure_c(text)], [1])

    def test_data_types_and_strings_are_no_functions(self) -> None:
        text = 'struct s {\n  int a;\n};\nint t[] = {1, 2};\nenum { A = (1) };\nchar *c = "f() {";\n'
        self.assertEqual(measure_c(text), [])

    def test_both_branches_of_a_conditional(self) -> None:
        text = "#if A\nvoid f(int a)\n{\n#else\nvoid f(void)\n{\n#endif\n  g();\n}\nvoid h(void)\n{\n}\n"
        self.assertEqual([f.name for f in measure_c(text)], ["f", "h"])

    def test_functions_in_extern_c_classes_and_namespaces(self) -> None:
        text = (
            'extern "C" {\nvoid f(void)\n{\n}\n}\nnamespace n {\nclass c {\n  int g() const { return 1; }\n'
            "  c() : a(1) {\n  }\n};\n}\n"
        )
        self.assertEqual([f.name for f in measure_c(text)], ["f", "g", "c"])


class PythonAndShellTest(TreeTest):
    def test_python(self) -> None:
        text = "def f(a):\n    if a:\n        for b in a:\n            pass\n    elif b:\n        pass\n"
        self.assertEqual(list(python_functions(text)), [Function("f", 1, 6, 2)])

    def test_an_elif_chain_is_one_level(self) -> None:
        text = "def f(a):\n    if a:\n        pass\n    elif b:\n        pass\n    elif c:\n        pass\n"
        self.assertEqual([f.nesting for f in python_functions(text)], [1])

    def test_shell(self) -> None:
        text = (
            "f() {\n  for a in b; do\n    if c; then\n      d # if e; then\n    fi\n  done\n}\ng() { h; }\n"
        )
        self.assertEqual(list(shell_functions(text)), [Function("f", 1, 7, 2), Function("g", 8, 1, 0)])


class TreeBoundsTest(TreeTest):
    def expect(self, name: str, text: str, *expected: str) -> None:
        self.assert_rules(check(self.tree({name: text}), 9)[0], *expected)

    def test_bounds(self) -> None:
        self.expect("a.c", "int a;\n" * 600)
        self.expect("a.c", "int a;\n" * 601, "a.c:601 file")
        self.expect("a.c", "x" * 110 + "\n" + "x" * 111 + "\n", "a.c:2 columns")
        self.expect("a.c", "void f(void)\n{\n" + "a();\n" * 67 + "}\n")
        self.expect("a.c", "void f(void)\n{\n" + "a();\n" * 68 + "}\n", "a.c:1 function")
        nested = "void f(void)\n{\n" + "if (a) {\n" * 5 + "}\n" * 5 + "}\n"
        self.expect("a.c", nested, "a.c:1 nesting")

    def test_other_files_and_data_are_not_looked_at(self) -> None:
        self.expect("a.md", "x" * 200 + "\n")
        self.expect("bench/data/a.c", "x" * 200 + "\n")

    def test_a_script_is_told_by_its_first_line(self) -> None:
        self.expect("run", "#!/usr/bin/env bash\n" + "x" * 111 + "\n", "run:2 columns")
        self.expect("tool", "#!/usr/bin/env python3\ndef f(:\n", "tool:2 syntax")

    def test_the_ratchet(self) -> None:
        self.assert_rules(check_ratchet(["a", "b"], 1)[0], "lint_size.py:1 ratchet")
        findings, notes = check_ratchet(["a"], 2)
        self.assert_rules(findings)
        self.assertIn("from 2 to 1", notes[-1])
