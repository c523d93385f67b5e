// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_report.c
/// ws_pool_report(): the statistics as text. It uses ws_stats.h, the settings, the ledger and the
/// worst bursts of the record.
#include <stdarg.h>
#include <time.h>

#include "../include/ws_ledger.h"
#include "../record/ws_flight.h"
#include "../sleep/ws_budget.h"
#include "../sleep/ws_decide.h"

#define COLUMNS 100
#define INDENT 13u ///< of what does not fit on a line
#define WORKERS_SHOWN 8u ///< more of them are shown as a sum

typedef unsigned long long ull_t;

/// Receiver of the lines.
typedef struct {
  void (*line)(void *arg, const char *text);
  void *arg;
} out_t;

__attribute__((format(printf, 2, 3))) static void say(const out_t *out, const char *format, ...)
{
  char text[6 * COLUMNS], *begin = text;
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  while (strlen(begin) > COLUMNS) { // break the line at a space, if it has one
    char *end = begin + COLUMNS;
    while (*end != ' ' && end > begin + INDENT)
      end--;
    if (*end != ' ')
      break;
    *end = '\0';
    out->line(out->arg, begin);
    begin = end + 1 - INDENT;
    memset(begin, ' ', INDENT);
  }
  out->line(out->arg, begin);
}

static double us(uint64_t ns)
{
  return (double)ns / 1000;
}

/// @return a / b, 0 where there is no b
static double ratio(double a, double b)
{
  return b > 0 ? a / b : 0;
}

/// The first line, and how idle workers wait.
static void say_mode(const out_t *out, const struct ws_pool_s *pool, ws_spin_t spin)
{
  const uint32_t percent = ws_spin_percent(pool);
  say(out, "thread_pool_ws: report of pool %llu", (ull_t)pool->id);
  if (spin == WS_SPIN_OFF)
    say(out, "  spin       off");
  else if (spin == WS_SPIN_HOT)
    say(out, "  spin       hot: workers busy-poll without a limit");
  else if (spin == WS_SPIN_FIXED)
    say(out, "  spin       fixed, %.1f us ahead; busy-polls at most %u %% of a core each",
        us(ws_spin_lead_ns(pool)), percent);
  else
    say(out,
        "  spin       auto, busy-polls at most %u %% of a core each;"
        " 1 us late weighs as %u us of CPU time",
        percent, pool->settings.spin_price);
}

/// @return the sum of the counters. The fields from cpu on stay 0, but for futile_wakes
static ws_worker_stats_t sum_of(const ws_worker_stats_t *stats, uint32_t count)
{
  ws_worker_stats_t sum = {0};
  uint64_t *sums = (uint64_t *)&sum; // those before `cpu`
  for (uint32_t i = 0; i < count; i++) {
    for (size_t at = 0; at < offsetof(ws_worker_stats_t, cpu) / sizeof(uint64_t); at++)
      sums[at] += ((const uint64_t *)&stats[i])[at];
    sum.futile_wakes += stats[i].futile_wakes;
  }
  return sum;
}

/// @param workers  their sum
static void say_total(const out_t *out, const ws_stats_t *total, const ws_worker_stats_t *workers)
{
  say(out, "  workers    %u of %u, %u pinned, %u real-time, on %u CPUs; queues of other threads: %u",
      total->workers, total->workers_requested, total->workers_pinned, total->workers_realtime, total->cpus,
      total->lanes_used);
  say(out, "  queues     %llu tasks still queued, %llu skipped by an abort; grown by %llu bytes",
      (ull_t)total->queued_tasks, (ull_t)total->skipped_tasks, (ull_t)total->queue_bytes);
  say(out, "  watchdog   looked %llu times for tasks behind blocked workers", (ull_t)total->guard_looks);
  say(out,
      "  placed     %llu moves off a pushing thread's CPU; %llu wakes stopped their caller, %llu left out",
      (ull_t)workers->placements, (ull_t)workers->stopped_callers, (ull_t)total->spared_wakes);
}

