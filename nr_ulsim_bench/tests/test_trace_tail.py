# SPDX-License-Identifier: BSD-3-Clause
"""The tail of the times of slots."""

import numpy as np

from nrbench.trace.figures import tail_of
from nrbench.trace.report import picture


def test_the_share_that_takes_at_least_so_long():
    found = tail_of(np.array([400, 100, 300, 200]))
    assert found == {"p999_us": 0.4, "ccdf": [[0.1, 1.0], [0.2, 0.75], [0.3, 0.5], [0.4, 0.25]]}
    assert tail_of(np.array([], dtype=int)) == {"p999_us": None, "ccdf": []}


def test_of_many_slots_some_points_with_the_longest_are_kept():
    found = tail_of(np.arange(100_000) * 1000)
    assert found["p999_us"] == 99_899 and 100 < len(found["ccdf"]) < 300
    assert found["ccdf"][0] == [0, 1] and found["ccdf"][-1] == [99_999, 1e-5]


def test_a_picture_for_the_page(tmp_path):
    rows = [
        tail_of(np.array([100, 200])) | {"name": "a", "limit_us": 0.2},
        tail_of(np.array([])) | {"name": "b"},
    ]
    assert picture(rows, tmp_path).startswith("data:image/png;base64,")
