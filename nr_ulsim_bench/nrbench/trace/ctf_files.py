# SPDX-License-Identifier: BSD-3-Clause
"""The files of a trace, looked at before Babeltrace opens them.

Babeltrace reads no event of a trace one of whose files ends in the middle of a packet, and waits for ever for
the rest of a metadata file. Both are what is left when a recorder is killed or a disk is full. Here such
files are found by the sizes in their packets' headers, as LTTng writes them; of a stream, the packets before
the cut are used.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Iterator, NamedTuple

from nrbench.trace.errors import TraceError

STREAM_MAGIC, METADATA_MAGIC = 0xC1FC1FC1, 0x75D11D57
STREAM_HEADER = 64  # bytes: magic, UUID, stream, instance; begin, end, content size, packet size
METADATA_HEADER = 37
COPY_BYTES = 1 << 20
RECORD_FILE = "recorded.json"  # beside the trace, what `record` says of it


class Cut(NamedTuple):
    """A stream that does not end where a packet ends."""

    file: Path
    good_bytes: int
    all_bytes: int
    end_ns: int  # of the last good packet, by the trace's clock


def _walk(top: Path) -> Iterator[tuple[Path, list[str]]]:
    """Each folder and its files; one that cannot be read is no empty one."""

    def fail(error: OSError) -> None:
        raise TraceError(f"{error.filename}: {error.strerror}") from error

    return ((Path(folder), files) for folder, _, files in os.walk(top, onerror=fail))


def trace_folders(top: Path) -> list[Path]:
    """Folders that hold a trace: those with a file called metadata."""
    return sorted(folder for folder, files in _walk(top) if "metadata" in files)


def find(top: Path) -> list[Path]:
    """The same, or why there is none."""
    if not top.exists():
        raise TraceError(f"{top}: there is no such folder")
    if not top.is_dir():
        raise TraceError(f"{top}: is a file; name the folder that was recorded into")
    folders = trace_folders(top)
    if folders:
        return folders
    files = [folder / name for folder, names in _walk(top) for name in names]
    if files == [top / RECORD_FILE]:
        raise TraceError(f"{top}: nothing was recorded into it: no traced program ran")
    if not files:
        raise TraceError(
            f"{top}: the folder is empty: nothing was recorded into it, or no traced program ran"
        )
    if any(_stream_order(file) for file in files):
        raise TraceError(f"{top}: the file 'metadata' of the trace is missing; copy the whole folder")
    raise TraceError(f"{top}: is not a trace: no file 'metadata' in it or below")


def check_metadata(folder: Path) -> None:
    """Raise if it is empty or cut; text without packets is left to Babeltrace."""
    path = folder / "metadata"
    size = path.stat().st_size
    if size == 0:
        if any(_stream_order(file) for file in folder.iterdir()):
            raise TraceError(
                f"{path}: is empty, and there are events: the disk was full, or LTTng was killed"
            )
        raise TraceError(f"{path}: is empty: no traced program has run while this was recorded")
    at = 0
    with path.open("rb") as file:
        while at < size:
            file.seek(at)
            head = file.read(METADATA_HEADER)
            order = _order(head, METADATA_MAGIC)
            if order is None and at == 0:
                return
            step = struct.unpack_from(order + "I", head, 28)[0] // 8 if order and len(head) >= 32 else 0
            if step < METADATA_HEADER or at + step > size:
                raise TraceError(f"{path}: is cut off after {size} bytes; nothing can be read without it")
            at += step


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


def whole_packets(path: Path) -> tuple[int, int]:
    """@return bytes of whole packets, and the end of the last; all of a file that is no stream of LTTng's"""
    size, at, end_ns = path.stat().st_size, 0, 0
    order = _stream_order(path)
    if order is None:
        return size, 0
    with path.open("rb") as file:
        while at < size:
            file.seek(at)
            head = file.read(STREAM_HEADER)
            if len(head) < STREAM_HEADER or _order(head, STREAM_MAGIC) != order:
                break
            end, content, packet = struct.unpack_from(order + "QQQ", head, 40)
            if packet < STREAM_HEADER * 8 or content > packet or at + packet // 8 > size:
                break
            at, end_ns = at + packet // 8, end
    return at, end_ns


def _order(head: bytes, magic: int) -> str | None:
    """Byte order in which a file begins with that number."""
    for order in "<>":
        if len(head) >= 4 and struct.unpack_from(order + "I", head)[0] == magic:
            return order
    return None


def _stream_order(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return _order(file.read(4), STREAM_MAGIC)
    except OSError:
        return None


def repaired(folder: Path, cuts: list[Cut], into: Path) -> Path:
    """A trace of links to the good streams and copies of what is good of the cut ones."""
    into.mkdir(parents=True)
    good = {cut.file: cut.good_bytes for cut in cuts}
    for file in folder.iterdir():
        if not file.is_file():
            continue  # an index would speak of packets that are gone
        if file not in good:
            (into / file.name).symlink_to(file.resolve())
        elif good[file]:
            _copy(file, into / file.name, good[file])
    return into


def _copy(source: Path, target: Path, count: int) -> None:
    with source.open("rb") as file, target.open("wb") as copy:
        while count > 0:
            chunk = file.read(min(COPY_BYTES, count))
            if not chunk:
                break
            copy.write(chunk)
            count -= len(chunk)


def provider_declared(top: Path, provider: str) -> bool:
    """Whether a program with that provider has been seen by the recorder."""
    try:
        return any(f"{provider}:".encode() in _metadata(folder) for folder in trace_folders(top))
    except OSError as error:
        raise TraceError(f"{error.filename}: {error.strerror}") from error


def _metadata(folder: Path) -> bytes:
    """The text of the metadata; its packets' headers, which may part a name, are cut out."""
    raw, at, text = (folder / "metadata").read_bytes(), 0, b""
    while True:
        order = _order(raw[at : at + 4], METADATA_MAGIC)
        if order is None or at + METADATA_HEADER > len(raw):
            return text + raw[at:]
        content, packet = (bits // 8 for bits in struct.unpack_from(order + "II", raw, at + 24))
        text += raw[at + METADATA_HEADER : at + content]
        if packet < METADATA_HEADER:
            return text
        at += packet
