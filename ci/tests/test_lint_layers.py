# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

from lint_layers import LAYERS, check, layer_of

from tests.fixture import TreeTest

CORE = {"@/core/ws_pool.h": "", "@/queue/ws_deque.h": "", "@/base/ws_atomic.h": "#include <stdatomic.h>\n"}


class LayersTest(TreeTest):
    def expect(self, name: str, text: str, *expected: str) -> None:
        self.assert_rules(check(self.tree({**CORE, "@/include/ws_pool.h": "", name: text})), *expected)

    def test_an_include_points_down_or_sideways(self) -> None:
        self.expect("@/setup/ws_pool.c", '#include "ws_deque.h"\n#include "ws_pool.h"\n')
        self.expect(
            "@/queue/ws_deque.c", '#include "ws_deque.h"\n#include "ws_pool.h"\n', "ws_deque.c:2 layer"
        )

    def test_a_commented_include_does_not_count(self) -> None:
        self.expect("@/queue/ws_deque.c", '// #include "ws_pool.h"\n/*\n#include "ws_pool.h"\n*/\n')

    def test_anybody_may_include_a_public_header(self) -> None:
        self.expect("@/queue/ws_deque.c", '#include "../include/ws_pool.h"\n')

    def test_every_core_file_has_a_row(self) -> None:
        self.expect("@/core/ws_novelty.c", "", "ws_novelty.c:1 row")

    def test_public_headers_include_public_and_standard_ones(self) -> None:
        self.expect("@/include/ws_group.h", '#include <stdint.h>\n#include "ws_pool.h"\n')
        self.expect("@/include/ws_group.h", "#include <pthread.h>\n", "ws_group.h:1 public")
        self.expect("@/include/ws_group.h", '#include "../queue/ws_deque.h"\n', "ws_group.h:1 public")

    def test_core_headers_stay_in_core_and_tests(self) -> None:
        self.expect("@/shim/tpool.c", '#include "../queue/ws_deque.h"\n', "tpool.c:1 private")
        self.expect("@/tests/unit/test_deque.c", '#include "../../queue/ws_deque.h"\n')

    def test_one_file_includes_stdatomic(self) -> None:
        self.expect("@/queue/ws_deque.c", "#include <stdatomic.h>\n", "ws_deque.c:1 stdatomic")
        self.expect("@/tests/unit/test_deque.c", "#include <stdatomic.h>\n", "test_deque.c:1 stdatomic")
        self.expect("@/tests/model/deque.c", "#include <stdatomic.h>\n")

    def test_oai_names_stay_in_the_shim(self) -> None:
        self.expect("@/setup/ws_pool.c", "// as pushTpool does\nint x;\ntpool_t *t;\n",
                    "ws_pool.c:1 oai-name", "ws_pool.c:3 oai-name")  # fmt: skip
        self.expect("@/shim/tpool.c", "void pushTpool(tpool_t *t, notifiedFIFO_elt_t *e);\n")
        self.expect("@/tests/contract/test_push.c", "task_ans_t answer;\n")
        self.expect("@/setup/ws_pool.c", "int tasks, answers, pool_threads;\n")

    def test_the_table_is_ordered_from_top_to_bottom(self) -> None:
        order = [
            layer_of(name) for name in ("shim/a.c", "setup/ws_pool.c", "sleep/ws_park.c", "base/ws_atomic.h")
        ]
        self.assertNotIn(None, order)
        self.assertEqual(order, sorted(order, key=lambda index: -1 if index is None else index))
        self.assertEqual(len(LAYERS), len({title for title, _ in LAYERS}))
