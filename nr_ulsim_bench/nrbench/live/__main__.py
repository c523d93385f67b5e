# SPDX-License-Identifier: BSD-3-Clause
"""python -m nrbench.live, and the command tpool-ws"""

from nrbench.needed import require


def main() -> None:
    require("tpool-ws", ("numpy", "rich", "typer"))
    from nrbench.live.cli import program

    program.app(prog_name=program.name)


if __name__ == "__main__":
    main()
