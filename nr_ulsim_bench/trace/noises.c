// SPDX-License-Identifier: BSD-3-Clause
// ws-noises: does the ledger (ws_ledger.h) name the cause of late bursts? Noises one at a time on this
// machine, and of each cause the late bursts that had the noise. Where it is not known which had it: those
// above a run without the noise. Some noises need root.
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "memory.h"
#include "words.h"
#include "ws_ledger.h"
#include "ws_pool.h"

#define TASKS 12u
#define TASK_NS 28000u
#define PERIOD_NS 1000000u
#define WARM 3000u ///< bursts: also the watchdog's two looks for a quota
#define EVERY 15u ///< bursts: one of them has the noise
#define NOISE_NS 500000u ///< that it adds, about
#define TIMES 4u ///< so many times the work adds that much, where two threads share it
#define THEFT_NS 1000000u ///< of each THEFT_PERIOD_NS
#define THEFT_PERIOD_NS 20370000u ///< no multiple of PERIOD_NS: a theft falls anywhere in a burst
#define QUOTA "/thread_pool_ws_noises"
#define QUOTA_US 38000u ///< of each 100 ms

typedef struct {
  uint32_t bursts, late, rounds;
  char noise[20];
} question_t;

static const char usage[] = "usage: ws-noises [noise=TEXT] [bursts=N] [late=N] [rounds=N]\n"
                            "       noises whose name has TEXT (default: all), N bursts of a run at most\n"
                            "       (default: 10000), N late ones with the noise (default: 300), N runs of\n"
                            "       each kind (default: 1)\n";
static const word_key_t keys[] = {
    {"noise", WORD_TEXT(question_t, noise)},
    {"bursts", WORD_NUMBER(question_t, bursts, 1000, 10000000)},
    {"late", WORD_NUMBER(question_t, late, 1, 1000000)},
    {"rounds", WORD_NUMBER(question_t, rounds, 1, 1000)},
    {NULL},
};

#define CAUSES WS_CAUSE_UNSEEN ///< the causes but the last one
#define LATE_NEWEST 4096u

/// Late bursts, in their order: causes follow in the same order, those of a pass at once.
typedef struct {
  uint64_t late, examined;
  uint64_t noisy; ///< late ones that had the noise
  uint64_t seen[CAUSES]; ///< in the ledger
  uint64_t had[CAUSES]; ///< of those that had the noise
} order_t;

/// Of one run.
typedef struct {
  ws_ledger_t ledger;
  order_t order;
  uint64_t p50_ns, p99_ns;
} result_t;

static bool had_noise[LATE_NEWEST]; ///< late bursts of this process
static ws_pool_t *other; ///< that tasks wait for
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; ///< a thread outside has it
static int asked[2], answered[2]; ///< pipes from tasks to that thread, and back

static void die(const char *what)
{
  perror(what);
  _exit(EXIT_FAILURE);
}

/// Begin and end of the last time that something else had CPUs, or the pool. Two processes share it.
static volatile uint64_t *theft_ns;

static void see_thefts(void)
{
  theft_ns = mmap(NULL, 2 * sizeof *theft_ns, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (theft_ns == MAP_FAILED)
    die("mmap");
}

static void begin_theft(void)
{
  theft_ns[1] = UINT64_MAX;
  theft_ns[0] = clock_now_ns();
}

static void end_theft(void)
{
  theft_ns[1] = clock_now_ns();
}

/// In a process of its own, until the run ends.
static void begin_thief(void (*steal)(pid_t from))
{
  const pid_t from = getpid();
  see_thefts();
  if (fork() != 0)
    return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (uint64_t at_ns = clock_now_ns();; at_ns += THEFT_PERIOD_NS) {
    clock_sleep_until(at_ns);
    begin_theft();
    steal(from);
    end_theft();
  }
}

static void stop_all(pid_t from)
{
  kill(from, SIGSTOP);
  clock_sleep_until(clock_now_ns() + THEFT_NS);
  kill(from, SIGCONT);
}

static void hog_cpu(pid_t from)
{
  (void)from;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &one);
  if (sched_setaffinity(0, sizeof one, &one) || sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){90}))
    die("hog");
  for (const uint64_t end_ns = clock_now_ns() + THEFT_NS; clock_now_ns() < end_ns;)
    ;
}

