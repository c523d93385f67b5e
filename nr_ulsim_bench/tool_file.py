# SPDX-License-Identifier: BSD-3-Clause
"""tool_file.py VERSION INTERPRETER FILE   writes the command tpool-ws as one file: an archive, which runs
without this checkout, with the same bytes wherever and whenever it is made."""

import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def make_tool(version: str, interpreter: str, made: Path) -> None:
    """@param interpreter  what the first line of the file names, without #!"""
    sources = [*sorted((HERE / "nrbench/live").glob("*.py")), HERE / "nrbench/__init__.py"]
    texts = {str(path.relative_to(HERE)): path.read_bytes() for path in sources}
    texts["__main__.py"] = (HERE / "tpool-ws").read_bytes()
    texts["nrbench/version.py"] = f'VERSION = "{version}"\n'.encode()
    with made.open("wb") as file:
        file.write(f"#!{interpreter}\n".encode())
        with zipfile.ZipFile(file, "w") as archive:  # not compressed: each zlib has other bytes
            for name, text in texts.items():
                archive.writestr(zipfile.ZipInfo(name), text)  # with 1980's date
    made.chmod(0o755)


if __name__ == "__main__":
    make_tool(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