/// How often workers were woken, or not, and why.
static void say_decisions(const out_t *out, const ws_stats_t *total, uint64_t futile)
{
  char text[32 * WS_DECISIONS] = "";
  size_t used = 0;
  for (uint32_t why = 0; why < WS_DECISIONS; why++)
    if (total->decided[why] > 0)
      used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %llu", used > 0 ? ", " : "",
                               ws_decided_name((ws_decided_t)why), (ull_t)total->decided[why]);
  say(out, "  wakes      %s; found no task: %llu", text, (ull_t)futile);
}

static void say_pattern(const out_t *out, const ws_prewake_stats_t *stats)
{
  say(out,
      "  pushes     %llu after a pause, %llu of them when expected (%.1f %%);"
      " %llu expected, did not come",
      (ull_t)stats->bursts, (ull_t)stats->expected_bursts,
      100 * ratio((double)stats->expected_bursts, (double)stats->bursts), (ull_t)stats->absent_bursts);
  if (stats->period_ns > 0)
    say(out, "  period     %.1f us with %u burst%s, %s; found %llu times", us(stats->period_ns),
        stats->period_bursts, stats->period_bursts == 1 ? "" : "s",
        stats->state == WS_PATTERN_LOCKED ? "locked" : "uncertain", (ull_t)stats->locks);
  else
    say(out, "  period     %s", stats->locks > 0 ? "lost" : "none found");
  say(out, "  level      %u of 2; changed %llu times", stats->level, (ull_t)stats->level_changes);
}

/// @param workers  0 = there are none
static void say_prewake(const out_t *out, const ws_prewake_stats_t *stats, uint32_t workers)
{
  const double burst_ns = ratio(ratio((double)stats->spin_ns, workers), (double)stats->bursts);
  const double gap_ns = ratio((double)stats->period_ns, stats->period_bursts);
  char share[64] = "";
  if (gap_ns > 0)
    snprintf(share, sizeof(share), ", %.1f %% of a core at this period", 100 * ratio(burst_ns, gap_ns));
  say(out, "  pre-wakes  in time %llu, too late %llu, for no burst %llu; found no task left %llu",
      (ull_t)stats->hits, (ull_t)stats->lates, (ull_t)stats->misses, (ull_t)stats->unused);
  say(out, "  lead       from wake-up to expected burst: p50 %.1f us, p99 %.1f us", us(stats->lead_p50_ns),
      us(stats->lead_p99_ns));
  say(out, "  busy-poll  %.1f ms in all; each worker %.1f us a burst%s", us(stats->spin_ns) / 1000,
      burst_ns / 1000, share);
  say(out, "  cut short  busy-polls: by the limit %llu, by other threads %llu; quota used up in %llu seconds",
      (ull_t)stats->capped_spins, (ull_t)stats->preempted_spins, (ull_t)stats->throttled_looks);
  say(out, "  starts     %llu bursts on workers, nine of ten within %.1f us of their first push",
      (ull_t)stats->started_bursts, us(stats->late_ns_p90));
}

/// Late bursts, by cause.
static void say_ledger(const out_t *out, const struct ws_pool_s *pool)
{
  ws_ledger_t ledger;
  ws_flight_catch_up(pool);
  ws_pool_ledger(pool, &ledger);
  say(out, "  deadlines  %llu of %llu bursts late, %llu threads not judged; cause: main, in sum, at worst",
      (ull_t)ledger.late, (ull_t)ledger.bursts, (ull_t)ledger.left_out);
  for (uint32_t i = 0; i < WS_CAUSES; i++)
    if (ledger.by[i].total_ns > 0)
      say(out, "  %26s %7llu %10.1f us %10.1f us", ws_cause_name((ws_cause_t)i), (ull_t)ledger.by[i].bursts,
          us(ledger.by[i].total_ns), us(ledger.by[i].worst_ns));
}