static void write_file(const char *folder, const char *name, const char *text)
{
  char path[200];
  snprintf(path, sizeof path, "%s" QUOTA "/%s", folder, name);
  FILE *file = fopen(path, "w");
  if (!file || fputs(text, file) < 0 || fclose(file) != 0)
    die(path);
}

static void begin_quota(void)
{
  const bool is_v1 = access("/sys/fs/cgroup/cpu", F_OK) == 0;
  const char *folder = is_v1 ? "/sys/fs/cgroup/cpu" : "/sys/fs/cgroup";
  char path[200], text[40];
  snprintf(path, sizeof path, "%s" QUOTA, folder);
  mkdir(path, 0755);
  snprintf(text, sizeof text, is_v1 ? "%u" : "%u 100000", QUOTA_US);
  write_file(folder, is_v1 ? "cpu.cfs_quota_us" : "cpu.max", text);
  write_file(folder, "cgroup.procs", "0");
}

static void begin_stops(void)
{
  begin_thief(stop_all);
}

static void begin_hog(void)
{
  begin_thief(hog_cpu);
}

static void make_other(ws_class_t sched_class)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = 1;
  settings.deadline_ns = WS_DEADLINE_AUTO;
  settings.sched_class = sched_class;
  settings.sched_priority = sched_class == WS_CLASS_FIFO;
  if (ws_pool_create(&other, &settings) < 0)
    die("ws_pool_create");
}

static void begin_other(void)
{
  make_other(WS_CLASS_INHERIT);
}

static void begin_above(void)
{
  make_other(WS_CLASS_FIFO);
}

static void put_byte(const int to[2])
{
  if (write(to[1], "", 1) != 1)
    die("pipe");
}

static void take_byte(const int from[2])
{
  char byte;
  if (read(from[0], &byte, 1) != 1)
    die("pipe");
}

/// Has the lock until a while after a task has asked, and answers.
static void *keep(void *has_lock)
{
  for (;;) {
    if (has_lock)
      pthread_mutex_lock(&lock);
    take_byte(asked);
    clock_sleep_until(clock_now_ns() + NOISE_NS);
    if (!has_lock) {
      put_byte(answered);
      continue;
    }
    pthread_mutex_unlock(&lock);
    take_byte(answered); // the task has had it
  }
  return NULL;
}

static void begin_thread(void *(*func)(void *), void *arg)
{
  pthread_t thread;
  if (pthread_create(&thread, NULL, func, arg) != 0)
    die("pthread_create");
}

static void begin_lock(void)
{
  begin_thread(keep, &lock);
}

static void begin_answers(void)
{
  begin_thread(keep, NULL);
}

typedef enum {
  ALIKE,
  LONG_TASK,
  ALL_LONGER,
  MORE_TASKS,
  MUTEX,
  READ,
  SLEEP,
  SERIAL,
  OTHER_POOL,
  BESIDE,
  SECOND,
  FEW_WORKERS
} how_t;

static const struct {
  const char *name;
  ws_cause_t cause;
  how_t how;
  uint32_t every;
  void (*begin)(void); ///< when the pool runs
  void (*before)(void); ///< before it is made
} noises[] = {
    {"long task 1/15", WS_CAUSE_LONG_TASK, LONG_TASK, EVERY, NULL, NULL},
    {"long task 1/4", WS_CAUSE_LONG_TASK, LONG_TASK, 4, NULL, NULL},
    {"long task 1/2", WS_CAUSE_LONG_TASK, LONG_TASK, 2, NULL, NULL},
    {"all longer", WS_CAUSE_LONGER_WORK, ALL_LONGER, EVERY, NULL, NULL},
    {"more tasks", WS_CAUSE_MORE_WORK, MORE_TASKS, EVERY, NULL, NULL},
    {"mutex", WS_CAUSE_ASLEEP, MUTEX, EVERY, begin_lock, NULL},
    {"read", WS_CAUSE_ASLEEP, READ, EVERY, begin_answers, NULL},
    {"sleep", WS_CAUSE_ASLEEP, SLEEP, EVERY, NULL, NULL},
    {"serial time", WS_CAUSE_SERIAL, SERIAL, EVERY, NULL, NULL},
    {"other pool", WS_CAUSE_OTHER_POOL, OTHER_POOL, EVERY, begin_other, NULL},
    {"pool beside", WS_CAUSE_OTHER_POOL, BESIDE, EVERY, begin_above, NULL},
    {"second producer", WS_CAUSE_OTHER_BURST, SECOND, EVERY, NULL, NULL},
    {"few workers", WS_CAUSE_TOO_FEW, FEW_WORKERS, EVERY, NULL, NULL},
    {"hog", WS_CAUSE_NO_CPU, ALIKE, EVERY, begin_hog, NULL},
    {"stopped", WS_CAUSE_NO_CPU, ALIKE, EVERY, begin_stops, NULL},
    {"quota before", WS_CAUSE_QUOTA, ALIKE, EVERY, NULL, begin_quota},
    {"quota after", WS_CAUSE_QUOTA, ALIKE, EVERY, begin_quota, NULL},
};
#define NOISES (sizeof noises / sizeof noises[0])

