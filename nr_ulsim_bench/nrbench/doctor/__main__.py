# SPDX-License-Identifier: BSD-3-Clause
"""python -m nrbench.doctor"""

from nrbench.needed import require


def main() -> None:
    require("nrbench doctor", ("rich", "typer"))
    import typer

    from nrbench.doctor.cli import doctor

    app = typer.Typer(add_completion=False)
    app.command()(doctor)
    app(prog_name="nrbench doctor")


if __name__ == "__main__":
    main()
