# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

from lint_edges import check

from tests.fixture import TreeTest

TABLE = "| edge | release site | acquire site | what travels | checked by |\n|---|---|---|---|---|\n"
ROW = "| Q_PUBLISH | push | steal | the cell | a test |\n"
RELEASE = "ws_store_release(&q->bottom, 1); // [edge Q_PUBLISH release] cells\n"
ACQUIRE = "ws_load_acquire(&q->bottom); // [edge Q_PUBLISH acquire]\n"


class EdgesTest(TreeTest):
    def core(self, code: str, table: str = TABLE + ROW) -> dict[str, str]:
        return {"@/core/ws_q.c": code, "@/MEMORY_MODEL.md": table}

    def expect(self, code: str, *expected: str, table: str = TABLE + ROW) -> None:
        self.assert_rules(check(self.tree(self.core(code, table))), *expected)

    def test_a_pair_with_its_row_passes(self) -> None:
        self.expect(RELEASE + ACQUIRE)

    def test_an_access_without_a_tag_is_found(self) -> None:
        self.expect(RELEASE + ACQUIRE + "\n\n\nws_load_acquire(&q->top);\n", "ws_q.c:6 tag")

    def test_a_tag_counts_up_to_three_lines_above(self) -> None:
        tag = "// [edge Q_PUBLISH release] cells\n"
        self.expect(tag + "a();\nb();\nws_store_release(&x, 1);\n\n" + ACQUIRE)
        far = tag + "a();\nb();\nc();\nws_store_release(&x, 1);\n\n" + ACQUIRE
        self.expect(far, "ws_q.c:1 loose", "ws_q.c:5 tag", "ws_q.c:7 sides")

    def test_a_long_comment_counts_from_its_first_line(self) -> None:
        self.expect(
            "// [edge Q_PUBLISH release] one\n" + "// more\n" * 6 + "ws_store_release(&x, 1);\n" + ACQUIRE
        )

    def test_each_call_of_a_statement_counts(self) -> None:
        code = RELEASE + ACQUIRE + "\n\n\nx = ws_load_relaxed(&a)\n  + ws_load_relaxed(&b);\n"
        self.expect(code, "ws_q.c:6 tag", "ws_q.c:7 tag")

    def test_relaxed_needs_a_reason(self) -> None:
        self.expect(RELEASE + ACQUIRE + "x = ws_load_relaxed(&a); // relaxed: only the owner writes it\n")
        self.expect(RELEASE + ACQUIRE + "x = ws_load_relaxed(&a); // relaxed:\n", "ws_q.c:3 tag")

    def test_a_wrapper_whose_name_is_the_reason_needs_no_tag(self) -> None:
        pair = RELEASE + ACQUIRE
        self.expect(pair + "x = ws_hint_load(&a) + ws_stat_add(&b, 1) + ws_own_load(&c);\n")
        self.expect(pair + "x = ws_hint_load(&a); // relaxed: a hint\n", "ws_q.c:3 loose")

    def test_relaxed_beside_a_fence(self) -> None:
        code = "// [edge Q_PUBLISH fence]\nws_fence_seq_cst();\nx = ws_load_relaxed(&a);\n"
        self.expect(code + "\n\n\n" + code)

    def test_a_tag_beside_an_access_is_that_line_s_own(self) -> None:
        code = RELEASE + ACQUIRE + "x = ws_load_relaxed(&a); // relaxed: a hint\ny = ws_load_relaxed(&b);\n"
        self.expect(code, "ws_q.c:4 tag")
        self.expect(RELEASE + ACQUIRE + "ws_store_release(&b, 1);\n", "ws_q.c:3 tag")

    def test_a_relaxed_access_is_no_side(self) -> None:
        code = "ws_store_relaxed(&a, 1); // relaxed: [edge Q_PUBLISH release] follows\n"
        self.expect(code + ACQUIRE, "ws_q.c:2 sides")

    def test_an_acquire_load_is_no_release_side(self) -> None:
        code = RELEASE + ACQUIRE + "\n\n\nws_load_acquire(&a); // [edge Q_PUBLISH release]\n"
        self.expect(code, "ws_q.c:6 tag", "ws_q.c:6 loose")

    def test_one_side_is_not_enough(self) -> None:
        self.expect(RELEASE, "ws_q.c:1 sides")
        self.expect(ACQUIRE, "ws_q.c:1 sides")
        self.expect("ws_fence_seq_cst(); // [edge Q_PUBLISH fence]\n", "ws_q.c:1 sides")
        self.expect("ws_sub_acq_rel(&n, 1); // [edge Q_PUBLISH acq_rel]\n")

    def test_a_tag_at_no_access_is_found(self) -> None:
        self.expect(RELEASE + ACQUIRE + "\n\n\n// [edge Q_PUBLISH release] nothing here\n", "ws_q.c:6 loose")

    def test_a_thread_call_carries_an_edge(self) -> None:
        code = "pthread_create(&t, 0, run, q); // [edge Q_PUBLISH release]\n"
        self.expect(code + "pthread_join(t, 0); // [edge Q_PUBLISH acquire]\n")

    def test_a_tag_that_cannot_be_read_is_found(self) -> None:
        self.expect(RELEASE + ACQUIRE + "// [edge q_publish]\n", "ws_q.c:3 form")

    def test_edges_and_rows_are_the_same_set(self) -> None:
        self.expect(RELEASE + ACQUIRE, "ws_q.c:1 table", "ws_q.c:2 table", table=TABLE)
        other = "| OTHER | a | b | c | d |\n"
        self.expect(RELEASE + ACQUIRE, "MEMORY_MODEL.md:4 table", table=TABLE + ROW + other)

    def test_a_row_has_five_full_cells(self) -> None:
        empty = "| Q_PUBLISH | push | steal | the cell |  |\n"
        self.expect(RELEASE + ACQUIRE, "MEMORY_MODEL.md:3 table", table=TABLE + empty)

    def test_public_headers_name_edges_that_exist(self) -> None:
        files = self.core(RELEASE + ACQUIRE)
        files["@/include/ws_pool.h"] = "/// @ordering [edge Q_PUBLISH] fine\n/// [edge Q_PUBLSH] misspelt\n"
        self.assert_rules(check(self.tree(files)), "ws_pool.h:2 table")

    def test_raw_atomics_are_found_outside_the_wrappers(self) -> None:
        files = self.core(RELEASE + ACQUIRE + "__atomic_load_n(&a, 0);\n")
        files["@/base/ws_atomic.h"] = "#define ws_load_acquire(a) __atomic_load_n(a, 2)\n"
        self.assert_rules(check(self.tree(files)), "ws_q.c:3 raw")

    def test_text_in_strings_and_other_folders_does_not_count(self) -> None:
        files = self.core(RELEASE + ACQUIRE + 'log("ws_load_acquire(x)");\n')
        files["@/tests/unit/test_q.c"] = "ws_load_acquire(&a);\n"
        self.assert_rules(check(self.tree(files)))
