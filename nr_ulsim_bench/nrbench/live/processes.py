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

A file without a lock is of a process that was killed: who gets the lock removes it.
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import contextmanager, suppress
from typing import Iterator

from nrbench.live.page import LiveError, Page, Pool

SHM, PREFIX = "/dev/shm", "thread_pool_ws.live"
OTHERS = 256  # files that no visible process has locked, at most
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


def uids(pid: int) -> list[int]:
    """Of a process: real, effective, saved, of the file system. None: it has ended, or is hidden"""
    with unless_gone(), suppress(ValueError), open(f"/proc/{pid}/status", "rb") as file:
        return [int(word) for word in file.read().partition(b"\nUid:")[2].split(b"\n")[0].split()]
    return []


def program(pid: int) -> str:
    with unless_gone(), open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
        return "".join(letter for letter in file.read().strip() if letter.isprintable())
    return ""


def remove(page: Page) -> None:
    """The process has ended. Only who has its lock may do so."""
    with suppress(OSError):
        fcntl.flock(page.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if page.is_named():
            os.unlink(page.path)


class Finder:
    def __init__(self) -> None:
        self.errors: list[str] = []
        self.pages: dict[Key, Page] = {}

    def _folders(self, holders: dict[Key, int]) -> Iterator[str]:
        """One of each /dev/shm that is this program's, or of a process with a lock in it."""
        seen = set()
        with unless_gone():
            seen.add(os.stat(SHM).st_dev)
            yield SHM
        for device, pid in {(device, pid) for (device, _), pid in holders.items()}:
            with unless_gone():
                folder = f"/proc/{pid}/root{SHM}"
                if device not in seen and os.stat(folder).st_dev == device:
                    seen.add(device)
                    yield folder

    def _paths(self, folder: str, holders: dict[Key, int]) -> list[str]:
        """Of files that visible processes have locked, and some others: any user may put many there."""
        device, locked, others = os.stat(folder).st_dev, list[str](), list[str]()
        for file in os.scandir(folder):
            if file.name.startswith(PREFIX):
                (locked if (device, file.inode()) in holders else others).append(file.path)
        return locked + others[:OTHERS]

    def _page(self, path: str, holders: dict[Key, int]) -> Page | None:
        """None: no page, or of no living process."""
        stat = os.stat(path, follow_symlinks=False)
        key = stat.st_dev, stat.st_ino
        if key in holders and not os.access(path, os.R_OK):
            raise LiveError(f"{path}: no rights: run it as root, or as the user of process {holders[key]}")
        page = self.pages.get(key) or Page(path)
        page.path = path
        if not (pid := holders.get(page.key, 0)) and not page.lives():
            remove(page)
            return None
        # A file that a process locks which is not its user's: a trap. Root's may be of one that has changed.
        # That of a process which /proc hides (hidepid=2, and it has more rights) must be its own.
        if pid and page.uid not in (0, *(uids(pid) or [os.getuid()])):
            raise LiveError(f"{path}: of user {page.user}, but process {pid} is not: it is left out")
        page.pid, page.program = pid, program(pid) if pid else ""
        return page

    def look(self) -> list[Page]:
        self.errors, holders, found = [], locks(), {}
        for folder in self._folders(holders):
            with unless_gone():
                for path in self._paths(folder, holders):
                    try:
                        with unless_gone():  # it begins just now
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
    found, pages = [], FINDER.look()
    for page in (page for page in pages if pid in (None, page.pid or page.own_pid)):
        try:
            found.append((page, page.pools()))
        except (LiveError, OSError) as error:  # OSError: the page was emptied
            FINDER.errors.append(str(error))
    return found, FINDER.errors


def pages_of(pid: int) -> list[Page]:
    """Of a process as seen from here, or, if it is not visible, by the number that it has for itself."""
    finder = Finder()
    pages = finder.look()
    found = [page for page in pages if page.pid == pid]
    if not found:
        found = [page for page in pages if not page.pid and page.own_pid == pid]
        if len(found) > 1:
            where = "run tpool-ws in the container of one, or on their host"
            raise LiveError(f"several processes that are not visible have the number {pid}: {where}")
    if not found:
        why = "".join(f"; {error}" for error in finder.errors if f".{pid}" in error)
        hint = "it needs TPOOL_WS_LIVE=1, or live=1 in the list of --thread-pool, and the same user"
        raise LiveError(f"no page is there of process {pid}{why or f' ({hint})'}")
    return found
