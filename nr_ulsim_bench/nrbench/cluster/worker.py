# SPDX-License-Identifier: BSD-3-Clause
"""python -m nrbench.cluster.worker   A host's Dask worker, started by `nrbench --cluster ssh:…`.

Its orders are one line of JSON on standard input: scheduler, port, contact, name, certificate, key. It ends
when standard input ends, and leaves nothing behind. So it ends with its client, however the client ends."""

import asyncio
import json
import os
import sys
import tempfile
import threading
from typing import Any

# A profiler that looks every 10 ms, and other work beside what is measured, are off.
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.terminate": False,
    "distributed.comm.timeouts.connect": "30s",
}
THREADS = 2  # one measures; the other answers what the client asks meanwhile


async def _serve(orders: dict[str, Any], scratch: str) -> None:
    from distributed import Worker
    from distributed.security import Security

    certificate, key = orders["certificate"], orders["key"]
    security = Security(
        require_encryption=True, tls_ca_file=certificate, tls_worker_cert=certificate, tls_worker_key=key,
        tls_client_cert=certificate, tls_client_key=key,
    )  # fmt: skip
    async with Worker(
        orders["scheduler"], name=orders["name"], host="127.0.0.1", port=orders["port"], protocol="tls",
        contact_address=orders["contact"], nthreads=THREADS, security=security,
        local_directory=scratch, memory_limit=0, dashboard=False, death_timeout=60,
    ) as worker:  # fmt: skip
        loop, over = asyncio.get_running_loop(), asyncio.Event()

        def until_the_client_ends() -> None:
            while sys.stdin.buffer.read(1 << 16):
                pass
            loop.call_soon_threadsafe(over.set)

        threading.Thread(target=until_the_client_ends, daemon=True).start()
        ends = [asyncio.ensure_future(over.wait()), asyncio.ensure_future(worker.finished())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)


def main() -> None:
    import dask

    dask.config.set(QUIET)
    orders = json.loads(sys.stdin.buffer.readline())
    code = 1
    try:
        with tempfile.TemporaryDirectory(prefix="nrbench-") as folder:
            asyncio.run(_serve(orders, folder))
        code = 0
    except (OSError, ValueError, asyncio.TimeoutError) as error:
        print(f"nrbench worker: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)  # a measurement may still be running: its program ends with this process


if __name__ == "__main__":
    main()
