// SPDX-License-Identifier: BSD-3-Clause
/// @file main.c
/// ws_sim_scenes: the scenes of tests/scenes on the simulated machine.
///
///   ws_sim_scenes [first=N] [count=N] [NAME]...   scenes or tables, each with these seeds (1 to 20)
///
/// Of a scene that begins with "simulated [cpus=N] [nodes=N]", a seed draws only how long wakes take: it may
/// assert what the scheduler chose. Of the others it draws the machine and an adversarial order of steps.
/// Exit status: 0, 1 = a scene failed, 2 = it could not run.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../scenes/scene.h"
#include "../../scenes/scene_value.h"
#include "sim_fault.h"
#include "sim_libc.h"
#include "sim_machine.h"
#include "sim_random.h"

#define END_PS (120 * SIM_PS_PER_S)
#define CPUS_MAX 8u
#define SLICE_PS (10 * SIM_PS_PER_US)

// Operations that scenes on real threads do not have.

static uint64_t number(scene_words_t words)
{
  return words[0] ? strtoull(words[0], NULL, 10) : 0;
}

/// work TIME: the thread computes for so long. In slices, for a step counts as CPU time when it begins.
static void work(scene_words_t words)
{
  for (sim_ps_t left_ps = scene_number(words[0]) * SIM_PS_PER_NS; left_ps > 0; left_ps -= SLICE_PS)
    sim_work(left_ps < SLICE_PS ? left_ps : SLICE_PS);
}

/// on CPU: the thread may run there only.
static void move_to(scene_words_t words)
{
  sim_self->allowed[0] = UINT64_C(1) << number(words);
  sim_thread_settle(sim_self, sim_self->now_ps);
  sim_step(0);
}

/// hog CPU TIME: a thread of the highest priority takes a CPU for so long.
static void hog(scene_words_t words)
{
  sim_fault_hog((uint32_t)number(words), sim_self->now_ps, scene_number(words[1]) * SIM_PS_PER_NS);
  sim_step(0);
}

static const scene_operation_t machine_operations[] = {
    {"work", work, 0, NULL}, {"on", move_to, 0, NULL}, {"hog", hog, 0, NULL}, {NULL, NULL, 0, NULL}};

static const scene_t *played;
static const char *failure;
static bool is_over;

static bool over(void)
{
  return is_over;
}

static void *play(void *unused)
{
  failure = scene_play(played);
  is_over = true;
  return unused;
}

/// @return the number of "simulated cpus=N nodes=N"; 0 = the scene has none
static uint32_t number_of(const scene_t *scene, const char *key)
{
  const char *word = scene_is_simulated(scene) ? strstr(scene->text, key) : NULL;
  return word ? (uint32_t)atoi(word + strlen(key)) : 0;
}

static void set_machine(const scene_t *scene)
{
  const uint32_t cpus = number_of(scene, "cpus="), nodes = number_of(scene, "nodes=");
  sim_machine_default();
  sim_machine.cpus = cpus ? cpus : 1 + (uint32_t)sim_random_below(CPUS_MAX);
  sim_machine.llc_cpus = sim_machine.node_cpus = sim_machine.cpus / (nodes ? nodes : 1);
}

/// In a process of its own: nothing of one scene reaches the next.
static void run(const scene_t *scene, uint64_t seed)
{
  static const sim_order_t orders[] = {SIM_ORDER_COSTS, SIM_ORDER_RANDOM, SIM_ORDER_PCT};
  played = scene;
  sim_random_seed(seed);
  set_machine(scene);
  sim_fault_t fault = {.order = SIM_ORDER_COSTS};
  if (!scene_is_simulated(scene))
    fault = (sim_fault_t){.order = orders[seed % 3],
                          .changes = 1 + (uint32_t)sim_random_below(4),
                          .steps = 20000,
                          .stall_share = seed % 2 ? 1e-3 : 0,
                          .stall_us_min = 1,
                          .stall_us_max = 2000};
  sim_disturb_reset();
  sim_fault_begin(&fault);
  sim_thread_t like = {.class = SIM_FAIR, .slack_ns = 50000};
  like.allowed[0] = (UINT64_C(1) << sim_machine.cpus) - 1;
  sim_thread_new(&like, play, NULL, SIM_PS_PER_S);
  if (!sim_run(over, END_PS))
    failure = "it does not end within 120 s of virtual time";
  if (failure)
    printf("%s, seed %llu, %u CPUs: %s\n", scene->name, (unsigned long long)seed, sim_machine.cpus, failure);
  fflush(stdout);
  _exit(failure != NULL);
}

static bool passes(const scene_t *scene, uint64_t seed)
{
  int status = 0;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0)
    run(scene, seed);
  if (child < 0 || waitpid(child, &status, 0) < 0) {
    perror("ws_sim_scenes: fork");
    exit(2);
  }
  if (strncmp(scene->text, "dies ", 5) == 0)
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
  if (status != 0 && !WIFEXITED(status))
    printf("%s, seed %llu: signal %d\n", scene->name, (unsigned long long)seed, WTERMSIG(status));
  return status == 0;
}

static bool is_chosen(const char *table, const char *scene, char **words)
{
  bool any = false;
  for (; *words; words++) {
    if (!strchr(*words, '=') && (strcmp(*words, table) == 0 || strcmp(*words, scene) == 0))
      return true;
    any |= !strchr(*words, '=');
  }
  return !any;
}

int main(int count, char **words)
{
  scene_machine_operations = machine_operations;
  uint64_t first = 1, seeds = 20;
  const sim_word_t options[] = {
      {"first", SIM_WORD_SEED, &first, NULL}, {"count", SIM_WORD_SEED, &seeds, NULL}, {0}};
  for (char **word = words + 1; *word; word++)
    sim_word_read(options, *word);
  uint32_t passed = 0, failed = 0;
  for (const scene_table_t *table = scene_tables; table; table = table->next) {
    for (size_t i = 0; i < table->count; i++) {
      if (!is_chosen(table->name, table->scene[i].name, words + 1))
        continue;
      uint64_t seed = first;
      while (seed < first + seeds && passes(&table->scene[i], seed))
        seed++;
      *(seed < first + seeds ? &failed : &passed) += 1;
    }
  }
  printf("%u passed, %u failed, 0 skipped\n", passed, failed);
  return passed == 0 ? 2 : failed > 0;
}
