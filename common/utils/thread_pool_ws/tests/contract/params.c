// SPDX-License-Identifier: BSD-3-Clause
/// @file params.c
/// Every shape: the parameter string, what the host's threadCreate() is asked for, and pools without workers.

#include "../host/host_threads.h"
#include "contract.h"

#define NAME_MAX_PTHREAD 16

static bool is_expected_priority(int priority)
{
#ifdef CONTRACT_OURS
  return priority == OAI_PRIORITY_RT_MAX;
#else
  return priority == OAI_PRIORITY_RT_MAX || priority == OAI_PRIORITY_RT; // the oldest one asks for the middle
#endif
}

static void check_thread(const host_thread_t *thread, int core)
{
  CU_ASSERT_EQUAL(thread->affinity, core);
  CU_ASSERT_TRUE(is_expected_priority(thread->priority));
  char real_name[NAME_MAX_PTHREAD] = "";
  pthread_getname_np(thread->thread, real_name, sizeof(real_name));
  if (strlen(thread->name) < NAME_MAX_PTHREAD) // a longer name is no reason to fail
    CU_ASSERT_STRING_EQUAL(real_name, thread->name);
  if (core >= 0 && has_cap_sys_nice()) {
    cpu_set_t set;
    pthread_getaffinity_np(thread->thread, sizeof(set), &set);
    CU_ASSERT_TRUE(CPU_COUNT(&set) == 1 && CPU_ISSET((size_t)core, &set));
  }
}

/// @return how many of the threads made since @p first have this name
static uint32_t count_threads(uint32_t first, const char *name, int core)
{
  uint32_t count = 0;
  for (uint32_t i = first; i < host_threads_count(); i++) {
    const host_thread_t thread = host_thread(i);
    if (strcmp(thread.name, name) != 0)
      continue;
    check_thread(&thread, core);
    count++;
  }
  return count;
}

/// @param cores  the core of each thread, in the order of their numbers
static void check_threads(const tpool_t *pool, uint32_t first, const char *name, const char *cores)
{
  uint32_t threads = 0;
  for (const char *core = cores; core && *core; core = strchr(core, ',') ? strchr(core, ',') + 1 : NULL) {
    char full_name[64];
    snprintf(full_name, sizeof(full_name), "%s%u_%d", name ? name : "Tpool", threads++, atoi(core));
    const uint32_t found = count_threads(first, full_name, atoi(core));
    if (found != 1)
      printf("%u threads are named %s\n", found, full_name);
    CU_ASSERT_EQUAL(found, 1);
  }
#ifndef CONTRACT_OURS
  if (!CONTRACT_TASKS && threads == 0) // beside an n it makes the threads of the other entries all the same
    return;
#endif
  CU_ASSERT_EQUAL(host_threads_count() - first, threads);
  CU_ASSERT_EQUAL(contract_threads(pool), threads);
}

