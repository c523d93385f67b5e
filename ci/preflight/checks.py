# SPDX-License-Identifier: BSD-3-Clause
"""The checks: what a tree asks for against what the host has. Each yields rows of the report."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nrbench.programs import COMPILERS, compiler, run, which

from preflight import host
from preflight.folder import elsewhere
from preflight.tree import KEYWORDS, POOL, POOL_FILES, POOL_TARGETS, Located, Tree, api_shape, cached, read

HOOK_CMAKE = (3, 16)
LTTNG = "2.13"  # as in cmake_targets/thread_pool_ws_patch.cmake
PATCHES = ("trace", "prewake")
# Programs that a user builds; what only other targets link is a note.
PROGRAMS = ("nr-softmodem", "nr-uesoftmodem", "nr_ulsim", "nr_dlsim", "lte-softmodem", "lte-uesoftmodem")
# Debian and Ubuntu packages of what OAI asks for by other names.
PACKAGES = {
    "libconfig": "libconfig-dev", "openssl": "libssl-dev", "blas": "libblas-dev", "lapacke": "liblapacke-dev",
    "sctp": "libsctp-dev", "libcap": "libcap-dev", "yaml-cpp": "libyaml-cpp-dev", "simde": "libsimde-dev",
    "z": "zlib1g-dev", "forms": "libforms-dev", "OpenCL": "ocl-icd-opencl-dev", "crypt": "libcrypt-dev",
    "readline": "libreadline-dev", "atlas": "libatlas-base-dev", "nettle": "nettle-dev", "xxd": "xxd",
    "git": "git", "GTest": "libgtest-dev", "benchmark": "libbenchmark-dev", "numa": "libnuma-dev",
}  # fmt: skip
# Functions of OAI's build_helper for what no package has: Debian's asn1c is too old, and may its SIMDE be.
SIMDE_SOURCE, VRTSIM = "install_simde_from_source", "SIMDE of vrtsim"
FROM_SOURCE = {"asn1c": "install_asn1c_from_source", "SIMDE": SIMDE_SOURCE, VRTSIM: SIMDE_SOURCE}
NEW_SIMDE = "simde_mm512_cvtps_epi32"  # only vrtsim calls it


@dataclass(frozen=True)
class Row:
    status: str  # ok, missing, note
    what: str
    detail: str
    remedy: str = ""

    @property
    def packages(self) -> tuple[str, ...]:
        """Debian's names of what the remedy installs: the words after "apt install", up to a comma."""
        found = re.match(r"apt install ([a-z0-9.+ -]+)", self.remedy)
        return tuple(found[1].split()) if found else ()


def install(name: str) -> str:
    package = PACKAGES.get(name)
    return f"apt install {package}" if package else f"install {name} with its development files"


def row(present: bool, what: str, detail: str, remedy: str, otherwise: str = "missing") -> Row:
    return Row("ok", what, detail) if present else Row(otherwise, what, detail, remedy)


