// SPDX-License-Identifier: BSD-3-Clause
// Fibers of this pool, on one worker, and jump_fcontext alone; Boost.Fiber is in latch_boost.cpp.
#include "latch_costs.h"

#include <stddef.h>
#include <stdlib.h>

#include "clock.h"
#include "module.h"
#include "usage.h"
#include "ws_fcontext.h"
#include "ws_fiber.h"
#include "ws_sync.h"

#define STACK_BYTES 65536
#define AT_ONCE 100
#define FIRST_MS 500 // for all fibers to sleep before the first of them is due

/// Two fibers that take turns.
typedef struct {
  ws_pool_t *pool;
  uint32_t count, at_once;
  ws_mutex_t mutex;
  const void *last; ///< fiber that locked last
  uint32_t in_a_row; ///< locks by the fiber that had locked before
  uint64_t begin_ns, end_ns;
  uint32_t begun, failed;
} pair_t;

typedef struct {
  uint64_t deadline_ns, *late_ns;
} sleeper_t;

static ws_pool_t *make_pool(void)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = 1;
  settings.fifo = true;
  ws_pool_t *pool = NULL;
  ws_pool_create(&pool, &settings);
  return pool;
}

/// The time counts from the moment when both fibers have begun.
static void begin(pair_t *pair)
{
  pair->begun++;
  while (pair->begun < 2)
    ws_yield();
  if (pair->begin_ns == 0)
    pair->begin_ns = clock_now_ns();
}

static void yield_often(void *pair_arg)
{
  pair_t *const pair = pair_arg;
  begin(pair);
  for (uint32_t i = 0; i < pair->count; i++)
    ws_yield();
  pair->end_ns = clock_now_ns();
}

static void lock_often(void *pair_arg)
{
  pair_t *const pair = pair_arg;
  const int own = 0;
  begin(pair);
  for (uint32_t i = 0; i < pair->count; i++) {
    ws_mutex_lock(&pair->mutex);
    pair->in_a_row += pair->last == &own;
    pair->last = &own;
    ws_yield();
    ws_mutex_unlock(&pair->mutex);
    ws_yield();
  }
  pair->end_ns = clock_now_ns();
}

static void do_nothing(void *unused)
{
  (void)unused;
}

static void spawn_often(void *pair_arg)
{
  pair_t *const pair = pair_arg;
  for (uint32_t left = pair->count; left > 0 && !pair->failed; left -= pair->at_once) {
    if (left == pair->count - pair->count / 10 / pair->at_once * pair->at_once)
      pair->begin_ns = clock_now_ns(); // the first tenth maps the stacks
    ws_group_t group;
    ws_group_init(&group, pair->at_once);
    for (uint32_t i = 0; i < pair->at_once; i++)
      if (ws_fiber_push(pair->pool, do_nothing, NULL, &group, NULL) != 0) {
        ws_group_complete(&group, 1);
        pair->failed++;
      }
    ws_group_wait(&group, pair->pool);
  }
  pair->end_ns = clock_now_ns();
}

/// Run @p func in so many fibers. The caller waits without a pool, so that all of them run on the worker.
static double run(pair_t *pair, void (*func)(void *), uint32_t fibers)
{
  pair->pool = make_pool();
  if (!pair->pool)
    return 0;
  ws_group_t group;
  ws_group_init(&group, fibers);
  for (uint32_t i = 0; i < fibers; i++)
    if (ws_fiber_push(pair->pool, func, pair, &group, NULL) != 0) {
      ws_group_complete(&group, 1);
      pair->failed++;
      pair->begun++;
    }
  ws_group_wait(&group, NULL);
  ws_pool_destroy(pair->pool);
  return pair->failed ? 0 : (double)(pair->end_ns - pair->begin_ns);
}

static double ws_yields(uint32_t count)
{
  pair_t pair = {.count = count};
  return run(&pair, yield_often, 2) / (2.0 * count);
}

static double ws_hands_over(uint32_t count)
{
  pair_t pair = {.count = count};
  const double taken_ns = run(&pair, lock_often, 2);
  return pair.in_a_row > count / 100 + 1 ? 0 : taken_ns / (2.0 * count);
}

static double ws_spawns(uint32_t count, uint32_t at_once)
{
  pair_t pair = {.count = count / at_once * at_once, .at_once = at_once};
  const uint32_t warm = pair.count / 10 / at_once * at_once;
  return run(&pair, spawn_often, 1) / (pair.count - warm);
}

static void sleep_once(void *sleeper_arg)
{
  const sleeper_t *const sleeper = sleeper_arg;
  ws_sleep_until(sleeper->deadline_ns);
  *sleeper->late_ns = clock_now_ns() - sleeper->deadline_ns;
}