/// @return whether it is known which bursts have the noise
static bool is_of_bursts(uint32_t noise)
{
  return (noises[noise].how >= LONG_TASK && noises[noise].how <= SECOND) || noises[noise].begin == begin_stops
         || noises[noise].begin == begin_hog;
}

static void work_elsewhere(void *unused)
{
  (void)unused;
  busy_work(NOISE_NS);
}

/// @param arg  how_t
static void work(void *arg)
{
  const how_t *how = arg;
  ws_group_t group;
  if (*how == LONG_TASK || *how == ALL_LONGER)
    busy_work(*how == LONG_TASK ? NOISE_NS : (TIMES - 1) * TASK_NS);
  if (*how == SLEEP)
    clock_sleep_until(clock_now_ns() + NOISE_NS);
  if (*how == MUTEX || *how == READ)
    put_byte(asked);
  if (*how == READ)
    take_byte(answered);
  if (*how == MUTEX) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    put_byte(answered);
  }
  if (*how == OTHER_POOL) {
    ws_group_init(&group, 1);
    ws_pool_push(other, (ws_task_t){.func = work_elsewhere, .group = &group});
    ws_group_wait(&group, other);
  }
  busy_work(TASK_NS);
}

static void push_burst(ws_pool_t *pool, how_t how, ws_group_t *group)
{
  static how_t of[FEW_WORKERS + 1]; ///< they may run after this
  const uint32_t tasks = how == MORE_TASKS ? TIMES * TASKS : TASKS;
  const bool waits = how == LONG_TASK || (how >= MUTEX && how <= SLEEP) || how == OTHER_POOL;
  of[how] = how;
  ws_group_init(group, tasks);
  for (uint32_t i = 0; i < tasks; i++) {
    const bool is_odd = i == TASKS / 2;
    const bool is_noisy = how == ALL_LONGER || (is_odd && waits);
    if (is_odd && how == SERIAL)
      busy_work(NOISE_NS);
    ws_pool_push(pool, (ws_task_t){.func = work, .arg = &of[is_noisy ? how : ALIKE], .group = group});
  }
}

static void run_burst(ws_pool_t *pool, how_t how)
{
  ws_group_t group;
  push_burst(pool, how, &group);
  ws_group_wait(&group, pool);
}

#define BESIDE_NS (3 * PERIOD_NS + PERIOD_NS / 3) ///< between bursts of another thread: they fall anywhere

/// It does not wait in the pool: these bursts are not judged.
static void *push_too(void *pool)
{
  ws_group_t group;
  for (uint64_t at_ns = clock_now_ns();; at_ns += BESIDE_NS) {
    clock_sleep_until(at_ns);
    begin_theft();
    push_burst(pool, ALL_LONGER, &group);
    while (!ws_group_done(&group))
      clock_sleep_until(clock_now_ns() + PERIOD_NS / 10);
    end_theft();
  }
  return NULL;
}

/// Above the pool that is measured.
static void *push_first(void *pool)
{
  if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &(struct sched_param){1}))
    die("push first");
  for (uint64_t at_ns = clock_now_ns();; at_ns += BESIDE_NS) {
    clock_sleep_until(at_ns);
    begin_theft();
    run_burst(pool, ALL_LONGER);
    end_theft();
  }
  return NULL;
}

