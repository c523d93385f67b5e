# SPDX-License-Identifier: BSD-3-Clause
"""Puts a model of an OAI tree together: the files of one generation here and the stand-ins for what both
pools take from OAI (tests/host of the module)."""

import shutil
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
HOOK = REPO / "cmake_targets" / "thread_pool_ws.cmake"
MODELS = Path(__file__).resolve().parent
HOST = REPO / "common" / "utils" / "thread_pool_ws" / "tests" / "host"
POOL = Path("common", "utils", "threadPool")

# Folders whose files make the tree of a shape, the later over the earlier.
LAYERS = {
    "A": ("uplink", "fifo"),
    "A serial": ("uplink", "fifo", "fifo_serial"),
    "B1": ("uplink", "task", "task_array"),
    "B2": ("uplink", "task"),
    "B2+": ("uplink", "task"),
    "B2+ newest": ("uplink", "task", "task_newest"),
    "B2+ profile": ("uplink", "task", "task_profile"),
}
# What the newest headers have beyond the model's.
INDEX_H = "\nint get_tpool_worker_index(void);\n"
# The model's own pool with the third member of task_t: (old text, new text) in thread-pool.c.
CARRY = (
    ("task.func(task.args);", "run(task);"),
    (
        "static void *loop(",
        """static void run(task_t task)
{
  const oai_profile_context_t before = oai_profiler_enter_work(task.profile_work);
  task.func(task.args);
  oai_profiler_leave_work(before);
}

static void *loop(""",
    ),
    (
        "task_t task)\n{\n  if",
        """task_t task)
{
  task.profile_work = oai_profiler_capture_work(oai_profiler_get_context().absolute_slot);
  if""",
    ),
)


def copy_host(tree: Path, fifo: bool) -> None:
    """The stand-ins, where OAI has its files; shape A has neither notified_fifo.h nor pthread_utils.h."""
    utils = tree / "common" / "utils"
    for name in ("assertions.h", "host_threads.h", "system.c"):
        shutil.copy(HOST / name, utils / name)
    for header in (HOST / "common" / "utils").glob("*.h"):
        shutil.copy(header, utils / header.name)
    for header in (HOST / POOL).glob("*.h"):
        name = "fifo.h" if header.name == "notified_fifo.h" and fifo else header.name
        target = tree / POOL / ("model" if fifo else ".") / name
        target.parent.mkdir(exist_ok=True)
        if not target.exists() or header.name != "task.h":  # a layer may have its own
            shutil.copy(header, target)


def append(file: Path, text: str) -> None:
    file.write_text(file.read_text(encoding="utf-8") + text, encoding="utf-8")


def replace(file: Path, changes: tuple[tuple[str, str], ...]) -> None:
    text = file.read_text(encoding="utf-8")
    for old, new in changes:
        if old not in text:
            raise ValueError(f"{file} has no {old!r}")
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")


def assemble(shape: str, tree: Path) -> Path:
    """Makes the tree, which must not exist. Returns it."""
    for layer in LAYERS[shape]:
        shutil.copytree(MODELS / layer, tree, dirs_exist_ok=True)
    copy_host(tree, shape.startswith("A"))
    if shape.startswith("B2+"):
        append(tree / POOL / "thread-pool.h", INDEX_H)
        append(tree / POOL / "thread-pool.c", INDEX_H.replace(";", "\n{\n  return -1;\n}"))
    if shape == "B2+ newest":
        append(tree / POOL / "thread-pool.h", (tree / POOL / "batch.h").read_text(encoding="utf-8"))
        utils, defs = tree / POOL.parent, "time_meas_defs.h"
        append(utils / "CMakeLists.txt", f"set(BINS 500)\nconfigure_file({defs}.in {defs} @ONLY)\n")
        append(utils / "time_meas.h", f'#include "common/utils/{defs}"\nextern int bins[MODEL_BINS];\n')
    if shape == "B2+ profile":
        replace(tree / POOL / "thread-pool.c", CARRY)
    return tree


def assemble_unknown(tree: Path) -> Path:
    """A tree whose join has an unknown name."""
    replace(assemble("B2", tree) / POOL / "task_ans.h", (("join_task_ans", "await_task_ans"),))
    return tree
