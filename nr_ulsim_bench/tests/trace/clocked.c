// SPDX-License-Identifier: BSD-3-Clause
// clocked FILE SEED MS WORKERS PRODUCERS TASKS US PAUSE_US SLOTS PARTS FORKS   bursts of a pool, for MS ms.
// The program reads the clock twice outside and twice inside each burst, phase and slot, into rows of FILE,
// which a SIGKILL leaves. A burst has 3 to TASKS tasks of 1 to US us. SLOTS: one of two is a slot of two
// phases, with one of so many numbers. PARTS: each task pushes so many, and waits for them. FORKS: so many
// children, which run bursts in a pool of their own or only exit.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../src/clock.h"
#include "ws_pool.h"
#include "ws_trace_slot.h"

#define ROWS (1u << 19)
enum { SEED, MS, WORKERS, PRODUCERS, TASKS, US, PAUSE_US, SLOTS, PARTS, FORKS, NUMBERS };
enum { BURST, PHASE, SLOT = PHASE + WS_TRACE_PHASES };

typedef struct {
  int32_t pid, tid, kind, tasks; ///< tasks: with those that tasks push
  uint64_t ns[4]; ///< before and after the first push, or the begin; when a last task ended, after the wait
} row_t;

typedef struct {
  ws_group_t group;
  uint64_t work_ns;
  int parts;
  _Atomic uint64_t last_ns; ///< when one of the last tasks ended
} burst_t;

static struct {
  _Atomic uint64_t count;
  row_t row[ROWS];
} * file;
static ws_pool_t *pool;
static int number[NUMBERS];
static uint64_t end_ns;

static void task(void *arg);

static void push(burst_t *burst, int tasks, uint64_t *pushed_ns)
{
  ws_group_init(&burst->group, (uint32_t)tasks);
  for (int i = 0; i < tasks; i++) {
    if (ws_pool_push(pool, (ws_task_t){.func = task, .arg = burst, .group = &burst->group}) < 0)
      abort();
    *pushed_ns = i == 0 ? clock_now_ns() : *pushed_ns;
  }
  ws_group_wait(&burst->group, pool);
}

static void task(void *arg)
{
  burst_t *burst = arg, inner = {.work_ns = burst->work_ns / 4};
  uint64_t unused;
  busy_work(burst->work_ns);
  if (burst->parts > 0)
    push(&inner, burst->parts, &unused);
  burst->last_ns = clock_now_ns();
}

static row_t *begin(int kind, int tasks)
{
  row_t *row = &file->row[atomic_fetch_add(&file->count, 1) % ROWS];
  *row = (row_t){getpid(), (int32_t)syscall(SYS_gettid), kind, tasks * (1 + number[PARTS]), {0}};
  row->ns[0] = clock_now_ns();
  return row;
}

/// @param slot  -1 = none: a burst
static void run(burst_t *burst, int tasks, int slot)
{
  row_t *whole = begin(slot < 0 ? BURST : SLOT, slot < 0 ? tasks : tasks * WS_TRACE_PHASES);
  for (int phase = 0; slot >= 0 && phase < WS_TRACE_PHASES; phase++) {
    uint64_t unused;
    row_t *row = begin(PHASE + phase, tasks);
    ws_trace_phase_begin((ws_trace_phase_t)phase, (uint32_t)slot / 20, (uint32_t)slot % 20, 0);
    row->ns[1] = clock_now_ns();
    push(burst, tasks, &unused);
    whole->ns[1] = phase == 0 ? row->ns[1] : whole->ns[1];
    whole->ns[2] = row->ns[2] = clock_now_ns();
    ws_trace_phase_end((ws_trace_phase_t)phase);
    row->ns[3] = clock_now_ns();
  }
  if (slot < 0) {
    push(burst, tasks, &whole->ns[1]);
    whole->ns[2] = burst->last_ns;
  }
  whole->ns[3] = clock_now_ns();
}

static int create(void)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  ws_settings_environment(&settings);
  settings.workers = (uint32_t)number[WORKERS];
  return ws_pool_create(&pool, &settings);
}

static void *produce(void *arg)
{
  const int own = arg != NULL;
  unsigned random = (unsigned)(number[SEED] + own);
  for (int slot = 0; clock_now_ns() < end_ns && file->count < ROWS - 9;) {
    burst_t burst = {.work_ns = 1000u * (1u + (unsigned)(rand_r(&random) % number[US])),
                     .parts = number[PARTS]};
    const int more = (number[TASKS] - 3) >> rand_r(&random) % 8, tasks = 3 + rand_r(&random) % (more + 1);
    const bool is_slot = number[SLOTS] > 0 && rand_r(&random) % 2;
    run(&burst, tasks, is_slot ? own * number[SLOTS] + slot++ % number[SLOTS] : -1);
    if (number[PAUSE_US] > 0)
      usleep((useconds_t)(rand_r(&random) % number[PAUSE_US]));
    if (own == 0 && rand_r(&random) % 32 == 0 && number[FORKS]-- > 0 && fork() == 0) {
      number[FORKS] = 0;
      if (rand_r(&random) % 2 || create() < 0)
        exit(0);
    }
  }
  return NULL;
}

int main(int words, char **word)
{
  pthread_t other;
  for (int i = 0; i < NUMBERS && words == NUMBERS + 2; i++)
    number[i] = atoi(word[i + 2]);
  const int rows = open(word[1], O_RDWR | O_CREAT, 0600);
  if (rows < 0 || ftruncate(rows, sizeof(*file)) != 0)
    return 1;
  file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, rows, 0);
  end_ns = clock_now_ns() + 1000000u * (uint64_t)number[MS];
  signal(SIGCHLD, SIG_IGN);
  if (file == MAP_FAILED || create() < 0)
    return 1;
  const pid_t pid = getpid();
  const bool are_two = number[PRODUCERS] > 1 && pthread_create(&other, NULL, produce, file) == 0;
  produce(NULL);
  if (are_two && getpid() == pid)
    pthread_join(other, NULL);
  ws_pool_destroy(pool);
  return 0;
}