/// Read the ledger after a burst. Only one thread may have late ones.
static void follow(order_t *order, const ws_ledger_t *ledger, bool has_noise)
{
  uint64_t count = 0, with = 0;
  for (; order->late < ledger->late; order->late++, order->noisy += has_noise)
    had_noise[order->late % LATE_NEWEST] = has_noise;
  for (uint32_t i = 0; i < CAUSES; i++)
    count += ledger->by[i].bursts - order->seen[i];
  for (uint64_t i = 0; i < count; i++)
    with += had_noise[order->examined++ % LATE_NEWEST];
  for (uint32_t i = 0; i < CAUSES; i++) {
    order->had[i] += with == count ? ledger->by[i].bursts - order->seen[i] : 0;
    order->seen[i] = ledger->by[i].bursts;
  }
}

/// Counts by cause follow the bursts.
static void read_ledger(const ws_pool_t *pool, ws_ledger_t *ledger)
{
  clock_sleep_until(clock_now_ns() + 300000000u);
  ws_pool_ledger(pool, ledger);
}

/// In a process of its own.
static result_t run(uint32_t noise, bool is_noisy, const question_t *question, uint64_t deadline_ns)
{
  const uint32_t cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN), workers = cpus > 1 ? cpus - 1 : 1;
  ws_settings_t settings;
  ws_pool_t *pool;
  ws_ledger_t before = {0};
  result_t result = {.order.late = 0};
  uint64_t *ns = allot(question->bursts, sizeof *ns);
  if (pipe(asked) != 0 || pipe(answered) != 0)
    die("pipe");
  if (is_noisy && noises[noise].before)
    noises[noise].before();
  ws_settings_default(&settings);
  settings.workers = is_noisy && noises[noise].how == FEW_WORKERS ? workers / 2 : workers;
  settings.deadline_ns = deadline_ns;
  if (ws_pool_create(&pool, &settings) < 0)
    die("ws_pool_create");
  if (is_noisy && noises[noise].begin)
    noises[noise].begin();
  if (is_noisy && noises[noise].how >= BESIDE && noises[noise].how <= SECOND)
    see_thefts();
  if (is_noisy && noises[noise].how == SECOND)
    begin_thread(push_too, pool);
  if (is_noisy && noises[noise].how == BESIDE)
    begin_thread(push_first, other);
  order_t *const order = &result.order;
  uint32_t measured = 0;
  uint64_t at_ns = clock_now_ns();
  for (uint32_t i = 0; i < WARM + question->bursts; i++) {
    bool has_noise = is_noisy && i % noises[noise].every == 0;
    clock_sleep_until(at_ns);
    const uint64_t begin_ns = clock_now_ns();
    run_burst(pool, has_noise ? noises[noise].how : ALIKE);
    const uint64_t end_ns = clock_now_ns();
    if (theft_ns)
      has_noise = theft_ns[0] < end_ns && theft_ns[1] > begin_ns;
    at_ns += PERIOD_NS;
    if (i == WARM) {
      read_ledger(pool, &before);
      at_ns = clock_now_ns() + PERIOD_NS;
      order->late = order->examined = before.late;
      for (uint32_t cause = 0; cause < CAUSES; cause++)
        order->seen[cause] = before.by[cause].bursts;
    }
    if (i >= WARM)
      ns[measured++] = end_ns - begin_ns;
    ws_pool_ledger(pool, &result.ledger);
    if (i > WARM)
      follow(order, &result.ledger, has_noise);
    if (is_noisy && i > WARM
        && (is_of_bursts(noise) ? order->noisy : result.ledger.late - before.late) >= question->late)
      break;
  }
  read_ledger(pool, &result.ledger);
  follow(order, &result.ledger, false);
  result.ledger.late -= before.late;
  result.ledger.bursts -= before.bursts;
  for (uint32_t i = 0; i < WS_CAUSES; i++)
    result.ledger.by[i].bursts -= before.by[i].bursts;
  result.p50_ns = (uint64_t)(percentile_us(ns, measured, 50) * 1e3);
  result.p99_ns = (uint64_t)(percentile_us(ns, measured, 99) * 1e3);
  return result;
}

