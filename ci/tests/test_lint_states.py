# SPDX-License-Identifier: BSD-3-Clause
from lint_states import check
from lintkit import MODULE, read, repo_root

from tests.fixture import TreeTest

HEADERS = {"ws_inbox_changes": "tasks/ws_inbox.h", "ws_state_changes": "sleep/ws_sleep_state.h",
           "ws_guard_changes": "sleep/ws_sleep_state.h"}  # fmt: skip
MODELS = ("tests/model/Inbox.pml", "tests/model/Park.tla")
# A table, a file, a text there, and what it becomes.
CASES = (
    ("ws_inbox_changes", "tasks/ws_inbox.h", "WS_INBOX_KEPT] = WS_TO(WS_INBOX_AWAY", "WS_INBOX_KEPT] = (0"),
    ("ws_inbox_changes", "tests/model/Inbox.pml", "IS(KEPT, AWAY) || ", ""),
    ("ws_state_changes", "sleep/ws_sleep_state.h", "WS_TO(WS_STATE_RUNNING)", "WS_TO(WS_STATE_SEARCHES)"),
    ("ws_state_changes", "tests/model/Park.tla", '<<"starved", "running">>', '<<"starved", "relied">>'),
    ("ws_guard_changes", "tests/model/Park.tla", '<<"standing", "dormant">>', ""),
)


class StatesTest(TreeTest):
    def setUp(self) -> None:
        self.files = {f"@/{name}": read(repo_root() / MODULE / name) for name in (*HEADERS.values(), *MODELS)}

    def test_a_table_and_its_model_have_the_same_changes(self) -> None:
        self.expect(check, self.files)
        for table, name, old, new in CASES:
            header, text = HEADERS[table], self.files[f"@/{name}"]
            self.assertIn(old, text)
            files = self.files | {f"@/{name}": text.replace(old, new)}
            at = self.files[f"@/{header}"].partition(f" {table}[")[0].count("\n") + 1
            self.expect(check, files, f"{header.split('/')[1]}:{at} states")

    def test_a_list_that_is_gone_is_a_finding(self) -> None:
        text = self.files["@/tests/model/Inbox.pml"].replace("inline change(", "inline changed(")
        self.expect(check, self.files | {"@/tests/model/Inbox.pml": text}, "ws_inbox.h:1 states")
