# SPDX-License-Identifier: BSD-3-Clause
"""The processes of this machine whose pools have a page: also those in containers that it may enter."""

import os
from contextlib import suppress
from pathlib import Path

from nrbench.live.page import LiveError, Page, Pool

SHM, PREFIX = Path("/dev/shm"), "thread_pool_ws."
SILENT_S = 2.0  # a page that was not written for so long is of a process that does not run,
GONE_S = 600.0  # and after so long of one that will not


def inode(path: str) -> int:
    """0: it is not there, or may not be seen."""
    with suppress(OSError):
        return os.stat(path).st_ino
    return 0


def start_ticks(pid: int) -> int:
    """0: there is no such process."""
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    return 0


def scan() -> tuple[dict[tuple[int, int, int], int], list[Path]]:
    """@return processes by PID namespace, number there, and start; /dev/shm of each mount namespace"""
    own = inode("/proc/self/ns/pid")
    pids, folders = {}, {inode("/proc/self/ns/mnt"): SHM}
    for pid in (int(name) for name in os.listdir("/proc") if name.isdecimal()):
        with suppress(OSError, IndexError):
            numbers = Path(f"/proc/{pid}/status").read_text().partition("NSpid:")[2].split("\n")[0].split()
            # Not seen: its program has rights that this one has not.
            space = inode(f"/proc/{pid}/ns/pid") or own
            pids[space, int(numbers[-1]), start_ticks(pid)] = pid
            if mounts := inode(f"/proc/{pid}/ns/mnt"):
                folders.setdefault(mounts, Path(f"/proc/{pid}/root/dev/shm"))
    return pids, list(folders.values())


def find(pid: int | None = None) -> tuple[list[tuple[Page, list[Pool]]], list[str]]:
    """@param pid  only this one @return pages with their pools, and why others cannot be read"""
    own, (pids, folders), errors = inode("/proc/self/ns/pid"), scan(), list[str]()
    pages: dict[int, tuple[Page, list[Pool]]] = {}
    for path in (path for folder in folders for path in folder.glob(f"{PREFIX}*")):
        try:
            page, space = Page(path), int(path.name.split(".")[1])
            pools = list(page.pools())
            silent_s = min((pool.silent_s for pool in pools), default=0.0)
            if here := pids.get((space, page.pid, page.began)):
                page.pid, page.program = here, Path(f"/proc/{here}/comm").read_text().strip()
            elif start_ticks(page.pid) != page.began if space == own else silent_s > GONE_S:
                if inode(str(path)) == page.inode:
                    path.unlink()  # the process was killed
                continue
            elif space != own and silent_s > SILENT_S:
                continue
            if pid in (None, page.pid):  # its own number if it is of a container beside this one
                pages.setdefault(page.inode, (page, pools))
        except (LiveError, PermissionError) as error:
            errors.append(str(error))
        except (OSError, ValueError):
            continue  # it has just ended; another file
    return sorted(pages.values(), key=lambda one: one[0].pid), errors


def one(pid: int) -> Page:
    pages, errors = find(pid)
    if len(pages) != 1:
        what = "several containers have a process" if pages else "no page is there of process"
        why = "".join(f"; {error}" for error in errors if f".{pid}" in error)
        hint = "it needs TPOOL_WS_LIVE=1, or live=1 in the list of --thread-pool, and the same user"
        raise LiveError(f"{what} {pid}{why or f' ({hint})'}")
    return pages[0][0]
