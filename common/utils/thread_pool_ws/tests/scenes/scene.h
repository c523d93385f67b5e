// SPDX-License-Identifier: BSD-3-Clause
/// @file scene.h
/// Scenes: tests of the pool as text. Each asserts what the public interface promises, and knows nothing of
/// how the pool keeps it. The same scene runs on real threads (test_scenes), and with fixed seeds on the
/// simulated machine (ws_sim_scenes). SCENES.md is the language's page.
#ifndef SCENE_H
#define SCENE_H

#include <stdbool.h> // IWYU pragma: export
#include <stddef.h> // IWYU pragma: export
#include <stdint.h> // IWYU pragma: export

#include "../../include/ws_pool.h" // IWYU pragma: export

typedef struct {
  const char *name;
  const char *text;
} scene_t;

typedef struct scene_table_s {
  const char *name;
  const scene_t *scene;
  size_t count;
  struct scene_table_s *next;
} scene_table_t;

/// All tables of the program.
extern scene_table_t *scene_tables;

/// A table of scenes: {name, text}, ...
#define SCENES(table, ...)                                                                                   \
  __attribute__((constructor)) static void scene_add_table(void)                                             \
  {                                                                                                          \
    static const scene_t scenes[] = {__VA_ARGS__};                                                           \
    static scene_table_t this_table;                                                                         \
    this_table = (scene_table_t){table, scenes, sizeof(scenes) / sizeof(scenes[0]), scene_tables};           \
    scene_tables = &this_table;                                                                              \
  }

/// Words of a statement; the last one is followed by NULLs.
#define SCENE_WORDS_MAX 14u
typedef const char *const *scene_words_t;

typedef struct {
  const char *name;
  void (*run)(scene_words_t words); ///< those after the name; words[-1] is the name
  uint32_t names; ///< that may follow, besides numbers and @POOL
  const char *words; ///< that may follow besides, " flag key= "; NULL = any
} scene_operation_t;
/// Operations of the simulated machine.
extern const scene_operation_t *scene_machine_operations;

/// What another file adds to the language: fibers, and what they wait for.
typedef struct {
  const scene_operation_t *operations; ///< ends with a NULL name
  void (*begin)(void); ///< a scene begins
  /// Push a fiber that runs the task's function. @return as ws_fiber_push()
  int (*push)(ws_pool_t *pool, const ws_task_t *task, scene_words_t words);
  void (*keep)(void *here); ///< called in a new fiber: here() returns the value there from now on
  void *(*here)(void); ///< NULL = no fiber calls
  /// What a condition is about. @param rest  the words behind it. @return false: it is no such condition
  bool (*value)(scene_words_t words, scene_words_t *rest, int64_t *found);
} scene_more_t;
extern const scene_more_t *scene_more;

#define SCENE_NAMES_MAX 96u
/// @return a name's number, below SCENE_NAMES_MAX
uint32_t scene_name(const char *name);
/// The calling thread stands in the scene's gate.
void scene_stand(void);

/// @brief Play a scene from begin to end.
/// @return what was not as the scene says; NULL = all was
const char *scene_play(const scene_t *scene);

/// @return whether a scene is for the simulated machine only: its first statement is "simulated"
bool scene_is_simulated(const scene_t *scene);

/// @brief For operations: the statement does not hold. The first text is kept.
void scene_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
