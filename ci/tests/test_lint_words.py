# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

from lint_words import QUOTES, avoided, check

from tests.fixture import TreeTest

GLOSSARY = """# Glossary

For ever and a day: this page is checked too, but for its table.

## Words to avoid

| avoid | write instead |
|---|---|
| for ever | *without end* |
| nobody, somebody | the noun |
| says (public headers) | *returns* |

## After
"""
CLEAN = GLOSSARY.replace("For ever and a day: this", "This")


class WordsTest(TreeTest):
    def expect(self, name: str, text: str, *expected: str) -> None:
        found = check(self.tree({"docs/glossary.md": CLEAN, name: text}))
        self.assert_rules(found, *expected)

    def test_rows(self) -> None:
        rows = avoided(CLEAN)
        self.assertEqual([row.headers_only for row in rows], [False, False, True])
        self.assertEqual([row.instead for row in rows], ["without end", "the noun", "returns"])

    def test_a_glossary_without_the_table(self) -> None:
        self.assert_rules(check(self.tree({"README.md": "Nobody.\n"})), "glossary.md:1 table")

    def test_the_table_itself_is_exempt_and_the_page_is_not(self) -> None:
        self.assert_rules(check(self.tree({"docs/glossary.md": CLEAN})))
        self.assert_rules(check(self.tree({"docs/glossary.md": GLOSSARY})), "glossary.md:3 word")

    def test_markdown(self) -> None:
        self.expect("README.md", "Nobody waits\nfor\never.\n", "README.md:1 word", "README.md:2 word")
        self.expect("README.md", "```\nnobody\n```\n`nobody` and ``for ever``\nbusybody, ws_nobody\n")

    def test_comments_and_strings_of_c(self) -> None:
        self.expect("a.c", "// It waits for\n// ever.\nint nobody;\n", "a.c:1 word")
        self.expect("a.h", '/* x\n somebody */\nputs("waits for ever");\n', "a.h:2 word", "a.h:3 word")
        self.expect("a.c", '#include "nobody.h"\nint nobody = somebody(nobody);\n')

    def test_comments_and_strings_of_python(self) -> None:
        text = '"""Nobody reads\n\nfor ever."""\nnobody = 1  # somebody\nx = f"{nobody} for ever"\n'
        self.expect("a.py", text, "a.py:1 word", "a.py:3 word", "a.py:4 word", "a.py:5 word")

    def test_a_name_in_quotes(self) -> None:
        self.expect("a.py", 'run("--reuid", "nobody")\n')

    def test_shell_and_cmake(self) -> None:
        self.expect("run", "#!/bin/sh\necho for ever\n", "run:2 word")
        self.expect("a.cmake", "# nobody\n", "a.cmake:1 word")
        self.expect("data.txt", "nobody\n")

    def test_verbs_of_contract_in_public_headers_only(self) -> None:
        self.expect("@/include/ws_pool.h", "/// says nothing\n", "ws_pool.h:1 verb")
        self.expect("@/core/ws_push.h", "/// says nothing\n")

    def test_what_is_not_checked(self) -> None:
        for name in QUOTES:
            path = name + "a.md" if name.endswith("/") else name
            with self.subTest(path):
                self.expect(path, "# nobody\n")
