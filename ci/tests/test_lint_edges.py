# SPDX-License-Identifier: BSD-3-Clause
from lint_edges import check

from tests.fixture import TreeTest

TABLE = "| edge | what travels | checked by |\n|---|---|---|\n"
ROW = "| Q_PUBLISH | the cell | a test |\n"
RELEASE = "ws_store_release(&q->bottom, 1); // [edge Q_PUBLISH release] cells\n"
ACQUIRE = "ws_load_acquire(&q->bottom); // [edge Q_PUBLISH acquire]\n"
PAIR = RELEASE + ACQUIRE
FENCE = "// [edge Q_PUBLISH fence]\nws_fence_seq_cst();\nx = ws_load_relaxed(&a);\n"
TAG = "// [edge Q_PUBLISH release] cells\n"
# What a room's file holds, and the findings there.
CASES: tuple[tuple[str, ...], ...] = (
    (PAIR,),
    (PAIR + "\n\n\nws_load_acquire(&q->top);\n", "6 tag"),
    # A tag counts up to three lines above, a long comment from its first line, but not beside another access.
    (TAG + "a();\nb();\nws_store_release(&x, 1);\n\n" + ACQUIRE,),
    (TAG + "a();\nb();\nc();\nws_store_release(&x, 1);\n\n" + ACQUIRE, "1 loose", "5 tag", "7 sides"),
    ("// [edge Q_PUBLISH release] one\n" + "// more\n" * 6 + "ws_store_release(&x, 1);\n" + ACQUIRE,),
    (PAIR + "ws_store_release(&b, 1);\n", "3 tag"),
    (PAIR + "x = ws_load_relaxed(&a); // relaxed: a hint\ny = ws_load_relaxed(&b);\n", "4 tag"),
    (PAIR + "\n\n\nx = ws_load_relaxed(&a)\n  + ws_load_relaxed(&b);\n", "6 tag", "7 tag"),
    # A relaxed access needs a reason, in a comment, in the wrapper's name or by a fence; it is no side.
    (PAIR + "x = ws_load_relaxed(&a); // relaxed: only the owner writes it\n",),
    (PAIR + "x = ws_load_relaxed(&a); // relaxed:\n", "3 tag"),
    (PAIR + "x = ws_hint_load(&a) + ws_stat_add(&b, 1) + ws_own_load(&c);\n",),
    (PAIR + "x = ws_hint_load(&a); // relaxed: a hint\n", "3 loose"),
    (FENCE + "\n\n\n" + FENCE,),
    ("ws_store_relaxed(&a, 1); // relaxed: [edge Q_PUBLISH release] follows\n" + ACQUIRE, "2 sides"),
    # An edge has two sides, each at an access that can be one.
    (PAIR + "\n\n\nws_load_acquire(&a); // [edge Q_PUBLISH release]\n", "6 tag", "6 loose"),
    (RELEASE, "1 sides"),
    (ACQUIRE, "1 sides"),
    ("ws_fence_seq_cst(); // [edge Q_PUBLISH fence]\n", "1 sides"),
    ("ws_sub_acq_rel(&n, 1); // [edge Q_PUBLISH acq_rel]\n",),
    (PAIR + "\n\n\n// [edge Q_PUBLISH release] nothing here\n", "6 loose"),
    ("pthread_create(&t, 0, run, q); " + TAG + "pthread_join(t, 0); // [edge Q_PUBLISH acquire]\n",),
    (PAIR + "// [edge q_publish]\n", "3 form"),
    (PAIR + "__atomic_load_n(&a, 0);\n", "3 raw"),
    (PAIR + 'log("ws_load_acquire(x)");\n',),
)


class EdgesTest(TreeTest):
    def test_accesses_of_a_room(self) -> None:
        for code, *expected in CASES:
            files = {"@/core/ws_q.c": code, "@/MEMORY_MODEL.md": TABLE + ROW}
            self.expect(check, files, *(f"ws_q.c:{finding}" for finding in expected))

    def test_edges_and_rows_are_the_same_set(self) -> None:
        for rows, *expected in (
            ("", "ws_q.c:1 table", "ws_q.c:2 table"),
            (ROW + "| OTHER | a | b |\n", "MEMORY_MODEL.md:4 table"),
            (ROW + ROW, "MEMORY_MODEL.md:4 table"),
            ("| Q_PUBLISH | the cell |  |\n", "MEMORY_MODEL.md:3 table"),
        ):
            self.expect(check, {"@/core/ws_q.c": PAIR, "@/MEMORY_MODEL.md": TABLE + rows}, *expected)

    def test_other_folders(self) -> None:
        builtin = "__atomic_load_n(&a, __ATOMIC_ACQUIRE);\n"
        for name, code, *expected in (
            ("include/ws_pool.h", "/// [edge Q_PUBLISH] fine\n/// [edge Q_PUBLSH]\n", "ws_pool.h:2 table"),
            ("shim/ans.h", builtin, "ans.h:1 tag"),
            ("shim/ans.h", "// [edge Q_PUBLISH acquire]\n" + builtin),
            ("base/ws_atomic.h", builtin),
            ("tests/unit/test_q.c", "ws_load_acquire(&a);\n"),
        ):
            files = {"@/core/ws_q.c": PAIR, "@/MEMORY_MODEL.md": TABLE + ROW, f"@/{name}": code}
            self.expect(check, files, *expected)
