# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

from lint_rooms import check

from tests.fixture import TreeTest

POOL = {
    "@/api/tpool.h": "",
    "@/setup/ws_start.h": "",
    "@/tasks/ws_deque.h": "",
    "@/sleep/ws_budget.h": "",
    "@/sleep/ws_park.h": "",
    "@/prewake/ws_prewake.h": "",
    "@/prewake/ws_level.h": "",
    "@/base/ws_atomic.h": "#include <stdatomic.h>\n",
    "@/include/ws_pool.h": "",
}


class RoomsTest(TreeTest):
    def expect(self, name: str, text: str, *expected: str) -> None:
        self.assert_rules(check(self.tree({**POOL, name: text})), *expected)

    def test_an_include_points_down_or_sideways(self) -> None:
        self.expect("@/setup/ws_pool.c", '#include "ws_start.h"\n#include "../tasks/ws_deque.h"\n')
        self.expect("@/tasks/ws_deque.c", '#include "ws_deque.h"\n#include "../setup/ws_start.h"\n',
                    "ws_deque.c:2 room")  # fmt: skip

    def test_a_commented_include_does_not_count(self) -> None:
        self.expect("@/tasks/ws_deque.c", '// #include "../setup/ws_start.h"\n/*\n#include "x.h"\n*/\n')

    def test_anybody_may_include_a_public_header(self) -> None:
        self.expect("@/tasks/ws_deque.c", '#include "../include/ws_pool.h"\n')

    def test_a_room_is_entered_by_its_door(self) -> None:
        self.expect("@/sleep/ws_park.c", '#include "../prewake/ws_prewake.h"\n')
        self.expect("@/sleep/ws_park.c", '#include "../prewake/ws_level.h"\n', "ws_park.c:1 door")
        self.expect("@/tests/unit/test_level.c", '#include "../../prewake/ws_level.h"\n')

    def test_prewake_knows_the_budget_only(self) -> None:
        self.expect("@/prewake/ws_prewake.c", '#include "../sleep/ws_budget.h"\n')
        self.expect("@/prewake/ws_prewake.c", '#include "../sleep/ws_park.h"\n', "ws_prewake.c:1 room")

    def test_public_headers_include_public_and_standard_ones(self) -> None:
        self.expect("@/include/ws_group.h", '#include <stdint.h>\n#include "ws_pool.h"\n')
        self.expect("@/include/ws_group.h", "#include <pthread.h>\n", "ws_group.h:1 public")
        self.expect("@/include/ws_group.h", '#include "../tasks/ws_deque.h"\n', "ws_group.h:1 public")
        self.expect("@/include/ws_group.h", "#include <future>\n", "ws_group.h:1 public")
        self.expect("@/include/ws_group.hpp", "#include <future>\n#include <boost/asio.hpp>\n",
                    "ws_group.hpp:2 public")  # fmt: skip

    def test_headers_of_rooms_stay_in_the_pool_and_its_tests(self) -> None:
        self.expect("@/shim/tpool.c", '#include "../tasks/ws_deque.h"\n', "tpool.c:1 private")
        self.expect("@/tests/unit/test_deque.c", '#include "../../tasks/ws_deque.h"\n')

    def test_the_interfaces_of_other_pools_use_the_public_headers(self) -> None:
        self.expect("@/api/tpool.c", '#include "ws_pool.h"\n#include "../base/ws_atomic.h"\n')
        self.expect("@/api/tpool.c", '#include "../tasks/ws_deque.h"\n', "tpool.c:1 wing")
        self.expect("@/api/tests/test_tpool.c", '#include "../../tasks/ws_deque.h"\n')
        self.expect("@/core/ws_push.c", '#include "../api/tpool.h"\n', "ws_push.c:1 wing")

    def test_one_file_includes_stdatomic(self) -> None:
        self.expect("@/tasks/ws_deque.c", "#include <stdatomic.h>\n", "ws_deque.c:1 stdatomic")
        self.expect("@/tests/unit/test_deque.c", "#include <stdatomic.h>\n", "test_deque.c:1 stdatomic")
        self.expect("@/tests/model/deque.c", "#include <stdatomic.h>\n")

    def test_oai_names_stay_in_the_shim(self) -> None:
        self.expect("@/setup/ws_pool.c", "// as pushTpool does\nint x;\ntpool_t *t;\n",
                    "ws_pool.c:1 oai-name", "ws_pool.c:3 oai-name")  # fmt: skip
        self.expect("@/shim/tpool.c", "void pushTpool(tpool_t *t, notifiedFIFO_elt_t *e);\n")
        self.expect("@/tests/contract/test_push.c", "task_ans_t answer;\n")
        self.expect("@/setup/ws_pool.c", "int tasks, answers, pool_threads;\n")
