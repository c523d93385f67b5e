// SPDX-License-Identifier: BSD-3-Clause
/// @file contract.h
/// The contract of the host's pool as tests. One source for every shape of the interface (batch.h) and for
/// any pool that has one of them: the host's own or ours. Drop-in means that both pass.
/// CONTRACT_OURS: the pool is ours, so tests of what goes beyond the host's own run too.
///
/// Gates, threads and deadlines: support/ws_test.h.
#ifndef CONTRACT_H
#define CONTRACT_H

#include "../support/ws_test.h" // IWYU pragma: export
#include "batch.h" // IWYU pragma: export

/// A case of the file's suite, in a process of its own: a hang or a crash hides nothing else, and a pool that
/// cannot be ended (shape A) does not outlive its case.
#define CONTRACT_CASE(function)                                                                              \
  static void function##_here(void);                                                                         \
  TEST_CASE(function)                                                                                        \
  {                                                                                                          \
    contract_run_apart(function##_here);                                                                     \
  }                                                                                                          \
  static void function##_here(void)
/// @brief Start this program again for the case that runs, or run @p here if it was started so.
void contract_run_apart(void (*here)(void));

/// @brief For what the host's own pool does not promise: prints a visible line and says no, except on ours.
/// CONTRACT_ALL=1 in the environment runs it on any pool.
bool contract_ours_only(const char *why);

/// A program inside the program: `--child <name> <argument>`. Returns its exit status.
typedef struct {
  const char *name;
  int (*run)(const char *argument);
} contract_child_t;
extern const contract_child_t exit_children[];
extern const contract_child_t settings_children[];
#define CONTRACT_TEXT_SIZE 4096
/// @brief Run this program again as a child, with its stderr in @p text (may be NULL).
/// @return exit status; 128 + signal; -1: it hung
int contract_run_child(const char *name, const char *argument, char text[CONTRACT_TEXT_SIZE]);

/// @brief A pool in memory that holds garbage, as the host's malloc'ed ones. Never fails.
tpool_t *contract_memory(void);
tpool_t *contract_pool(int workers);
tpool_t *contract_pool_of(const char *params);
/// @return threads, as the host's callers read them
uint32_t contract_threads(const tpool_t *pool);
/// @brief End the pool. The host's own stays until its process ends: its abort frees records under its
/// threads (shape A) or may hang (B).
void contract_end(tpool_t *pool);

/// @return whether @p jobs jobs that are pushed to @p pool and awaited have all run
bool contract_runs(tpool_t *pool, uint32_t jobs);

#endif
