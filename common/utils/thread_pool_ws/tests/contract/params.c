// SPDX-License-Identifier: BSD-3-Clause
/// @file params.c
/// Every shape: the parameter string, and what the host's threadCreate() is asked for.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "../host/host_threads.h"
#include "contract.h"

#define NAME_MAX_PTHREAD 16

static tpool_t *pool_of(const char *params, const char *name)
{
  char *text = strdup(params), name_copy[64];
  tpool_t *pool = contract_memory();
  snprintf(name_copy, sizeof(name_copy), "%s", name ? name : "");
  initNamedTpool(text, pool, false, name ? name_copy : NULL);
  CU_ASSERT_STRING_EQUAL(text, params); // the string is the caller's
  free(text);
  memset(name_copy, '?', sizeof(name_copy)); // so is the name
  return pool;
}

/// @return the only thread of that name; fails the test without it
static host_thread_t thread_named(const char *name)
{
  host_thread_t found = {.affinity = -2};
  uint32_t count = 0;
  for (uint32_t i = 0; i < host_threads_count(); i++) {
    const host_thread_t thread = host_thread(i);
    if (strcmp(thread.name, name) == 0) {
      found = thread;
      count++;
    }
  }
  if (count != 1)
    printf("%u threads are named %s\n", count, name);
  CU_ASSERT_EQUAL_FATAL(count, 1);
  return found;
}

static bool is_expected_priority(int priority)
{
#ifdef CONTRACT_OURS
  return priority == OAI_PRIORITY_RT_MAX;
#else
  return priority == OAI_PRIORITY_RT_MAX || priority == OAI_PRIORITY_RT; // the oldest one asks for the middle
#endif
}

static void check_thread(const char *name, int affinity)
{
  const host_thread_t thread = thread_named(name);
  CU_ASSERT_EQUAL(thread.affinity, affinity);
  CU_ASSERT_TRUE(is_expected_priority(thread.priority));
  char real_name[NAME_MAX_PTHREAD] = "";
  pthread_getname_np(thread.thread, real_name, sizeof(real_name));
  if (strlen(name) < NAME_MAX_PTHREAD)
    CU_ASSERT_STRING_EQUAL(real_name, name);
}

static uint32_t threads_of(const char *prefix)
{
  uint32_t count = 0;
  for (uint32_t i = 0; i < host_threads_count(); i++)
    count += strncmp(host_thread(i).name, prefix, strlen(prefix)) == 0;
  return count;
}

/// Two processors that the process may use; the same one twice where there is only one.
static void find_cpus(int cpu[2])
{
  cpu_set_t set;
  sched_getaffinity(0, sizeof(set), &set);
  cpu[0] = cpu[1] = -1;
  for (int i = 0; i < CPU_SETSIZE; i++) {
    if (CPU_ISSET(i, &set)) {
      if (cpu[0] >= 0 && cpu[1] < 0)
        cpu[1] = i;
      if (cpu[0] < 0)
        cpu[0] = i;
    }
  }
  if (cpu[1] < 0)
    cpu[1] = cpu[0];
}

static void threads_have_name_core_and_priority(void)
{
  int cpu[2];
  char params[64], name[3][64];
  find_cpus(cpu);
  snprintf(params, sizeof(params), "%d,-1,%d", cpu[0], cpu[1]);
  tpool_t *pool = pool_of(params, "Abc");
  snprintf(name[0], sizeof(name[0]), "Abc0_%d", cpu[0]);
  snprintf(name[1], sizeof(name[1]), "Abc1_-1");
  snprintf(name[2], sizeof(name[2]), "Abc2_%d", cpu[1]);
  CU_ASSERT_EQUAL(threads_of("Abc"), 3);
  check_thread(name[0], cpu[0]);
  check_thread(name[1], -1);
  check_thread(name[2], cpu[1]);
  CU_ASSERT_TRUE(pool_works(pool));
  if (has_cap_sys_nice()) {
    cpu_set_t set;
    pthread_getaffinity_np(thread_named(name[2]).thread, sizeof(set), &set);
    CU_ASSERT_EQUAL(CPU_COUNT(&set), 1);
    CU_ASSERT_TRUE(CPU_ISSET((size_t)cpu[1], &set));
  }
  contract_end(pool);
}

