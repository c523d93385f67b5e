# SPDX-License-Identifier: BSD-3-Clause
"""The files of a trace, examined before Babeltrace opens them.

A killed recorder or a full disk leaves files that end in the middle of a packet. Babeltrace then reads no
event at all, or waits forever for the rest of the metadata. Here such files are found by the sizes in the
headers of their packets, as LTTng writes them. Of a stream, the packets before the cut are used.
"""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path
from typing import NamedTuple

from nrbench.trace.events import TraceError

STREAM_MAGIC, METADATA_MAGIC = 0xC1FC1FC1, 0x75D11D57
STREAM_HEADER = 64  # bytes: magic, UUID, stream, instance; begin, end, content size, packet size
METADATA_HEADER = 37
# Bytes of a header; the format of its content size and packet size in bits and, of a stream, the end time
# before them; where these begin.
LAYOUTS = {STREAM_MAGIC: (STREAM_HEADER, "QQQ", 40), METADATA_MAGIC: (METADATA_HEADER, "II", 24)}
RECORD_FILE = "recorded.json"  # `record` describes the recording in this file beside the trace


class Cut(NamedTuple):
    """A stream that does not end where a packet ends."""

    file: Path
    good_bytes: int
    all_bytes: int
    end_ns: int  # of the last good packet, by the trace's clock


def _fail(error: OSError) -> None:
    raise error


def _files(top: Path) -> list[Path]:
    """All files below a folder. A folder that cannot be read is an error."""
    return [Path(folder) / name for folder, _, names in os.walk(top, onerror=_fail) for name in names]


def trace_folders(top: Path) -> list[Path]:
    """Folders that hold a trace: those with a file called metadata."""
    return sorted(file.parent for file in _files(top) if file.name == "metadata")


def find(top: Path) -> list[Path]:
    """As trace_folders(); an error names the reason why there is none."""
    if not top.exists():
        raise TraceError(f"{top}: no such folder")
    if not top.is_dir():
        raise TraceError(f"{top}: is a file; name the folder into which the trace was recorded")
    folders = trace_folders(top)
    if folders:
        return folders
    if {file.name for file in _files(top)} <= {RECORD_FILE}:
        raise TraceError(f"{top}: nothing was recorded into this folder: no traced program ran")
    raise TraceError(f"{top}: not a trace: no file 'metadata' in it or below; copy the whole folder")


def check_metadata(folder: Path) -> None:
    """Raises TraceError if the metadata is empty or cut off. Text without packets is left to Babeltrace."""
    path = folder / "metadata"
    size = path.stat().st_size
    if size == 0:
        raise TraceError(f"{path}: is empty: no traced program ran, the disk was full, or LTTng was killed")
    if whole_packets(path, METADATA_MAGIC)[0] < size:
        raise TraceError(f"{path}: is cut off after {size} bytes; the trace cannot be read without the rest")


def cut_streams(folder: Path) -> list[Cut]:
    """Streams with something behind their last whole packet."""
    cuts = []
    for file in sorted(folder.iterdir()):
        if file.name == "metadata" or not file.is_file():
            continue
        size = file.stat().st_size
        good_bytes, end_ns = whole_packets(file)
        if good_bytes < size:
            cuts.append(Cut(file, good_bytes, size, end_ns))
    return cuts


def whole_packets(path: Path, magic: int = STREAM_MAGIC) -> tuple[int, int]:
    """@return bytes of whole packets, and the end time of the last; the size of a file that has no packets"""
    size, at, end_ns = path.stat().st_size, 0, 0
    header, layout, sizes_at = LAYOUTS[magic]
    with path.open("rb") as file:
        order = _order(file.read(4), magic)
        if order is None:
            return size, 0
        while at < size:
            file.seek(at)
            head = file.read(header)
            if len(head) < header or _order(head, magic) != order:
                break
            *end, content, packet = struct.unpack_from(order + layout, head, sizes_at)
            if packet < header * 8 or content > packet or at + packet // 8 > size:
                break
            at, end_ns = at + packet // 8, sum(end)
    return at, end_ns


def _order(head: bytes, magic: int) -> str | None:
    """Byte order in which a file begins with that number."""
    return next((order for order in "<>" if head[:4] == struct.pack(order + "I", magic)), None)


def repaired(folder: Path, cuts: list[Cut], into: Path) -> Path:
    """Makes a trace of links to the whole streams and of copies of the cut ones up to their cut."""
    into.mkdir(parents=True)
    good = {cut.file: cut.good_bytes for cut in cuts}
    for file in folder.iterdir():
        if not file.is_file():
            continue  # an index would name packets that are gone
        if file not in good:
            (into / file.name).symlink_to(file.resolve())
        elif good[file]:
            shutil.copyfile(file, into / file.name)
            os.truncate(into / file.name, good[file])
    return into


def provider_declared(top: Path, provider: str) -> bool:
    """Whether the recorder has seen a program with that provider: its name begins that of each of its
    events."""
    return any(f"{provider}:".encode() in (folder / "metadata").read_bytes() for folder in trace_folders(top))
