# SPDX-License-Identifier: BSD-3-Clause
"""What a bare root takes over from this machine, to reach the same packages: apt's sources and options,
proxies, certificates, pip's configuration. Nothing here names a host."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
CERTIFICATES = Path("/usr/local/share/ca-certificates")
# Files that a root gets at the same place; those of a home at "~".
CONFIGURATION = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf")
HOME_CONFIGURATION = (".config/pip/pip.conf", ".pip/pip.conf")
PASSED_ON = re.compile(
    r"(?i:(https?|ftp|all|no)_proxy)|PIP_\w+|SSL_CERT_(FILE|DIR)|(REQUESTS|CURL)_CA_BUNDLE|GIT_SSL_CAINFO"
)
# Not programs of this machine that find a proxy.
APT_OPTION = re.compile(r'(?!\S*Auto-?Detect)Acquire::(https?|Check|Retries|ForceIP)\S* "[^"]')
TARGETS = "$(ORIGIN)|$(CODENAME)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)"


def output(*command: str) -> str:
    """A command's output; empty when it fails or is not there."""
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def sources(suite: str, targets: str, codename: str, mirror: str = "") -> list[str]:
    """Lines of a sources.list for the suite: those of this machine's apt when it is a Debian, told by the
    targets that apt-get lists as TARGETS; none when mmdebstrap's own choice is as good."""
    signed = f"[signed-by={KEYRING}] " if KEYRING.is_file() else ""
    if mirror:
        return [f"deb {signed}{mirror} {suite} main"]
    found: dict[str, None] = {}
    for line in targets.splitlines():
        origin, code, uri, release, component = line.split("|")
        own = code == codename or code.startswith(f"{codename}-")
        if codename and origin == "Debian" and own and component == "main":
            found[f"deb {signed}{uri} {code.replace(codename, suite, 1)} main"] = None
    return list(found)


def machine_sources(suite: str, mirror: str = "") -> list[str]:
    release = Path("/etc/os-release")
    text = release.read_text(encoding="utf-8") if release.is_file() else ""
    codename = re.search(r"(?m)^VERSION_CODENAME=(\S+)$", text)
    targets = output("apt-get", "indextargets", "--format", TARGETS)
    return sources(suite, targets, codename[1] if codename else "", mirror)


def apt_options(dump: str, environment: Mapping[str, str]) -> list[str]:
    """Options of apt that decide how it reaches a server. sudo drops variables: a proxy becomes an option."""
    options = [line for line in dump.splitlines() if APT_OPTION.match(line)]
    for scheme in ("http", "https"):
        proxy = environment.get(f"{scheme}_proxy")
        if proxy:
            options.append(f'Acquire::{scheme}::Proxy "{proxy}";')
    return options


def passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables for a process in the root: proxies, certificates, pip's own."""
    return {name: value for name, value in environment.items() if PASSED_ON.fullmatch(name)}


def named_paths(variables: Mapping[str, str]) -> list[Path]:
    """Files and folders here that the variables name."""
    paths = [Path(value) for value in variables.values() if value.startswith("/")]
    return [path for path in paths if path.exists()]


def place(source: Path, target: Path) -> None:
    """Copies a file or folder unless the target is there."""
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copyfile(source, target)


def carry(root: Path, variables: Mapping[str, str], home: str = "root") -> None:
    """Copies this machine's configuration into the root."""
    if CERTIFICATES.is_dir():
        shutil.copytree(CERTIFICATES, root / CERTIFICATES.relative_to("/"), dirs_exist_ok=True)
    for name in CONFIGURATION:
        if os.path.exists(name):
            (root / name[1:]).unlink(missing_ok=True)
            place(Path(name), root / name[1:])
    for name in HOME_CONFIGURATION:
        if (Path.home() / name).is_file():
            place(Path.home() / name, root / home / name)
    for path in named_paths(variables):
        place(path, root / path.relative_to("/"))