def refused(tree: Tree) -> str:
    """This system's name, where it is a Debian or Ubuntu that build_oai -I does not install packages on."""
    name, text = host.distribution(), read(tree.root / "cmake_targets" / "tools" / "build_helper")
    known = re.search(r"^check_supported_distribution\(\) *\{(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    refuses = known and f'"{name}"' not in known[1] and name.startswith(("debian", "ubuntu"))
    return name if refuses else ""


def by_oai(tree: Tree) -> str:
    """How OAI installs what no package has."""
    return "see below" if refused(tree) else "cd cmake_targets && ./build_oai -I"


def check_shape(tree: Tree) -> Iterator[Row]:
    shape = api_shape(tree.root / POOL)
    words = "thread-pool.h with pushTpool, and notifiedFIFO_elt_t there or join_task_ans in task_ans.h"
    detail = f"shape {shape}" if shape else f"unknown shape in {tree.root / POOL}; looked for {words}"
    remedy = "this OAI is unknown to thread_pool_ws; build it with its own pool"
    yield row(shape is not None, "pool API", detail, remedy)
    holders = tree.pool_targets()
    detail = f"{len(holders)} of {', '.join(POOL_TARGETS)} compile {POOL_FILES[0]}"
    if len(holders) == 1:
        [(target, files)] = holders.items()
        names = ", ".join(str(file.relative_to(tree.root)) for file in files)
        detail = f"{target}; the hook takes out {names}"
    remedy = "the hook will stop; build this OAI with its own pool"
    yield row(len(holders) == 1, "target", detail, remedy)


def minimum_cmake(tree: Tree) -> tuple[int, ...]:
    wanted = HOOK_CMAKE
    for here in tree.each("cmake_minimum_required"):
        if here.file == tree.root / "CMakeLists.txt":
            # Of "3.16...4.0" the first.
            if numbers := re.match(r"\d+(\.\d+)*", " ".join(here.command.values("VERSION"))):
                wanted = max(wanted, tuple(int(n) for n in numbers[0].split(".")))
    return wanted


def check_tools(tree: Tree) -> Iterator[Row]:
    cmake, wanted = which("cmake"), minimum_cmake(tree)
    have = host.version_of(cmake) if cmake else ()
    need = f"{host.dotted(wanted)} is needed"
    yield row(have >= wanted, "cmake", f"{host.dotted(have)}, {need}" if cmake else f"none, {need}",
              "apt install cmake, or pip install cmake for a newer one")  # fmt: skip
    cxx = ("c++", "g++", "clang++")
    for what, path, none, package in (
        ("C compiler", compiler("CC", *COMPILERS), f"none of {', '.join(COMPILERS)}", "gcc"),
        ("C++ compiler", compiler("CXX", *cxx), f"none of {', '.join(cxx)}", "g++"),
        ("ninja or make", which("ninja", "ninja-build", "make"), "neither", "ninja-build"),
        ("pkg-config", which("pkg-config", "pkgconf"), "none", "pkg-config"),
    ):
        yield row(path is not None, what, path or none, f"apt install {package}")
    git = which("git")
    yield row(git is not None, "git", git or "none: OAI's version will be unknown", install("git"), "note")


def wanted_patches(build_dir: Path | None) -> tuple[str, ...]:
    """The sets of patches that a build folder is configured with."""
    if build_dir is None:
        return ()
    value = cached(build_dir, "THREAD_POOL_WS_PATCHES") or "OFF"
    if value.upper() in ("ON", "YES", "TRUE", "1", "Y"):
        return PATCHES
    return tuple(word for word in value.split(";") if word in PATCHES)


def check_patches(build_dir: Path | None) -> Iterator[Row]:
    """What THREAD_POOL_WS_PATCHES needs: missing where this build folder has it on, else a note."""
    wanted = wanted_patches(build_dir)
    spatch = which("spatch")
    yield row(spatch is not None, "spatch", spatch or "none: THREAD_POOL_WS_PATCHES has no effect",
              "apt install coccinelle, for THREAD_POOL_WS_PATCHES (trace marks and hints in OAI's uplink)",
              "missing" if wanted else "note")  # fmt: skip
    lttng = host.pkg_config(f"lttng-ust>={LTTNG}")
    yield row(lttng, "lttng-ust", f"{LTTNG} or newer found" if lttng else
              f"{LTTNG} or newer not found: no tracepoints, THREAD_POOL_WS_PATCHES=trace marks nothing",
              "apt install liblttng-ust-dev lttng-tools, for traces",
              "missing" if "trace" in wanted else "note")  # fmt: skip


def check_folder(tree: Tree, build_dir: Path | None) -> Iterator[Row]:
    reason = elsewhere(tree.root, build_dir) if build_dir else ""
    if reason:
        yield Row("missing", "build folder", f"{reason}: cmake will refuse it",
                  "name another folder with --build-dir, or empty this one")  # fmt: skip


def asn1c_path(build_dir: Path | None) -> str | None:
    """The build folder's, the environment's, the one in PATH, the one where build_oai -I puts it."""
    before = cached(build_dir, "ASN1C_EXEC") if build_dir else None
    if before and not before.endswith("-NOTFOUND"):
        return before
    local = Path("/opt/asn1c/bin/asn1c")
    return os.environ.get("ASN1C_EXEC") or which("asn1c") or (str(local) if local.exists() else None)


def check_asn1c(tree: Tree, build_dir: Path | None) -> Iterator[Row]:
    options = [here.command.args[1] for here in tree.each("check_option")
               if len(here.command.args) > 1 and "ASN1C" in here.command.args[0]]  # fmt: skip
    if not options:
        return
    remedy = f"{by_oai(tree)}, or -DASN1C_EXEC=<path> (here: ASN1C_EXEC=<path> before)"
    path = asn1c_path(build_dir)
    if path is None or which(path) is None:
        named = path and f"{path} (ASN1C_EXEC): no such program, or not executable"
        yield Row("missing", "asn1c", named or "not in PATH nor /opt/asn1c/bin", remedy)
        return
    # OAI takes exit status 1, "no grammar given", for yes.
    refused = [option for option in options if run(path, option)[0] != 1]
    detail = f"{path} does not know {', '.join(refused)}" if refused else f"{path}, knows {' '.join(options)}"
    yield row(not refused, "asn1c", detail, f"OAI's own asn1c: {remedy}")


def modules_of(here: Located) -> list[str]:
    return here.command.values("REQUIRED", "QUIET", "IMPORTED_TARGET", "NO_CMAKE_PATH", "GLOBAL")[1:]


def check_pkg_config(tree: Tree) -> Iterator[Row]:
    for here in tree.each("pkg_check_modules", "pkg_search_module"):
        required = "REQUIRED" in here.command.args
        if here.conditions or (not required and here.file != tree.root / "CMakeLists.txt"):
            continue
        for module in modules_of(here):
            present = host.pkg_config(module)
            detail = "pkg-config finds it" if present else "pkg-config does not find it"
            if not required:
                detail += "; OAI builds without it as well"
            name = re.split("[<>=]", module)[0]
            remedy = install(name) if required or name in PACKAGES else ""
            yield row(present, module, detail, remedy, "missing" if required else "note")


def own_finder(tree: Tree, name: str) -> tuple[list[str], list[str]]:
    """Headers and libraries that the tree's own Find<name>.cmake looks for."""
    text = read(tree.root / "cmake_targets" / "tools" / "MODULES" / f"Find{name}.cmake")
    pattern = r"{}\s*\(\s*\w+\s+(?:NAMES\s+)?([\w./+-]+)"
    return re.findall(pattern.format("find_path"), text), re.findall(pattern.format("find_library"), text)


def check_packages(tree: Tree) -> Iterator[Row]:
    cc = compiler("CC", *COMPILERS)
    for here in tree.each("find_package"):
        name = here.command.args[0] if here.command.args else ""
        required = "REQUIRED" in here.command.args
        if here.conditions or not name or name == "Git":
            continue
        headers, libraries = own_finder(tree, name)
        lacking = [header for header in headers if not host.has_header(cc, header)]
        lacking += [f"lib{lib}" for lib in libraries if host.library(cc, lib) is None]
        if headers or libraries:
            detail = f"lacks {', '.join(lacking)}" if lacking else ", ".join(headers + libraries)
            yield row(not lacking, name, detail, install(name), "missing" if required else "note")
        elif downloads(tree, here.file):
            yield from check_download(tree, here, name, cc)
        elif required and not host.cmake_package(cc, name):
            yield Row("note", name, "required; not checked here: CMake's search decides", install(name))


def downloads(tree: Tree, file: Path) -> bool:
    return any(here.file == file for here in tree.each("CPMAddPackage", "cpmaddpackage"))


def check_download(tree: Tree, here: Located, name: str, cc: str | None) -> Iterator[Row]:
    present = host.cmake_package(cc, name)
    detail = "found" if present else "not found: CPM will download it during the configuration"
    yield row(present, name, detail, f"{install(name)}, or have network", "note")


def check_cpm(tree: Tree) -> Iterator[Row]:
    files = [file for file in tree.entered if file.name == "CPM.cmake"]
    includes = [here.command.args[0] for here in tree.each("include") if here.command.args]
    if not files and any(name.endswith("CPM.cmake") for name in includes):
        yield Row("missing", "CPM.cmake", "included by the tree and not in it",
                  "a complete checkout of OAI: git restore cmake_targets/CPM.cmake")  # fmt: skip
    for file in files:
        version = re.search(r"CPM_DOWNLOAD_VERSION\s+\"?([\d.]+)", read(file))
        if version and re.search(r"file\s*\(\s*DOWNLOAD", read(file), re.IGNORECASE):
            yield Row("note", "CPM", f"the configuration downloads version {version[1]} into its cache once",
                      "have network, or set CPM_SOURCE_CACHE to a folder that holds it")  # fmt: skip


def check_simde(tree: Tree) -> Iterator[Row]:
    users = ("sse_intrin.h", "TOOLS/tools_defs.h", "impl_defs_top.h")
    text = "\n".join(read(tree.root / "openair1" / "PHY" / name) for name in users)
    headers = sorted(set(re.findall(r"include\s*[<\"](simde/[\w./-]+)", text)))
    if headers:
        cc = compiler("CC", *COMPILERS)
        lacking = [h for h in headers if not host.has_header(cc, h) and not (tree.root / h).exists()]
        remedy = f"{install('simde')}, or {by_oai(tree)}"
        detail = f"lacks {', '.join(lacking)}" if lacking else f"{len(headers)} headers, all there"
        yield row(not lacking, "SIMDE", detail, remedy)
        used = NEW_SIMDE in read(tree.root / "radio" / "vrtsim" / "vrtsim.c")
        if used and host.has_avx512() and not host.headers_have(cc, "simde/x86/avx512/*.h", NEW_SIMDE):
            detail = f"lacks {NEW_SIMDE}, which vrtsim calls on a CPU with AVX-512"
            yield Row("note", VRTSIM, detail, f"{by_oai(tree)}, or -DAVX512=OFF; or build without vrtsim")


def linked_by(tree: Tree) -> dict[str, set[str]]:
    """Libraries named to the linker that are no target of the tree, and the targets that link them."""
    targets, users = tree.targets(), {}
    for here in tree.each("target_link_libraries"):
        for arg in here.command.args[1:]:
            name = arg[2:] if arg.startswith("-l") else arg
            plain = re.fullmatch(r"[\w+][\w+.-]*", name) and "::" not in name
            if plain and name not in targets and name not in KEYWORDS and not here.conditions:
                users.setdefault(name, set()).add(here.command.args[0])
    return users


def check_linked(tree: Tree) -> Iterator[Row]:
    cc = compiler("CC", *COMPILERS)
    good = []
    for name, users in sorted(linked_by(tree).items()):
        if host.library(cc, name):
            good.append(name)
            continue
        main = sorted(users.intersection(PROGRAMS))
        detail = f"lib{name} not found, linked by {', '.join(main or sorted(users)[:3])}"
        yield Row("missing" if main else "note", f"lib{name}", detail, install(name))
    if good:
        yield Row("ok", "linked libraries", ", ".join(good))


def check_programs(tree: Tree) -> Iterator[Row]:
    """Programs that custom commands of the build call."""
    wanted, targets = {}, tree.targets()
    for here in tree.each("add_custom_command"):
        for word, name in zip(here.command.args, here.command.args[1:]):
            called = word == "COMMAND" and re.fullmatch(r"[\w.+-]+", name) and not here.conditions
            if called and name not in targets:
                wanted[name] = here.file
    for name, file in sorted(wanted.items()):
        path = which(name)
        detail = path or f"called by {file.relative_to(tree.root)}"
        yield row(path is not None, name, detail, install(name))


def once(rows: Iterable[Row]) -> Iterator[Row]:
    """Without repetitions: the same module, and a library whose package is named already."""
    seen: set[tuple[str, str]] = set()
    told: set[str] = set()
    for one in rows:
        repeated = (one.what, one.detail) in seen
        if one.status != "ok" and one.packages:
            repeated = repeated or told.issuperset(one.packages)
            told.update(one.packages if one.status == "missing" else ())
        seen.add((one.what, one.detail))
        if not repeated:
            yield one


def all_checks(tree: Tree, build_dir: Path | None) -> list[Row]:
    return [*once((
        *check_shape(tree), *check_folder(tree, build_dir), *check_tools(tree),
        *check_patches(build_dir), *check_asn1c(tree, build_dir), *check_cpm(tree),
        *check_pkg_config(tree), *check_packages(tree), *check_simde(tree),
        *check_linked(tree), *check_programs(tree),
    ))]  # fmt: skip
