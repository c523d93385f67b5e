# SPDX-License-Identifier: BSD-3-Clause
"""ci/oai-preflight on small trees and a host whose every program is made up."""

from pathlib import Path

from oai_model.model import assemble, assemble_unknown
from preflight.tree import ALL_PACKAGES

from tests.preflightcase import TOP, Files, PreflightCase

ASN1C = "check_option(${ASN1C_EXEC} -gen-APER ASN1C_EXEC)\n"
FIND_SCTP = "find_path(sctp_I\n  NAMES netinet/sctp.h\n)\nfind_library(sctp_L NAMES sctp)\n"
MODULES = (
    "pkg_check_modules(blas REQUIRED blas)\npkg_check_modules(OpenSSL openssl REQUIRED)\n"
    "pkg_check_modules(cap libcap)\nif(ENABLE_X)\n  pkg_check_modules(dpdk REQUIRED libdpdk=20.11)\nendif()\n"
)
T_LISTS = (
    "add_executable(genids genids.c)\nadd_custom_command(OUTPUT a.h COMMAND genids a COMMAND xxd -i a)\n"
)
T = "common/utils/T"
T_FILES = {f"oai/{T}/T_messages.txt": "", f"oai/{T}/CMakeLists.txt": T_LISTS}
CPM_SCRIPT = {"oai/cmake_targets/CPM.cmake": "set(CPM_DOWNLOAD_VERSION 0.40.2)\nfile(DOWNLOAD\n  x ${x})\n"}
CPM = 'include("cmake_targets/CPM.cmake")\n'
SIMDE = {"oai/openair1/PHY/sse_intrin.h": "#include <simde/x86/avx2.h>\n"}
SCTP = {"oai/cmake_targets/tools/MODULES/Findsctp.cmake": FIND_SCTP}
HELPER = 'check_supported_distribution() {\n  case "$x" in\n    "debian11") return 0 ;;\n  esac\n}\n'
DEBIAN = {"oai/cmake_targets/tools/build_helper": HELPER, "etc/os-release": 'ID=debian\nVERSION_ID="12"\n'}
DPKG = f'case "{" ".join(ALL_PACKAGES[1:-1])}" in *"$2"*) echo Status: install ok installed ;; esac'
RUNS = "add_executable(nr_ulsim a.c)\n"
ALL = f"apt install {' '.join(ALL_PACKAGES)} "
VRTSIM = {
    **SIMDE, "bin/include/simde/x86/avx2.h": "", "proc/cpuinfo": "flags : fpu avx512f\n",
    "oai/radio/vrtsim/vrtsim.c": "simde_mm512_cvtps_epi32(*in)",
}  # fmt: skip
# The end of the tree's CMakeLists.txt, files of the tree and the host (lay), and what is printed (expect).
CASES: tuple[tuple[str, Files, tuple[str, ...]], ...] = (
    ("", {}, (
        "note spatch none: THREAD_POOL_WS_PATCHES has no effect",
        "note lttng-ust 2.13 or newer not found", "apt install liblttng-ust-dev lttng-tools, for traces")),
    ("", {"+lttng-ust": "", "bin/spatch": "exit 0"}, ("!apt install",)),
    ("add_library(thread-pool ${OPENAIR_DIR}/common/utils/threadPool/thread-pool.c)\n", {},
     ("missing target 2 of thread-pool, UTIL",)),
    # Programs of the host, each with its remedy.
    ("", {f"bin/{name}": None for name in ("cmake", "cc", "c++", "ninja", "pkg-config", "git")}, (
        "missing cmake none, 3.16 is needed -> apt install cmake", "missing pkg-config", "note git none",
        "missing C compiler none of cc, gcc, clang -> apt install gcc", "missing C++ compiler none of c++,",
        "missing ninja or make neither")),
    ("cmake_minimum_required(VERSION 3.28...4.0)\n", {}, ("missing cmake 3.25.1, 3.28 is needed",)),
    ("", {"bin/cmake": "echo cmake version 3.14.4"}, ("missing cmake 3.14.4, 3.16 is needed",)),
    # Packages: of pkg-config, of the tree's own find modules, linked, included.
    (MODULES, {"+openssl": ""}, (
        "missing blas pkg-config does not find it -> apt install libblas-dev", "ok openssl", "note libcap",
        "not ready: 1 missing", "!libdpdk", "!never", "!unused")),
    (MODULES, {"+openssl": "", "+blas": ""}, ("!missing",)),
    (MODULES, {"bin/ninja": None}, (
        "missing", "apt install libblas-dev libssl-dev ninja-build # all that is missing",
        "apt install coccinelle", "libcap-dev", "# optional")),
    ("pkg_check_modules(blas REQUIRED blas)\npkg_check_modules(again REQUIRED blas)\n"
     "target_link_libraries(nr-softmodem PRIVATE blas)\n", {},
     ("missing blas pkg-config does not find it", "not ready: 1 missing")),
    ("find_package(sctp REQUIRED)\n", SCTP,
     ("missing sctp lacks netinet/sctp.h, libsctp -> apt install libsctp-dev",)),
    ("find_package(sctp REQUIRED)\n",
     {**SCTP, "bin/include/netinet/sctp.h": "", "bin/lib/libsctp.so": ""}, ()),
    ("target_link_libraries(nr-softmodem PRIVATE UTIL sctp -Wl,--start-group ${x})\n"
     "target_link_libraries(rftest PRIVATE forms)\n", {},
     ("missing libsctp libsctp not found, linked by nr-softmodem -> apt install libsctp-dev", "note libforms",
      "not ready: 1 missing")),
    ("", SIMDE, ("missing SIMDE lacks simde/x86/avx2.h -> apt install libsimde-dev",)),
    ("", {**SIMDE, "bin/include/simde/x86/avx2.h": ""}, ()),
    (f"{RUNS}add_library(vrtsim MODULE a.c)\n", {**VRTSIM, "oai/a.c": ""}, (
        "note SIMDE of vrtsim lacks simde_mm512_cvtps_epi32, which vrtsim calls on a CPU with AVX-512 -> cd "
        "cmake_targets && ./build_oai -I, or -DAVX512=OFF;", "--target nr_ulsim build_oai", "but vrtsim")),
    ("", {**VRTSIM, "bin/include/simde/x86/avx512/cvt.h": "simde_mm512_cvtps_epi32 (simde__m512 a) {"}, ()),
    ("", {**VRTSIM, "proc/cpuinfo": "flags : fpu avx2\n"}, ()),
    # Systems on which build_oai -I stops; nothing of it where all is there.
    (MODULES, {**DEBIAN, **VRTSIM, "bin/xxd": None}, (
        "missing", f"refuses this system (debian12). In its place, as root: {ALL}# all that is missing cd",
        "cd TOP/oai/cmake_targets && OPENAIR_DIR=TOP/oai bash -c '. tools/build_helper; "
        "install_simde_from_source' apt install coccinelle", "-> see below, or -DAVX512=OFF")),
    (MODULES, {**DEBIAN, "bin/dpkg": DPKG}, (
        "missing", f"as root: apt install automake libblas-dev libssl-dev {ALL_PACKAGES[-1]} # all")),
    (MODULES, {**DEBIAN, "etc/os-release": "ID=debian\nVERSION_ID=11\n"}, ("missing", "!refuses")),
    (MODULES, {**DEBIAN, "etc/os-release": "ID=gentoo\n"}, ("missing", "!refuses")),
    (MODULES, {**DEBIAN, "+openssl": "", "+blas": ""}, ("!refuses", "!build_helper")),
    (CPM, {}, ("missing CPM.cmake",)),
    (CPM, CPM_SCRIPT, ("note CPM the configuration downloads version 0.40.2",)),
    (ASN1C, {}, ("ok asn1c",)),
    # Programs of the build.
    (f"add_subdirectory({T})\n", {**T_FILES, "bin/xxd": None},
     (f"missing xxd called by {T}/CMakeLists.txt -> apt install xxd",)),
    # In a folder that OAI's .gitignore lists, cmake_targets/*/build/; what programs load is named.
    (f"{RUNS}add_library(vrtsim MODULE a.c)\nadd_library(params_yaml MODULE a.c)\n",
     {"oai/a.c": ""}, ("--target nr_ulsim params_yaml vrtsim build_oai: ",)),
    (f"{RUNS}add_library(ldpc MODULE a.c)\n", {"oai/a.c": ""}, (
        "cmake: cmake -G Ninja -S TOP/oai -B TOP/oai/cmake_targets/ws/build",
        "&& cmake --build TOP/oai/cmake_targets/ws/build --target nr_ulsim ldpc build_oai: ",
        "./build_oai -d ws --gNB --nrUE -P -w SIMU --ninja --cmake-opt")),
)  # fmt: skip


