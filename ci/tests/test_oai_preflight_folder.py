# SPDX-License-Identifier: BSD-3-Clause
"""What ci/oai-preflight finds in a build folder."""

from __future__ import annotations

from tests.preflightcase import PreflightCase


class FolderTest(PreflightCase):
    def test_patches_of_the_build_folder(self) -> None:
        tree, build = self.oai(), self.top / "build"
        self.modules |= {"lttng-ust"}
        self.program("spatch", "exit 0")
        hook = "CMAKE_PROJECT_OpenAirInterface_INCLUDE:UNINITIALIZED=/a/hook.cmake\n"
        patches = "THREAD_POOL_WS_PATCHES:UNINITIALIZED=trace\n"
        copy = build / "thread_pool_ws" / "patched" / "executables" / "nr-ru.c"
        copy.parent.mkdir(parents=True)
        cache = build / "CMakeCache.txt"
        cache.write_text(hook)
        self.assertIn("hook /a/hook.cmake patches: none", self.preflight(tree, "--build-dir", build)[1])
        cache.write_text(hook + patches)
        said = self.preflight(tree, "--build-dir", build)[1]
        self.assertIn("patches: THREAD_POOL_WS_PATCHES=trace, but no file is patched", said)
        copy.touch()
        said = self.preflight(tree, "--build-dir", build)[1]
        self.assertIn("THREAD_POOL_WS_PATCHES=trace, patched files: executables/nr-ru.c", said)
        cache.write_text(patches)
        said = self.preflight(tree, "--build-dir", build)[1]
        self.assertIn("configured with OAI's own pool left from before, without effect: ", said)
        self.assertIn(
            f"in its cache: THREAD_POOL_WS_PATCHES; the folder {build}/thread_pool_ws/patched. ", said
        )
        self.assertIn("cmake -UCMAKE_PROJECT_OpenAirInterface_INCLUDE -U'THREAD_POOL_WS_*'", said)

    def test_state_of_the_build_folder(self) -> None:
        tree, build = self.oai(), self.top / "build"
        build.mkdir()
        cache = build / "CMakeCache.txt"
        cache.write_text("CMAKE_BUILD_TYPE:STRING=\n")
        said = self.preflight(tree, "--build-dir", build)[1]
        self.assertIn("configured with OAI's own pool", said)
        self.assertIn("its configuration failed, or did not end", said)
        (build / "build.ninja").touch()
        self.assertNotIn("its configuration failed", self.preflight(tree, "--build-dir", build)[1])
        self.assertIn("keeps OAI's own pool. To build this pool, name another folder: --build-dir", said)
        self.assertNotIn(f"-B {build}", said)
        cache.write_text("CMAKE_PROJECT_OpenAirInterface_INCLUDE:UNINITIALIZED=/a/hook.cmake\n")
        self.assertIn("configured with the hook /a/hook.cmake", self.preflight(tree, "--build-dir", build)[1])

    def test_a_build_folder_that_cmake_will_refuse(self) -> None:
        tree, build, other = self.oai(), self.top / "build", self.top / "other"
        build.mkdir()
        hook = "CMAKE_PROJECT_OpenAirInterface_INCLUDE:UNINITIALIZED=/a/hook.cmake\n"
        cache = build / "CMakeCache.txt"
        own = f"CMAKE_HOME_DIRECTORY:INTERNAL={tree}\nCMAKE_CACHEFILE_DIR:INTERNAL={build}\n"
        link = self.top / "link"
        link.symlink_to(tree)
        for text in (own, own.replace(str(tree), str(link))):
            cache.write_text(hook + text)
            status, said = self.preflight(tree, "--build-dir", build)
            self.assertEqual((status, said.split()[-1]), (0, "ready"))
        for text, reason in (
            (own.replace(str(tree), str(other)), f"{build} is configured for another tree, {other}"),
            (own.replace(str(build), str(other)), f"{build} is a copy of the build folder {other}, or"),
        ):
            with self.subTest(reason):
                cache.write_text(hook + text)
                status, said = self.preflight(tree, "--build-dir", build)
                self.assertEqual(status, 1, said)
                self.assertIn(f"missing build folder {reason}", said)
                self.assertTrue(said.endswith("not ready: 1 missing"))
                self.assertIn(f"name another folder: --build-dir {tree}/cmake_targets/ws/build", said)
                self.assertNotIn(f"-B {build}", said)
