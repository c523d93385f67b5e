# SPDX-License-Identifier: BSD-3-Clause
"""ci/oai-preflight on small trees and a host whose every program is made up."""

from __future__ import annotations

from pathlib import Path

from oai_model.model import assemble, assemble_unknown

from tests.preflightcase import PROGRAMS, TOP, PreflightCase


class PreflightTest(PreflightCase):
    def test_models_are_ready_and_their_shapes_are_told(self) -> None:
        targets = {"A": "UTIL", "B1": "thread-pool", "B2": "thread-pool", "B2+": "thread-pool"}
        (self.bin / "lib" / "libpthread.a").touch()
        (self.bin / "lib" / "libdl.a").touch()
        for shape, target in targets.items():
            with self.subTest(shape=shape):
                status, said = self.preflight(assemble(shape, self.top / shape))
                self.assertEqual(status, 0, said)
                self.assertIn(f"pool API shape {shape} ", said)
                self.assertIn(f"{target}; the hook takes out common/utils/threadPool/thread-pool.c", said)
                self.assertTrue(said.endswith("ready"))
                self.assertNotIn("missing", said)

    def test_unknown_shape(self) -> None:
        self.assert_missing(assemble_unknown(self.top / "oai"), "missing pool API unknown shape")

    def test_no_target_and_two_targets(self) -> None:
        tree = self.oai("add_library(thread-pool ${OPENAIR_DIR}/common/utils/threadPool/thread-pool.c)\n")
        self.assert_missing(tree, "missing target 2 of thread-pool, UTIL")
        top = tree / "CMakeLists.txt"
        top.write_text(top.read_text().replace("thread-pool.c", "thread-pool.h"))
        self.assert_missing(tree, "missing target 0 of thread-pool, UTIL")

    def test_no_oai_tree(self) -> None:
        status, said = self.preflight(self.top)
        self.assertEqual(status, 2)
        self.assertIn("is no OAI tree", said)

    def test_a_folder_of_a_tree(self) -> None:
        tree = self.oai()
        for name in ("cmake_targets", "common/utils"):
            (tree / name).mkdir(parents=True, exist_ok=True)
            status, said = self.preflight(tree / name)
            self.assertEqual(status, 2)
            self.assertIn(f"{name} is no OAI tree but a folder of one: give its top, {tree}", said)

    def test_part_of_a_tree(self) -> None:
        tree = self.oai()
        (tree / "CMakeLists.txt").unlink()
        status, said = self.preflight(tree)
        self.assertEqual(status, 2)
        self.assertIn("its pool's API has shape A", said)

    def test_usage(self) -> None:
        self.assertEqual(self.preflight()[0], 2)
        status, said = self.preflight("--help")
        self.assertEqual(status, 0)
        self.assertIn("Reads only", said)

    def test_each_missing_tool_has_its_remedy(self) -> None:
        tree = self.oai()
        self.assertEqual(self.preflight(tree)[0], 0)
        for name, text in {
            "cmake": "missing cmake none, 3.16 is needed -> apt install cmake",
            "cc": "missing C compiler none of cc, gcc, clang -> apt install gcc",
            "c++": "missing C++ compiler",
            "ninja": "missing ninja or make neither",
            "pkg-config": "missing pkg-config",
        }.items():
            with self.subTest(tool=name):
                (self.bin / name).unlink()
                self.assert_missing(tree, text)
                self.program(name, PROGRAMS[name])

    def test_optional_tools_are_notes(self) -> None:
        (self.bin / "git").unlink()
        self.modules.clear()
        status, said = self.preflight(self.oai())
        self.assertEqual(status, 0, said)
        self.assertIn("note git none", said)
        self.assertIn("note hwloc not found", said)

    def test_cmake_older_than_the_tree_wants(self) -> None:
        tree = self.oai()
        top = tree / "CMakeLists.txt"
        top.write_text(top.read_text().replace("3.12", "3.28...4.0"))
        self.assert_missing(tree, "missing cmake 3.25.1, 3.28 is needed")
        top.write_text(top.read_text().replace("3.28...4.0", "3.12"))
        self.program("cmake", "echo cmake version 3.14.4")
        self.assert_missing(tree, "missing cmake 3.14.4, 3.16 is needed")

    def test_required_and_optional_modules(self) -> None:
        tree = self.oai(
            "pkg_check_modules(blas REQUIRED blas)\npkg_check_modules(OpenSSL openssl REQUIRED)\n"
            "pkg_check_modules(cap libcap)\n"
            "if(ENABLE_X)\n  pkg_check_modules(dpdk REQUIRED libdpdk=20.11)\nendif()\n"
        )
        self.modules |= {"openssl"}
        self.assert_missing(
            tree, "missing blas pkg-config does not find it -> apt install libblas-dev", "ok openssl",
            "note libcap", "not ready: 1 missing", "wanted by options only: libdpdk",
        )  # fmt: skip
        status, said = self.preflight(tree)
        self.assertNotIn("never", said)
        self.assertNotIn("unused", said)
        self.modules |= {"blas"}
        self.assertEqual(self.preflight(tree)[0], 0)

    def test_the_trees_own_find_module(self) -> None:
        tree = self.oai("find_package(sctp REQUIRED)\n")
        finder = tree / "cmake_targets" / "tools" / "MODULES" / "Findsctp.cmake"
        finder.parent.mkdir(parents=True)
        finder.write_text("find_path(sctp_I\n  NAMES netinet/sctp.h\n)\nfind_library(sctp_L NAMES sctp)\n")
        self.assert_missing(tree, "missing sctp lacks netinet/sctp.h, libsctp -> apt install libsctp-dev")
        (self.bin / "include" / "netinet").mkdir()
        (self.bin / "include" / "netinet" / "sctp.h").touch()
        (self.bin / "lib" / "libsctp.so").touch()
        self.assertEqual(self.preflight(tree)[0], 0)

    def test_linked_libraries(self) -> None:
        tree = self.oai(
            "target_link_libraries(nr-softmodem PRIVATE UTIL sctp -Wl,--start-group ${x})\n"
            "target_link_libraries(rftest PRIVATE forms)\n"
        )
        self.assert_missing(
            tree, "missing libsctp libsctp not found, linked by nr-softmodem -> apt install libsctp-dev",
            "note libforms", "not ready: 1 missing",
        )  # fmt: skip

    def test_asn1c(self) -> None:
        check = "check_option(${ASN1C_EXEC} -gen-APER ASN1C_EXEC)\n"
        tree = self.oai(check)
        self.assertIn("ok asn1c", self.preflight(tree)[1])
        (self.bin / "asn1c").rename(self.bin / "my-asn1c")
        if not Path("/opt/asn1c/bin/asn1c").exists():
            self.assert_missing(tree, "missing asn1c not in PATH", "build_oai -I")
        mine = str(self.bin / "my-asn1c")
        status, said = self.preflight(tree, ASN1C_EXEC=mine)
        self.assertEqual(status, 0, said)
        self.assertIn(f"-DASN1C_EXEC={mine}", said)
        build = self.top / "build"
        build.mkdir()
        (build / "CMakeCache.txt").write_text(f"ASN1C_EXEC:FILEPATH={mine}\n")
        self.assertEqual(self.preflight(tree, "--build-dir", build)[0], 0)
        (tree / "CMakeLists.txt").write_text(TOP + check + check.replace("-gen-APER", "-old"))
        self.assert_missing(tree, "does not know -old", ASN1C_EXEC=mine)
        gone = str(self.top / "gone")
        status, said = self.preflight(tree, ASN1C_EXEC=gone)
        self.assertEqual(status, 1, said)
        self.assertIn(f"missing asn1c {gone} (ASN1C_EXEC): no such program, or not executable", said)
        self.assertNotIn("does not know", said)

    def test_simde(self) -> None:
        tree = self.oai(files=("openair1/PHY/sse_intrin.h",))
        (tree / "openair1/PHY/sse_intrin.h").write_text("#include <simde/x86/avx2.h>\n")
        self.assert_missing(tree, "missing SIMDE lacks simde/x86/avx2.h -> apt install libsimde-dev")
        (self.bin / "include/simde/x86").mkdir(parents=True)
        (self.bin / "include/simde/x86/avx2.h").touch()
        self.assertEqual(self.preflight(tree)[0], 0)

    def test_cpm(self) -> None:
        tree = self.oai('include("cmake_targets/CPM.cmake")\n')
        self.assert_missing(tree, "missing CPM.cmake")
        (tree / "cmake_targets").mkdir()
        script = "set(CPM_DOWNLOAD_VERSION 0.40.2)\nfile(DOWNLOAD\n  somewhere ${x})\n"
        (tree / "cmake_targets" / "CPM.cmake").write_text(script)
        self.assertIn("the configuration will download it", self.preflight(tree)[1])
        (self.top / "cache" / "cpm").mkdir(parents=True)
        copy = self.top / "cache" / "cpm" / "CPM_0.40.2.cmake"
        copy.touch()
        cache = str(self.top / "cache")
        self.assertIn("is empty: the configuration", self.preflight(tree, CPM_SOURCE_CACHE=cache)[1])
        copy.write_text("# CPM\n")
        self.assertIn("ok CPM", self.preflight(tree, CPM_SOURCE_CACHE=cache)[1])

    def test_missing_sources(self) -> None:
        tree = self.oai(
            "set(PHY ${OPENAIR_DIR}/phy/there.c ${OPENAIR_DIR}/phy/matrices.c)\nadd_library(PHY ${PHY})\n"
            "set(made MESSAGES/made.c)\nrun_asn1c(grammar OUTPUT ${made})\nadd_library(asn1 ${made})\n"
            "add_library(bin ${CMAKE_CURRENT_BINARY_DIR}/bin.c)\nif(E2)\n  add_library(e2 e2.c)\nendif()\n",
            ("phy/there.c",),
        )
        self.assert_missing(
            tree, "missing sources of PHY not in the tree: phy/matrices.c -> a complete checkout of OAI",
            "not in the tree: e2 ->", "not ready: 1 missing",
        )  # fmt: skip

    def test_an_absent_file_of_several_targets_is_one_thing_that_is_missing(self) -> None:
        tree = self.oai(
            "set(S ${OPENAIR_DIR}/phy/gone.c)\nadd_library(ONE ${S})\nadd_library(TWO ${S})\n"
            "add_library(THREE ${S} ${OPENAIR_DIR}/phy/other.c)\n"
        )
        self.assert_missing(
            tree, "missing sources of ONE, THREE, TWO not in the tree: phy/gone.c ->",
            "missing sources of THREE not in the tree: phy/other.c ->", "not ready: 2 missing",
        )  # fmt: skip

    def test_one_package_is_one_thing_that_is_missing(self) -> None:
        tree = self.oai(
            "pkg_check_modules(blas REQUIRED blas)\npkg_check_modules(again REQUIRED blas)\n"
            "target_link_libraries(nr-softmodem PRIVATE blas)\n"
        )
        self.assert_missing(tree, "missing blas pkg-config does not find it", "not ready: 1 missing")

    def test_one_apt_line_installs_all_that_is_missing(self) -> None:
        tree = self.oai(
            "pkg_check_modules(blas REQUIRED blas)\npkg_check_modules(S openssl REQUIRED)\n"
            "pkg_check_modules(cap libcap)\n"
        )
        (self.bin / "ninja").unlink()
        self.assert_missing(tree, "apt install libblas-dev libssl-dev ninja-build # all that is missing")
        self.assertRegex(
            self.preflight(tree)[1], r"apt install coccinelle [a-z0-9 -]*libcap-dev.* # optional"
        )

    def test_a_ready_tree_needs_no_apt_line(self) -> None:
        self.modules |= {"lttng-ust"}
        self.program("spatch", "exit 0")
        status, said = self.preflight(self.oai())
        self.assertEqual(status, 0, said)
        self.assertNotIn("apt install", said)

    def test_patches_need_spatch_and_lttng(self) -> None:
        tree, build = self.oai(), self.top / "build"
        status, said = self.preflight(tree)
        self.assertEqual(status, 0, said)
        self.assertIn("note spatch none: THREAD_POOL_WS_PATCHES has no effect", said)
        self.assertIn("note lttng-ust 2.13 or newer not found", said)
        self.assertIn("apt install liblttng-ust-dev lttng-tools, for traces", said)
        build.mkdir()
        for value, missing in {"ON": 2, "trace": 2, "prewake": 1, "trace;prewake": 2, "OFF": 0}.items():
            with self.subTest(patches=value):
                (build / "CMakeCache.txt").write_text(f"THREAD_POOL_WS_PATCHES:UNINITIALIZED={value}\n")
                status, said = self.preflight(tree, "--build-dir", build)
                self.assertEqual(status, 1 if missing else 0, said)
                self.assertTrue(said.endswith(f"{missing} missing" if missing else "ready"), said)

    def test_subdirectories_and_programs_of_the_build(self) -> None:
        tree = self.oai("add_subdirectory(common/utils/T)\n", ("common/utils/T/T_messages.txt",))
        lists = "add_executable(genids genids.c)\n"
        lists += "add_custom_command(OUTPUT a.h COMMAND genids a COMMAND xxd -i a)\n"
        (tree / "common/utils/T/CMakeLists.txt").write_text(lists)
        self.assert_missing(tree, "missing sources of genids not in the tree: common/utils/T/genids.c")
        (tree / "common/utils/T/genids.c").touch()
        (self.bin / "xxd").unlink()
        self.assert_missing(tree, "missing xxd called by common/utils/T/CMakeLists.txt -> apt install xxd")

    def test_command_lines_with_spaces(self) -> None:
        tree = self.oai().rename(self.top / "my oai")
        said = self.preflight(tree, "--build-dir", self.top / "my build")[1]
        self.assertIn(f"-S '{tree}' -B '{self.top}/my build' -DCMAKE_PROJECT_OpenAirInterface_INCLUDE=", said)
        self.assertIn(f"cd '{tree}/cmake_targets' && ./build_oai", said)
        self.assertIn("my build is not configured yet", said)

    def test_commands_of_a_new_build(self) -> None:
        """In a folder that OAI's .gitignore lists, cmake_targets/*/build/; what programs load is named."""
        tree = self.oai("add_executable(nr_ulsim a.c)\nadd_library(ldpc MODULE a.c)\n", ("a.c",))
        said = self.preflight(tree)[1]
        build = tree / "cmake_targets" / "ws" / "build"
        self.assertIn(f"cmake: cmake -G Ninja -S {tree} -B {build} -D", said)
        self.assertIn(f"&& cmake --build {build} --target nr_ulsim ldpc build_oai: ", said)
        self.assertIn("./build_oai -d ws --gNB --nrUE -P -w SIMU --ninja --cmake-opt -D", said)

    def test_reads_only(self) -> None:
        tree = self.oai()
        before = {path: path.stat().st_mtime_ns for path in self.top.rglob("*")}
        self.preflight(tree, "--build-dir", self.top / "build")
        after = {path: path.stat().st_mtime_ns for path in self.top.rglob("*")}
        self.assertEqual(before, after)
