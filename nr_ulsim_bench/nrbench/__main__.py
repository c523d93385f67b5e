# SPDX-License-Identifier: BSD-3-Clause
"""python -m nrbench, and the command nrbench"""

from nrbench.needed import require


def main() -> None:
    require("nrbench")
    from nrbench.cli import main as run

    run()


if __name__ == "__main__":
    main()
