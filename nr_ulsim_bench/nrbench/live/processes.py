# SPDX-License-Identifier: BSD-3-Clause
"""The processes of this machine whose pools have a page, also those in containers that it may enter.

    finder = Finder()
    finder.look()    pages of processes that live, by pid; called again and again it is cheap
    finder.errors    why other pages cannot be read: lines
    find(pid=None)   pages with their pools, and the errors, with one Finder for all calls
    pages_of(pid)    those of one process: two copies of the library in it have a page each

A page's file is locked (flock) as long as its process lives: ws_page.h. /proc/locks has process, device and
inode of each lock, so no other process is looked at. One of another PID namespace that this program does not
see (it runs in a container beside it, on the same /dev/shm) is not there. Then the lock alone proves life,
and the page's pid is 0: show own_pid and user.

A file without a lock is of a process that was killed. The next pool of its user removes it.
"""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import Iterator

from nrbench.live.page import LiveError, Page, Pool, printable

SHM, PREFIX = "/dev/shm", "thread_pool_ws.live"
OTHERS = 256  # files in a folder that no visible process has locked, at most: any user may put many there
Key = tuple[int, int]


@contextmanager
def unless_gone() -> Iterator[None]:
    """A process that has ended, or is another user's, is left out. Not so when this program may open no more
    files: what it then finds is not all."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
            raise


def locks() -> dict[Key, int]:
    """@return process by device and inode, of all locks by flock() of processes that are visible"""
    found = {}
    with unless_gone(), open("/proc/locks", encoding="ascii") as file:
        for line in file:  # 1: FLOCK  ADVISORY  WRITE 4711 00:1b:2 0 EOF
            words = line.split()
            if len(words) > 5 and words[1] == "FLOCK" and words[3] == "WRITE":
                major, minor, inode = words[5].split(":")
                found[os.makedev(int(major, 16), int(minor, 16)), int(inode)] = int(words[4])
    return found


def read(name: str) -> bytes:
    with unless_gone(), open(f"/proc/{name}", "rb") as file:
        return file.read()
    return b""


def uids(pid: int) -> list[int]:
    """Of a process: real, effective, saved, of the file system. Empty: it has ended, or is hidden"""
    return [*map(int, read(f"{pid}/status").partition(b"\nUid:")[2].split(b"\n")[0].split())]


def folders(holders: dict[Key, int]) -> dict[int, str]:
    """By device, each /dev/shm that is this program's, or of a process with a lock in it."""
    found = dict[int, str]()
    with unless_gone():
        found[os.stat(SHM).st_dev] = SHM
    for (device, _), pid in holders.items():
        with unless_gone():
            folder = f"/proc/{pid}/root{SHM}"
            if device not in found and os.stat(folder).st_dev == device:
                found[device] = folder
    return found


def paths(holders: dict[Key, int]) -> Iterator[str]:
    """Of files that may be pages."""
    for device, folder in folders(holders).items():
        others = 0
        with unless_gone():
            for file in os.scandir(folder):
                if file.name.startswith(PREFIX):
                    is_locked = (device, file.inode()) in holders
                    others += not is_locked
                    if is_locked or others <= OTHERS:
                        yield file.path


class Finder:
    def __init__(self) -> None:
        self.errors: list[str] = []
        self.pages: dict[Key, Page] = {}

    def _page(self, path: str, holders: dict[Key, int]) -> Page | None:
        """None: no living process has it."""
        stat = os.stat(path, follow_symlinks=False)
        key = stat.st_dev, stat.st_ino
        pid = holders.get(key, 0)
        if pid and not os.access(path, os.R_OK):
            raise LiveError(f"{path}: no rights: run it as root, or as the user of process {pid}")
        page = self.pages.get(key) or Page(path)
        if not pid and not page.lives():
            return None
        # A file that a process locks which is not its user's: a trap. Root's may be of one that has changed.
        # That of a process which /proc hides (hidepid=2, and it has more rights) must be its own.
        if pid and page.uid not in (0, *(uids(pid) or [os.getuid()])):
            raise LiveError(f"{path}: of user {page.user}, but process {pid} is not: it is left out")
        page.path, page.pid, page.program = path, pid, printable(read(f"{pid}/comm")) if pid else ""
        return page

    def look(self) -> list[Page]:
        self.errors, holders, found = [], locks(), {}
        for path in paths(holders):
            try:
                with unless_gone():  # or it begins just now
                    if page := self._page(path, holders):
                        found[page.key] = page
            except LiveError as error:
                self.errors.append(str(error))
        self.pages = found
        return sorted(found.values(), key=lambda page: (page.pid, page.own_pid, page.key))


FINDER = Finder()


def find(pid: int | None = None) -> tuple[list[tuple[Page, list[Pool]]], list[str]]:
    """@param pid  only this one, or the number that a process has for itself which is not visible
    @return pages with their pools, and why others cannot be read"""
    found = []
    for page in FINDER.look():
        try:
            if pid in (None, page.pid or page.own_pid):
                found.append((page, page.pools()))
        except (LiveError, OSError) as error:  # OSError: the page was emptied
            FINDER.errors.append(str(error))
    return found, FINDER.errors


def pages_of(pid: int) -> list[Page]:
    """Of a process as seen from here, or, if it is not visible, by the number that it has for itself."""
    finder = Finder()
    pages = finder.look()
    if found := [page for page in pages if page.pid == pid]:
        return found
    found = [page for page in pages if not page.pid and page.own_pid == pid]
    if len(found) > 1:
        where = "run tpool-ws in the container of one, or on their host"
        raise LiveError(f"several processes that are not visible have the number {pid}: {where}")
    if not found:
        why = "".join(f"; {error}" for error in finder.errors if f".{pid}" in error)
        hint = "it needs TPOOL_WS_LIVE=1, or live=1 in the list of --thread-pool, and the same user"
        raise LiveError(f"no page is there of process {pid}{why or f' ({hint})'}")
    return found