static bool ws_sleeps(const uint64_t *deadline_ns, uint64_t *late_ns, uint32_t count)
{
  static sleeper_t sleeper[SLEEPERS_MAX];
  ws_pool_t *const pool = make_pool();
  if (!pool)
    return false;
  ws_group_t group;
  ws_group_init(&group, count);
  uint32_t failed = 0;
  for (uint32_t i = 0; i < count; i++) {
    sleeper[i] = (sleeper_t){deadline_ns[i], &late_ns[i]};
    if (ws_fiber_push(pool, sleep_once, &sleeper[i], &group, NULL) != 0) {
      ws_group_complete(&group, 1);
      failed++;
    }
  }
  ws_group_wait(&group, NULL);
  ws_pool_destroy(pool);
  return failed == 0;
}

static const ping_t ping_ws = {"this project", ws_yields, ws_hands_over, ws_spawns, ws_sleeps};

static void jump_back(transfer_t from)
{
  for (;;)
    from = jump_fcontext(from.fctx, from.data);
}

static double jump_yield(uint32_t count)
{
  char *const stack = aligned_alloc(64, STACK_BYTES);
  if (!stack)
    return 0;
  transfer_t other = {make_fcontext(stack + STACK_BYTES, STACK_BYTES, jump_back), NULL};
  other = jump_fcontext(other.fctx, NULL);
  const uint64_t begin_ns = clock_now_ns();
  for (uint32_t i = 0; i < count; i++)
    other = jump_fcontext(other.fctx, NULL);
  const uint64_t end_ns = clock_now_ns();
  free(stack);
  return (double)(end_ns - begin_ns) / (2.0 * count);
}

/// Two contexts on one thread, and nothing between them: what no library can beat.
static const ping_t ping_jump = {.version = "jump_fcontext", .yield = jump_yield};

/// Deadlines at equal distances, in an order drawn by chance.
static void spread(uint64_t *deadline_ns, const cost_request_t *request)
{
  const uint64_t first_ns = clock_now_ns() + FIRST_MS * UINT64_C(1000000);
  const uint64_t spread_ns = (uint64_t)request->spread_ms * 1000000;
  unsigned int random = 1;
  for (uint32_t i = 0; i < request->sleepers; i++) {
    const uint32_t j = (uint32_t)rand_r(&random) % (i + 1);
    deadline_ns[i] = deadline_ns[j];
    deadline_ns[j] = first_ns + spread_ns * i / request->sleepers;
  }
}

/// @return whether it worked
static bool measure_sleep(report_t *report, const ping_t *ping, const cost_request_t *request)
{
  uint64_t *const deadline_ns = calloc(request->sleepers, sizeof *deadline_ns);
  uint64_t *const late_ns = calloc(request->sleepers, sizeof *late_ns);
  bool good = deadline_ns && late_ns;
  if (good) {
    const usage_t begin = usage_now(USAGE_PROCESS);
    spread(deadline_ns, request);
    good = ping->sleep(deadline_ns, late_ns, request->sleepers);
    const usage_t used = usage_since(begin, USAGE_PROCESS);
    report_number(report, "sleep_cpu_ms", used.cpu_s * 1e3);
    report_percentiles(report, "late", late_ns, request->sleepers);
  }
  free(late_ns);
  free(deadline_ns);
  return good;
}

/// @return whether it worked
static bool report_ns(report_t *report, const char *key, double ns)
{
  report_number(report, key, ns);
  return ns > 0;
}

void costs_measure(report_t *report, cost_of_t of, const cost_request_t *request)
{
  const uint32_t count = request->count, tenth = count / 10;
  const ping_t *const ping = of == COST_WS     ? &ping_ws
                             : of == COST_JUMP ? &ping_jump
                                               : module_load("latch_", "boost", "ping_boost", report);
  if (!ping)
    return;
  report_text(report, "version", ping->version);
  report_count(report, "sleepers", request->sleepers);
  if (!report_ns(report, "yield_ns", ping->yield(count)))
    report_error(report, "the switches failed");
  else if (ping->hand_over && !report_ns(report, "hand_over_ns", ping->hand_over(tenth)))
    report_error(report, "the mutex was not passed on, or there was not enough memory");
  else if (ping->spawn
           && (!report_ns(report, "spawn_ns", ping->spawn(tenth, 1))
               || !report_ns(report, "spawn_many_ns", ping->spawn(tenth, AT_ONCE))))
    report_error(report, "a fiber could not be started");
  else if (ping->sleep && !measure_sleep(report, ping, request))
    report_error(report, "the fibers that sleep could not be started");
}