/// Write @p text with the two processors' numbers in place of # and @.
static void with_cpus(char *out, size_t bytes, const char *text)
{
  out[0] = '\0';
  for (; *text; text++) {
    const size_t length = strlen(out);
    if (*text == '#' || *text == '@')
      snprintf(out + length, bytes - length, "%u", test_cpu(*text == '@'));
    else
      snprintf(out + length, bytes - length, "%c", *text);
  }
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

/// Without workers a push runs its job before it returns. A joiner may run jobs itself, so this waits before.
static bool runs_inline(tpool_t *pool)
{
  note_t note;
  int ran = 0;
  batch_t batch;
  sem_init(&note.ran, 0, 0);
  batch_begin(&batch, 1);
  batch_push(&batch, pool, note_thread, &note);
  sem_getvalue(&note.ran, &ran);
  CU_ASSERT_TRUE(test_sem_wait(&note.ran));
  batch_end(&batch, pool);
  return ran == 1 && pthread_equal(note.thread, pthread_self());
}

static void check_pool(tpool_t *pool, uint32_t first, const char *name, const char *cores)
{
  check_threads(pool, first, name, cores);
  CU_ASSERT_EQUAL(runs_inline(pool), *cores == '\0');
  CU_ASSERT_TRUE(contract_runs(pool, 200));
  CU_ASSERT_EQUAL(runs_inline(pool), *cores == '\0');
  contract_end(pool);
}

/// The string and the name are the caller's.
static void check_list(const char *params, const char *name, const char *cores)
{
  const uint32_t first = host_threads_count();
  char *text = strdup(params), *name_copy = name ? strdup(name) : NULL;
  tpool_t *pool = contract_memory();
  initNamedTpool(text, pool, true, name_copy);
  CU_ASSERT_STRING_EQUAL(text, params);
  free(text);
  free(name_copy);
  check_pool(pool, first, name, cores);
}

static const struct {
  const char *params, *name;
  const char *cores; ///< of the threads; none: a push runs its job
} lists[] = {
    {"#,-1,@", "Abc", "#,-1,@"},
    {"-1,-1", NULL, "-1,-1"},
    {"-1", "a_name_of_twenty_five_chr", "-1"},
    {" -1, # ,-1", "sp", "-1,#,-1"},
    {",-1,,-1,", "emp", "-1,-1"},
    {"n", "inl", ""},
    {"N", "inl", ""},
    {"no", "inl", ""},
    {"n,n", "inl", ""},
    {"N,n", "inl", ""},
#if CONTRACT_TASKS
    {"", NULL, ""},
    {"-1,n,-1", "mix", "-1,-1"}, // the entry makes no thread, the others do
#else
    {"-1,n,-1", "mix", ""}, // all inline, whatever else there is
    {"n,-1", "mix", ""},
#endif
};

CONTRACT_CASE(lists_of_cores)
{
  for (size_t i = 0; i < TEST_COUNT(lists); i++) {
    char params[64], cores[64];
    with_cpus(params, sizeof(params), lists[i].params);
    with_cpus(cores, sizeof(cores), lists[i].cores);
    check_list(params, lists[i].name, cores);
  }
}

/// Threads that float, given by their number, and as a list.
CONTRACT_CASE(many_floating_threads)
{
  static const int counts[] = {0, 1, 2, 3, 127, 150, 200};
  for (size_t i = 0; i < TEST_COUNT(counts); i++) {
    static char name[] = "float", cores[3 * 200 + 1];
    if (CONTRACT_TASKS && counts[i] > 128
        && !contract_ours_only("the host's own writes past an array of 128"))
      return;
    cores[0] = '\0';
    for (int entry = 0; entry < counts[i]; entry++)
      memcpy(cores + 3 * entry, "-1,", 4);
    const uint32_t first = host_threads_count();
    tpool_t *pool = contract_memory();
    initFloatingCoresTpool(counts[i], pool, false, name);
    check_pool(pool, first, name, cores);
    if (counts[i] > 0)
      check_list(cores, "many", cores);
  }
}

static void expect_exit(const char *params, int expected, const char *said)
{
  char text[CONTRACT_TEXT_SIZE] = "";
  const int status = contract_run_child("work_and_end", params, text);
  if (status != expected || !strstr(text, said))
    printf("\"%s\": exit status %d, \"%s\"\n", params, status, text);
  CU_ASSERT_EQUAL(status, expected);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, said));
}

/// The host's own uses the result of atoi(). Ours names the error and the entry, and ends the process. The
/// entries themselves: tests/shim/test_tpool_params.c.
CONTRACT_CASE(lists_that_end_the_process)
{
  if (!CONTRACT_TASKS)
    expect_exit("", EXIT_FAILURE, "");
  if (!contract_ours_only("a bad entry is undefined in the host's own"))
    return;
  expect_exit("1,x,2", EXIT_FAILURE, "entry 2 \"x\"");
  expect_exit("-1,-1,4294967296", EXIT_FAILURE, "entry 3 \"4294967296\"");
}

/// The host's threadCreate would end the process, with an assertion that names neither. Where it does not
/// pin, the thread floats.
CONTRACT_CASE(absent_core_ends_the_process)
{
  cpu_set_t before, last;
  char params[64];
  sched_getaffinity(0, sizeof(before), &before);
  CPU_ZERO(&last);
  CPU_SET(CPU_SETSIZE - 1, &last);
  const bool is_there = sched_setaffinity(0, sizeof(last), &last) == 0;
  sched_setaffinity(0, sizeof(before), &before);
  if (is_there || !contract_ours_only("the host's own ends in an assertion"))
    return;
  with_cpus(params, sizeof(params), ",#,1023");
  if (has_cap_sys_nice())
    expect_exit(params, EXIT_FAILURE,
                "entry 3 \"1023\" of the list of cores is not a core that this process can use (cores: ");
  else
    expect_exit(params, EXIT_SUCCESS, "");
}

/// On a machine with several cores.
CONTRACT_CASE(one_core_for_all_is_named)
{
  char siblings[64] = "", params[64];
  snprintf(siblings, sizeof(siblings), "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list",
           test_cpu(0));
  FILE *file = fopen(siblings, "r");
  const bool alone = file && fgets(siblings, sizeof(siblings), file) && !strpbrk(siblings, ",-");
  if (file)
    fclose(file);
  if (!alone || test_cpus() < 2 || !has_cap_sys_nice() || !contract_ours_only("it says nothing of that"))
    return;
  with_cpus(params, sizeof(params), "#,#");
  expect_exit(params, EXIT_SUCCESS, "all 2 workers of pool ");
}

TEST_MAIN("params")
