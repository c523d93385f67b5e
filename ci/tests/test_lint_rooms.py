# SPDX-License-Identifier: BSD-3-Clause
from lint_rooms import check

from tests.fixture import TreeTest

POOL = ("api/tpool.h", "setup/ws_setup.h", "tasks/ws_deque.h", "sleep/ws_budget.h", "sleep/ws_park.h",
        "prewake/ws_prewake.h", "prewake/ws_level.h", "base/ws_atomic.h", "include/ws_pool.h")  # fmt: skip
# A file, what it includes or what it says, the findings there.
CASES: tuple[tuple[str, ...], ...] = (
    ("setup/ws_pool.c", '"ws_setup.h" "../tasks/ws_deque.h"'),
    ("tasks/ws_deque.c", '"ws_deque.h" "../setup/ws_setup.h"', "2 room"),
    ("tasks/ws_deque.c", '"../include/ws_pool.h"'),
    ("sleep/ws_park.c", '"../prewake/ws_prewake.h"'),
    ("sleep/ws_park.c", '"../prewake/ws_level.h"', "1 door"),
    ("tests/unit/test_level.c", '"../../prewake/ws_level.h" "../../tasks/ws_deque.h"'),
    ("prewake/ws_prewake.c", '"../sleep/ws_budget.h"'),
    ("prewake/ws_prewake.c", '"../sleep/ws_park.h"', "1 room"),
    ("include/ws_group.h", '<stdint.h> "ws_pool.h"'),
    ("include/ws_group.h", "<pthread.h>", "1 public"),
    ("include/ws_group.h", '"../tasks/ws_deque.h"', "1 public"),
    ("include/ws_group.h", "<future>", "1 public"),
    ("include/ws_group.hpp", "<future> <boost/asio.hpp>", "2 public"),
    ("shim/tpool.c", '"../tasks/ws_deque.h"', "1 private"),
    ("api/tpool.c", '"ws_pool.h" "../base/ws_atomic.h"'),
    ("api/tpool.c", '"../tasks/ws_deque.h"', "1 wing"),
    ("api/tests/test_tpool.c", '"../../tasks/ws_deque.h"'),
    ("core/ws_push.c", '"../api/tpool.h"', "1 wing"),
    ("base/ws_atomic.h", "<stdatomic.h>"),
    ("tasks/ws_deque.c", "<stdatomic.h>", "1 stdatomic"),
    ("tests/unit/test_deque.c", "<stdatomic.h>", "1 stdatomic"),
    ("tests/model/deque.c", "<stdatomic.h>"),
    ("tasks/ws_deque.c", '// #include "../setup/ws_setup.h"\n/*\n#include "x.h"\n*/\n'),
    ("setup/ws_pool.c", "// as pushTpool does\nint x;\ntpool_t *t;\n", "1 oai-name", "3 oai-name"),
    ("shim/tpool.c", "void pushTpool(tpool_t *t, notifiedFIFO_elt_t *e);\n"),
    ("tests/contract/test_push.c", "task_ans_t answer;\n"),
    ("setup/ws_pool.c", "int tasks, answers, pool_threads;\n"),
    ("core/ws_join.c", "// lane->outbox.reserved\nint x = lane->outbox.reserved;\n", "2 member"),
    ("core/ws_join.c", "ws_outbox_t *one;\n", "1 member"),
    ("core/ws_join.c", "const bool given = ws_inbox_hand(&lane->outbox);\n"),
    ("tasks/ws_inbox.c", "int x = lane->outbox.reserved;\n"),
    ("tests/sim/ws_check.c", "int x = lane->outbox.reserved;\n"),
)
A, B, C = (f'#include "ws_{name}.h"\n' for name in "abc")


class RoomsTest(TreeTest):
    def test_cases(self) -> None:
        for name, text, *expected in CASES:
            if not text.endswith("\n"):
                text = "".join(f"#include {target}\n" for target in text.split())
            files = {f"@/{one}": "" for one in POOL} | {f"@/{name}": text}
            self.expect(check, files, *(f"{name.rpartition('/')[2]}:{finding}" for finding in expected))

    def test_circles(self) -> None:
        for files, *expected in (
            ({"ws_a.c": A + B, "ws_a.h": "", "ws_b.h": C, "ws_c.h": ""},),
            ({"ws_a.c": B, "ws_a.h": "", "ws_b.h": "", "ws_b.c": A}, "ws_a:1 circle"),
            ({"ws_a.h": "", "ws_a.hpp": A + '#include "ws_b.hpp"\n', "ws_b.hpp": A},),
            ({"ws_a.h": B, "ws_b.h": "// " + A},),
        ):
            self.expect(check, {f"@/core/{name}": text for name, text in files.items()}, *expected)

    def test_circles_of_names(self) -> None:
        """b.c includes a.h, and defines what a.h declares; a.c or a.h uses that."""
        b, declared = A + "int look(void)\n{\n}\nint seen[2];\n", "int look(void);\nextern int seen[2];\n"
        call, other = "int go(void)\n{\n  return look();\n}\n", "static int look(void)\n{\n}\n"
        for house in ("@/core", "nr_ulsim_bench/src"):
            for a, header, *expected in (
                (call, "", "ws_a:1 circle"),
                (call.replace("look()", "seen[1]"), "", "ws_a:1 circle"),
                ("const table_t go = {.call = look};\n", "", "ws_a:1 circle"),
                ("", f"static inline {call}", "ws_a:1 circle"),
                (other + call, ""),
                (call.replace("look()", "box->look + box.seen"), ""),
            ):
                files = {"ws_a.c": A + a, "ws_a.h": declared + header, "ws_b.c": b, "ws_b_null.c": b}
                self.expect(check, {f"{house}/{name}": text for name, text in files.items()}, *expected)
        self.expect(check, {"@/include/ws_a.h": f"{declared}static inline {call}", "@/core/ws_b.c": b})

    def test_circles_of_modules(self) -> None:
        late, checked = "def go():\n    from one import b\n", "if TYPE_CHECKING:\n    from one.a import go\n"
        for house in ("nr_ulsim_bench", "ci"):
            for a, b, *expected in (
                ("from one import b\n", "import one.a\n", "a:1 circle"),
                (late, "from one.a import go\n", "a:1 circle"),
                (late, checked),
            ):
                self.expect(check, {f"{house}/one/a.py": a, f"{house}/one/b.py": b}, *expected)
