# SPDX-License-Identifier: BSD-3-Clause
"""python -m nrbench.trace, and the command tpool-ws-trace"""

from nrbench.needed import require


def main() -> None:
    require("tpool-ws-trace", ("typer",))
    from nrbench.trace.cli import program

    program.app(prog_name=program.name)


if __name__ == "__main__":
    main()
