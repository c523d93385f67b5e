# SPDX-License-Identifier: BSD-3-Clause
"""python -m nrbench.doctor"""

from __future__ import annotations

import typer

from nrbench.doctor.cli import doctor

if __name__ == "__main__":
    app = typer.Typer(add_completion=False)
    app.command()(doctor)
    app(prog_name="nrbench doctor")