static result_t run_apart(uint32_t noise, bool is_noisy, const question_t *question, uint64_t deadline_ns)
{
  int ends[2];
  result_t result;
  if (pipe(ends) != 0)
    die("pipe");
  if (fork() == 0) {
    result = run(noise, is_noisy, question, deadline_ns);
    _exit(write(ends[1], &result, sizeof result) != sizeof result);
  }
  close(ends[1]);
  if (read(ends[0], &result, sizeof result) != sizeof result)
    exit(EXIT_FAILURE);
  close(ends[0]);
  wait(NULL);
  return result;
}

/// Late is what takes longer than nearly all without the noise. Without its worker a burst takes twice as
/// long: a second producer makes it do so, other noises longer.
static uint64_t deadline_of(uint32_t noise, const question_t *question)
{
  const result_t calm = run_apart(noise, false, question, WS_DEADLINE_AUTO);
  const uint64_t typical_ns = calm.p50_ns + calm.p50_ns / 2, most_ns = calm.p99_ns + calm.p99_ns / 4;
  if (noises[noise].how == FEW_WORKERS)
    return calm.p50_ns + calm.p50_ns / 4;
  const uint64_t late_ns = typical_ns > most_ns ? typical_ns : most_ns;
  const uint64_t limit_ns = noises[noise].how == SECOND ? typical_ns : 2 * calm.p50_ns + calm.p50_ns / 2;
  return late_ns < limit_ns ? late_ns : limit_ns;
}

/// Two runs, without and with the noise.
static void print_row(uint32_t noise, const result_t sum[2])
{
  const ws_ledger_t *without = &sum[0].ledger, *with = &sum[1].ledger;
  const uint64_t noisy = is_of_bursts(noise) ? sum[1].order.noisy : with->late;
  int64_t all = 0, own = 0;
  printf("%-15s %6" PRIu64 " %5" PRIu64 " %5" PRIu64, noises[noise].name, with->bursts, without->late, noisy);
  for (uint32_t i = 0; i < CAUSES; i++) {
    const uint64_t calm = without->by[i].bursts * with->bursts / without->bursts; // of as many bursts
    const int64_t of_noise = (int64_t)(is_of_bursts(noise) ? sum[1].order.had[i] : with->by[i].bursts - calm);
    printf(" %*" PRIi64, (int)strlen(ws_cause_name((ws_cause_t)i)), of_noise);
    all += of_noise > 0 ? of_noise : 0;
    own += i == noises[noise].cause && of_noise > 0 ? of_noise : 0;
  }
  printf(" %5.1f\n", all > 0 ? 100.0 * (double)own / (double)all : 0.0);
}

int main(int argc, char **argv)
{
  question_t question = {.bursts = 10000, .late = 300, .rounds = 1};
  words_take(argc, argv, usage, keys, &question);
  printf("noise           bursts  calm noisy");
  for (uint32_t i = 0; i < CAUSES; i++)
    printf(" %s", ws_cause_name((ws_cause_t)i));
  printf(" right %%\n");
  for (uint32_t noise = 0; noise < NOISES; noise++) {
    if (!strstr(noises[noise].name, question.noise))
      continue;
    result_t sum[2] = {0};
    uint64_t deadline_ns = 0; // a machine changes: each pair of runs has its own
    for (uint32_t i = 0; i < 2 * question.rounds; i++) {
      deadline_ns = i % 2 ? deadline_ns : deadline_of(noise, &question);
      const result_t one = run_apart(noise, i % 2, &question, deadline_ns);
      result_t *to = &sum[i % 2];
      to->ledger.bursts += one.ledger.bursts;
      to->ledger.late += one.ledger.late;
      to->order.noisy += one.order.noisy;
      for (uint32_t cause = 0; cause < CAUSES; cause++) {
        to->ledger.by[cause].bursts += one.ledger.by[cause].bursts;
        to->order.had[cause] += one.order.had[cause];
      }
    }
    print_row(noise, sum);
    fflush(stdout);
  }
  return EXIT_SUCCESS;
}