/// The worst late bursts, at most WS_FLIGHT_WORST.
static void say_worst(const out_t *out, const struct ws_pool_s *pool)
{
  ws_journal_burst_t worst[WS_FLIGHT_WORST];
  const uint32_t count = ws_flight_worst(pool, worst);
  for (uint32_t i = 0; i < count; i++) {
    const time_t second = (time_t)(worst[i].real_ns / 1000000000u);
    struct tm of;
    char text[24] = "";
    if (localtime_r(&second, &of))
      strftime(text, sizeof(text), "%F %T", &of);
    say(out, "  %-10s %s: %.1f us, %.1f us over its limit: %s; longest task %.1f us", i == 0 ? "worst" : "",
        text, us(worst[i].length_ns), us(worst[i].length_ns - worst[i].limit_ns),
        ws_cause_name((ws_cause_t)worst[i].cause), us(worst[i].task_ns));
  }
}

/// How long wakes took, by the length of the sleep before.
static void say_latencies(const out_t *out, const ws_prewake_stats_t *stats)
{
  static const char *const slept[WS_WAKE_GAPS] = {"< 250 us", "< 1 ms", "< 4 ms", "< 16 ms", "longer"};
  say(out, "  slept      by a push: wakes   p50 us   p99 us   by timer: wakes   p50 us   p99 us");
  for (uint32_t gap = 0; gap < WS_WAKE_GAPS; gap++) {
    const ws_wake_latency_t *push = &stats->wake[WS_WAKE_PUSH][gap];
    const ws_wake_latency_t *timer = &stats->wake[WS_WAKE_TIMER][gap];
    say(out, "  %-8s %18llu %8.1f %8.1f %17llu %8.1f %8.1f", slept[gap], (ull_t)push->wakes, us(push->p50_ns),
        us(push->p99_ns), (ull_t)timer->wakes, us(timer->p50_ns), us(timer->p99_ns));
  }
}

/// The sum of @p count threads.
static void say_sum(const out_t *out, const char *who, const ws_worker_stats_t *stats, uint32_t count)
{
  const ws_worker_stats_t sum = sum_of(stats, count);
  say(out, "  %-10s %11llu %11llu %9llu %10llu %10llu %10llu %11.1f", who, (ull_t)sum.run_tasks,
      (ull_t)sum.stolen_tasks, (ull_t)sum.inline_tasks, (ull_t)sum.parks, (ull_t)sum.wakes_sent,
      (ull_t)sum.spins, us(sum.spin_ns) / 1000);
}

/// A row for each worker, at most WORKERS_SHOWN, one for the others, and one for the threads outside.
/// @param count  of @p worker
static void say_threads(const out_t *out, const ws_stats_t *total, const ws_worker_stats_t *worker,
                        uint32_t count)
{
  char who[16];
  say(out, "  thread             run      stolen    inline     sleeps      wakes      polls  polling ms");
  for (uint32_t i = 0; i < count && i < WORKERS_SHOWN; i++) {
    snprintf(who, sizeof(who), "worker %u", i);
    say_sum(out, who, &worker[i], 1);
  }
  if (count > WORKERS_SHOWN) {
    snprintf(who, sizeof(who), "%u more", count - WORKERS_SHOWN);
    say_sum(out, who, &worker[WORKERS_SHOWN], count - WORKERS_SHOWN);
  }
  say_sum(out, "outside", &total->outside, 1);
}

void ws_pool_report(const ws_pool_t *pool, void (*line)(void *arg, const char *text), void *arg)
{
  if (!pool || !line)
    return;
  const out_t out = {line, arg};
  ws_stats_t total;
  ws_prewake_stats_t prewake;
  ws_worker_stats_t *worker = calloc(pool->workers + 1, sizeof(*worker)); // without memory: no rows
  const uint32_t count = ws_pool_stats(pool, &total, worker, worker ? pool->workers : 0);
  ws_pool_prewake_stats(pool, &prewake);
  say_mode(&out, pool, ws_spin_mode(pool));
  const ws_worker_stats_t sum = sum_of(worker, count);
  say_total(&out, &total, &sum);
  say_decisions(&out, &total, sum.futile_wakes);
  say_pattern(&out, &prewake);
  say_prewake(&out, &prewake, total.workers);
  say_ledger(&out, pool);
  say_worst(&out, pool);
  say_latencies(&out, &prewake);
  say_threads(&out, &total, worker, count);
  free(worker);
}