static void threads_without_a_name_are_named_tpool(void)
{
  tpool_t *pool = pool_of("-1,-1", NULL);
  CU_ASSERT_EQUAL(threads_of("Tpool"), 2);
  check_thread("Tpool0_-1", -1);
  check_thread("Tpool1_-1", -1);
  CU_ASSERT_TRUE(pool_works(pool));
  contract_end(pool);
  tpool_t *floating = contract_memory();
  static char name[] = "float";
  initFloatingCoresTpool(2, floating, false, name);
  check_thread("float0_-1", -1);
  check_thread("float1_-1", -1);
  contract_end(floating);
}

/// The system takes 15 characters; a longer name is no reason to fail.
static void name_too_long_for_the_system(void)
{
  tpool_t *pool = pool_of("-1", "a_name_of_twenty_five_chr");
  check_thread("a_name_of_twenty_five_chr0_-1", -1);
  CU_ASSERT_TRUE(pool_works(pool));
  contract_end(pool);
}

static void params_may_hold_spaces(void)
{
  int cpu[2];
  char params[64], name[64];
  find_cpus(cpu);
  snprintf(params, sizeof(params), " -1, %d ,-1", cpu[0]);
  tpool_t *pool = pool_of(params, "sp");
  snprintf(name, sizeof(name), "sp1_%d", cpu[0]);
  CU_ASSERT_EQUAL(threads_of("sp"), 3);
  check_thread("sp0_-1", -1);
  check_thread(name, cpu[0]);
  check_thread("sp2_-1", -1);
  CU_ASSERT_TRUE(pool_works(pool));
  contract_end(pool);
}

static void params_skip_empty_entries(void)
{
  tpool_t *pool = pool_of(",-1,,-1,", "emp");
  CU_ASSERT_EQUAL(threads_of("emp"), 2);
  check_thread("emp0_-1", -1);
  check_thread("emp1_-1", -1);
  CU_ASSERT_TRUE(pool_works(pool));
  contract_end(pool);
}

typedef struct {
  pthread_t thread;
  sem_t ran;
} note_t;

static void note_thread(void *note_arg)
{
  note_t *note = note_arg;
  note->thread = pthread_self();
  sem_post(&note->ran);
}

/// Waits before it joins: a joiner may run jobs itself.
static bool runs_inline(tpool_t *pool)
{
  note_t note;
  batch_t batch;
  sem_init(&note.ran, 0, 0);
  batch_begin(&batch, 1);
  batch_push(&batch, pool, note_thread, &note);
  CU_ASSERT_TRUE(contract_sem_wait(&note.ran));
  batch_end(&batch, pool);
  return pthread_equal(note.thread, pthread_self());
}

static void params_n_means_inline(void)
{
  static const char *const none[] = {"n", "N", "no", "n,n", "N,n"};
  for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
    tpool_t *pool = pool_of(none[i], "inl");
    CU_ASSERT_TRUE(runs_inline(pool));
    CU_ASSERT_TRUE(pool_works(pool));
    contract_end(pool);
  }
  CU_ASSERT_EQUAL(threads_of("inl"), 0);
}

/// Shape A: all inline, whatever else there is. Tasks: the entry makes no thread, the others do.
static void params_n_beside_cores(void)
{
  tpool_t *pool = pool_of("-1,n,-1", "mix");
  CU_ASSERT_EQUAL(runs_inline(pool), !CONTRACT_TASKS);
  if (CONTRACT_TASKS) {
    CU_ASSERT_EQUAL(threads_of("mix"), 2);
    check_thread("mix0_-1", -1);
    check_thread("mix1_-1", -1);
  }
  contract_end(pool);
}

static int init_with(const char *params)
{
  char text[256];
  snprintf(text, sizeof(text), "%s", params);
  initTpool(text, contract_memory(), false);
  return 33;
}

const contract_child_t params_children[] = {
    {"init_with", init_with},
    {NULL, NULL},
};

static void params_empty_string(void)
{
#if CONTRACT_TASKS
  tpool_t *pool = pool_of("", NULL);
  CU_ASSERT_TRUE(runs_inline(pool));
  CU_ASSERT_TRUE(pool_works(pool));
  contract_end(pool);
#else
  CU_ASSERT_EQUAL(contract_run_child("init_with", "", NULL), 1);
#endif
}