class PreflightTest(PreflightCase):
    def test_cases(self) -> None:
        for lists, files, texts in CASES:
            with self.subTest(lists=lists, files=files):
                self.lay(files)
                self.expect(self.oai(lists), *texts)
            self.doCleanups()
            self.setUp()

    def test_models_are_ready_and_their_shapes_are_told(self) -> None:
        self.lay({"bin/lib/libpthread.a": "", "bin/lib/libdl.a": ""})
        for shape in ("A", "B1", "B2", "B2+"):
            target = "UTIL" if shape == "A" else "thread-pool"
            taken = f"{target}; the hook takes out common/utils/threadPool/thread-pool.c"
            self.expect(assemble(shape, self.top / shape), f"pool API shape {shape} ", taken, "!missing")
        self.expect(assemble_unknown(self.top / "oai"), "missing pool API unknown shape")

    def test_other_folders_than_a_tree_s_top(self) -> None:
        tree = self.oai()
        (tree / "cmake_targets").mkdir(exist_ok=True)
        for words, status, text in (
            ((), 2, "usage"), (("--help",), 0, "Reads only"), ((self.top,), 2, "is no OAI tree"),
            ((tree / "cmake_targets",), 2, f"is no OAI tree but a folder of one: give its top, {tree}"),
            ((tree / "common/utils",), 2, f"utils is no OAI tree but a folder of one: give its top, {tree}"),
        ):  # fmt: skip
            found, said = self.preflight(*words)
            self.assertEqual(found, status, said)
            self.assertIn(text, said)
        (tree / "CMakeLists.txt").write_text(TOP.replace("thread-pool.c", "thread-pool.h"))
        self.expect(tree, "missing target 0 of thread-pool, UTIL")

    def test_asn1c_from_source_where_build_oai_refuses(self) -> None:
        self.lay({**DEBIAN, "bin/asn1c": None})
        if not Path("/opt/asn1c/bin/asn1c").exists():
            self.expect(self.oai(ASN1C), "missing asn1c not in PATH nor /opt/asn1c/bin -> see below, or",
                        "'. tools/build_helper; install_asn1c_from_source'")  # fmt: skip

    def test_asn1c_that_the_user_names(self) -> None:
        tree, mine, build = self.oai(ASN1C), str(self.bin / "my-asn1c"), self.top / "build"
        (self.bin / "asn1c").rename(mine)
        if not Path("/opt/asn1c/bin/asn1c").exists():
            self.expect(tree, "missing asn1c not in PATH", "build_oai -I")
        self.expect(tree, f"-DASN1C_EXEC={mine}", ASN1C_EXEC=mine)
        gone = f"{self.top}/gone"
        text = f"missing asn1c {gone} (ASN1C_EXEC): no such program, or not executable"
        self.expect(tree, text, "!does not know", ASN1C_EXEC=gone)
        self.lay({"build/CMakeCache.txt": f"ASN1C_EXEC:FILEPATH={mine}\n"})
        self.assertEqual(self.preflight(tree, "--build-dir", build)[0], 0)
        (tree / "CMakeLists.txt").write_text(TOP + ASN1C + ASN1C.replace("-gen-APER", "-old"))
        self.expect(tree, "missing", "does not know -old", ASN1C_EXEC=mine)

    def test_reads_only_and_quotes_paths(self) -> None:
        tree = self.oai().rename(self.top / "my oai")
        before = {path: path.stat().st_mtime_ns for path in self.top.rglob("*")}
        said = self.preflight(tree, "--build-dir", self.top / "my build")[1]
        self.assertEqual(before, {path: path.stat().st_mtime_ns for path in self.top.rglob("*")})
        self.assertIn(f"-S '{tree}' -B '{self.top}/my build'", said)
        self.assertIn("my build is not configured yet", said)
        folders = f"only into {tree}/cmake_targets/<name>/build"
        self.assertIn(f"build_oai: not into this folder, {folders}", said)
        said = self.preflight(tree, "--build-dir", tree / "cmake_targets" / "my own" / "build")[1]
        self.assertIn(f"cd '{tree}/cmake_targets' && ./build_oai -d 'my own' --gNB", said)
