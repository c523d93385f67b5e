# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import contextlib
import io
import sys
import unittest
from unittest import mock

import check_usdt
from check_usdt import HEADER, WIDTHS, differences, events, main, probes
from lintkit import read, repo_root

SOME = """
// LTTNG_UST_TRACEPOINT_EVENT(oai_tpool_ws, comment, LTTNG_UST_TP_ARGS(uint32_t, pool),
LTTNG_UST_TRACEPOINT_EVENT(oai_tpool_ws, start,
  LTTNG_UST_TP_ARGS(uint32_t, pool, const char *, name,
                    int32_t, worker),
  LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, pool, pool)))
LTTNG_UST_TRACEPOINT_EVENT_CLASS(oai_tpool_ws, task,
  LTTNG_UST_TP_ARGS(uintptr_t, arg),
  LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, arg, arg)))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(oai_tpool_ws, task, oai_tpool_ws, push,
  LTTNG_UST_TP_ARGS(uintptr_t, arg))
"""


def note(name: str, arguments: str, provider: str = "oai_tpool_ws") -> str:
    return (
        f"  stapsdt  0x0000003c\tNT_STAPSDT (SystemTap probe descriptors)\n    Provider: {provider}\n"
        f"    Name: {name}\n    Location: 0x4c90, Base: 0x135d8, Semaphore: 0x0\n    Arguments: {arguments}\n"
    )


class UsdtTest(unittest.TestCase):
    def test_events_and_instances_are_read_and_classes_are_not(self) -> None:
        self.assertEqual(events(SOME), {"start": ("4", "8", "-4"), "push": ("8",)})

    def test_every_event_of_the_header_is_read(self) -> None:
        header = read(repo_root() / HEADER)
        found = events(header)
        calls = header.count("LTTNG_UST_TRACEPOINT_EVENT(") + header.count("_EVENT_INSTANCE(")
        self.assertEqual(len(found), calls)
        self.assertIn("run_begin", found)
        task = ("uint32_t", "int32_t", *["uintptr_t"] * 3)
        self.assertEqual(found["run_begin"], tuple(WIDTHS[kind] for kind in task))

    def test_arguments_may_be_anywhere(self) -> None:
        text = note("start", "4@%ecx 8@$.LC0 -4@-20(%rbp)") + note("push", "8@[sp, 24]")
        text += note("x", "8@%rax", provider="libc")
        self.assertEqual(probes(text), {"start": [("4", "8", "-4")], "push": [("8",)]})
        self.assertEqual(list(differences(events(SOME), probes(text))), [])

    def test_each_place_counts(self) -> None:
        text = note("push", "8@%rdi") + note("push", "4@%edi") + note("push", "") + note("new", "8@%rdi")
        self.assertEqual(
            [found.partition(",")[0] for found in differences(events(SOME), probes(text))],
            [
                f"new: a probe that {HEADER} does not list",
                "push: arguments ",
                "push: arguments 4",
                "start: no probe",
            ],
        )

    def exit_status(self, header: str, notes: str) -> int:
        with (
            mock.patch.object(check_usdt, "read", return_value=header),
            mock.patch.object(check_usdt, "notes_of", return_value=notes),
            mock.patch.object(sys, "argv", ["check_usdt.py", "archive"]),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            return main()

    def test_a_header_without_events_fails(self) -> None:
        """As one does that the expressions here no longer read."""
        good = note("start", "4@%ecx 8@$.LC0 -4@-20(%rbp)") + note("push", "8@%rdi")
        self.assertEqual(self.exit_status(SOME, good), 0)
        self.assertEqual(self.exit_status(SOME, ""), 1)
        self.assertEqual(self.exit_status("", ""), 1)


if __name__ == "__main__":
    unittest.main()