/// The host's own uses the result of atoi(). Ours names the error and the entry, and ends the process.
static void params_bad_entry_ends_the_process(void)
{
  static const struct {
    const char *params, *entry, *position;
  } bad[] = {
      {"1,x,2", "\"x\"", "entry 2"},
      {"-3", "\"-3\"", "entry 1"},
      {"-1,99999999999", "\"99999999999\"", "entry 2"},
      {"-1,-1,4294967296", "\"4294967296\"", "entry 3"},
      {"0x1", "\"0x1\"", "entry 1"},
      {"1 2", "\"1 2\"", "entry 1"},
      {"-1,-", "\"-\"", "entry 2"},
      {"1;2", "\"1;2\"", "entry 1"},
  };
  if (!contract_ours_only("a bad entry is undefined in the host's own"))
    return;
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    char text[CONTRACT_TEXT_SIZE] = "";
    const int status = contract_run_child("init_with", bad[i].params, text);
    if (status != EXIT_FAILURE)
      printf("\"%s\": exit status %d\n", bad[i].params, status);
    CU_ASSERT_EQUAL(status, EXIT_FAILURE);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, bad[i].entry));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, bad[i].position));
  }
}

/// @return a core that no thread of this process can be pinned to, -1 = all that there can be are there
static int absent_core(void)
{
  cpu_set_t before, one;
  int absent = -1;
  sched_getaffinity(0, sizeof(before), &before);
  for (int core = CPU_SETSIZE - 1; core >= 0 && absent < 0; core--) {
    CPU_ZERO(&one);
    CPU_SET((size_t)core, &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0)
      absent = core;
  }
  sched_setaffinity(0, sizeof(before), &before);
  return absent;
}

/// The host's threadCreate would end the process, with an assertion that names neither. Where it does not
/// pin, the thread floats.
static void params_absent_core_ends_the_process(void)
{
  int cpu[2];
  char params[64], entry[64], text[CONTRACT_TEXT_SIZE] = "";
  const int absent = absent_core();
  if (absent < 0 || !contract_ours_only("the host's own ends in an assertion"))
    return;
  find_cpus(cpu);
  snprintf(params, sizeof(params), "-1,,%d,%d", cpu[0], absent);
  snprintf(entry, sizeof(entry), "entry 4 \"%d\"", absent);
  const int status = contract_run_child("init_with", params, text);
  CU_ASSERT_EQUAL(status, has_cap_sys_nice() ? EXIT_FAILURE : 33);
  if (!has_cap_sys_nice())
    return;
  CU_ASSERT_PTR_NOT_NULL(strstr(text, entry));
  const char *there = strstr(text, "(cores: ");
  CU_ASSERT_PTR_NOT_NULL_FATAL(there);
  const int first = atoi(there + strlen("(cores: "));
  CU_ASSERT_TRUE(first >= 0 && first <= cpu[0]);
}

static void params_of_more_than_128_entries(void)
{
  enum { ENTRIES = 150 };
  if (CONTRACT_TASKS && !contract_ours_only("the host's own writes past an array of 128"))
    return;
  char params[ENTRIES * 3 + 1] = "";
  for (size_t i = 0; i < ENTRIES; i++)
    memcpy(params + 3 * i, "-1,", 4);
  tpool_t *pool = pool_of(params, "many");
  CU_ASSERT_EQUAL(threads_of("many"), ENTRIES);
  check_thread("many149_-1", -1);
  CU_ASSERT_TRUE(pool_works(pool));
  contract_end(pool);
}

static void floating_count_above_128(void)
{
  if (CONTRACT_TASKS && !contract_ours_only("the host's own writes past an array of 128"))
    return;
  tpool_t *pool = contract_pool(200);
  CU_ASSERT_EQUAL(threads_of("contract"), 200);
  CU_ASSERT_TRUE(pool_works(pool));
  contract_end(pool);
}

const contract_case_t params_cases[] = {
    CASE(threads_have_name_core_and_priority),
    CASE(threads_without_a_name_are_named_tpool),
    CASE(name_too_long_for_the_system),
    CASE(params_may_hold_spaces),
    CASE(params_skip_empty_entries),
    CASE(params_n_means_inline),
    CASE(params_n_beside_cores),
    CASE(params_empty_string),
    CASE(params_bad_entry_ends_the_process),
    CASE(params_absent_core_ends_the_process),
    CASE(params_of_more_than_128_entries),
    CASE(floating_count_above_128),
    CASES_END,
};
