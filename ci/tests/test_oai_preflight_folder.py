# SPDX-License-Identifier: BSD-3-Clause
"""What ci/oai-preflight finds in a build folder."""

from tests.preflightcase import Files, PreflightCase

HOOK = "CMAKE_PROJECT_OpenAirInterface_INCLUDE:UNINITIALIZED=/a/hook.cmake\n"
PATCHES = "THREAD_POOL_WS_PATCHES:UNINITIALIZED="
COPY = {"build/thread_pool_ws/patched/executables/nr-ru.c": ""}
OWN = "CMAKE_HOME_DIRECTORY:INTERNAL=TOP/oai\nCMAKE_CACHEFILE_DIR:INTERNAL=TOP/build\n"
TOOLS = {"+lttng-ust": "", "bin/spatch": "exit 0"}
REFUSED = (
    "name another folder: --build-dir TOP/oai/cmake_targets/ws/build",
    "!-B TOP/build",
    "not ready: 1 missing",
)
# CMakeCache.txt of the build folder, what else is there, and what is printed.
CASES: tuple[tuple[str, Files, tuple[str, ...]], ...] = (
    (HOOK, TOOLS, ("configured with the hook /a/hook.cmake patches: none",)),
    (HOOK + PATCHES + "trace\n", TOOLS, ("patches: THREAD_POOL_WS_PATCHES=trace, but no file is patched",)),
    (HOOK + PATCHES + "trace\n", {**TOOLS, **COPY},
     ("THREAD_POOL_WS_PATCHES=trace, patched files: executables/nr-ru.c",)),
    (PATCHES + "ON\n", {}, ("missing", "not ready: 2 missing")),
    (PATCHES + "trace;prewake\n", {}, ("missing", "not ready: 2 missing")),
    (PATCHES + "prewake\n", {}, ("missing", "not ready: 1 missing")),
    (PATCHES + "OFF\n", {}, ("!missing",)),
    ("CMAKE_BUILD_TYPE:STRING=\n", {},
     ("configured with OAI's own pool", "its configuration failed, or did not end")),
    ("CMAKE_BUILD_TYPE:STRING=\n", {"build/build.ninja": ""}, (
        "!its configuration failed", "!-B TOP/build",
        "keeps OAI's own pool. To build this pool, name another folder: --build-dir")),
    # Folders that CMake will take, and refuse.
    (HOOK + OWN, {}, ("!missing",)),
    (HOOK + OWN.replace("oai", "link"), {}, ("!missing",)),
    (HOOK + OWN.replace("oai", "other"), {},
     ("missing build folder TOP/build is configured for another tree, TOP/other", *REFUSED)),
    (HOOK + OWN.replace("build", "other"), {},
     ("missing build folder TOP/build is a copy of the build folder TOP/other, or", *REFUSED)),
)  # fmt: skip


class FolderTest(PreflightCase):
    def test_cases(self) -> None:
        for cache, files, texts in CASES:
            with self.subTest(cache=cache, files=files):
                tree = self.oai()
                (self.top / "link").symlink_to(tree)
                self.lay({**files, "build/CMakeCache.txt": cache.replace("TOP", str(self.top))})
                self.expect(tree, *texts, build="build")
            self.doCleanups()
            self.setUp()
