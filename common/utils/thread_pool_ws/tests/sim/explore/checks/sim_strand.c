// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_strand.c
/// sim_checks.h. The engine calls look() between two steps, outside of all threads: what it reads of the pool
/// is no scheduling point and takes no time.
#include "../../../../tasks/ws_summary.h"
#include "sim_checks.h"

#include <math.h>

#include "../../../../pool/ws_types.h"
#include "../../../../sleep/ws_budget.h"
#include "../../../../sleep/ws_cap.h"
#include "../../../../sleep/ws_wake.h"
#include "../../../../tasks/ws_inbox.h"
#include "../../../../tasks/ws_queue.h"
#include "sim_fault.h"
#include "sim_libc.h"
#include "sim_play.h"
#include "sim_random.h"
#include "sim_record.h"

#define LOOK_PS (250 * SIM_PS_PER_US)
#define PLACE_LOOKS_MAX 8u
#define GUARD_LOOKS_MAX 4u
#define LANES_LOOKED_AT 16u
/// Of a worker that was called in a pool with kinds and nodes: more than 281.
#define SEARCH_STEPS_MAX 600
/// Sleeping workers of a pool try one after the other, each 4 ms.
#define HOT_LOOKS_MAX (4 * 4 * SIM_WORKERS_MAX + 40)
/// Steps without a task that begins. Six CPUs that poll take 45 million while a guard stops in look 16.
#define POINTS_MAX UINT64_C(100000000)

sim_ps_t sim_strand_longest_ps;

static struct {
  bool stranded;
  uint64_t begun;
  sim_ps_t since_ps;
} watched[SIM_POOLS_MAX];

bool sim_is_hog(const sim_thread_t *thread)
{
  return thread->class == SIM_REALTIME && thread->priority == SIM_HOG_PRIORITY;
}

static bool finds_idle_cpu(const sim_thread_t *thread)
{
  for (uint32_t cpu = 0; cpu < sim_machine.cpus; cpu++)
    if (sim_may_use(thread, cpu) && sim_cpu_is_idle(cpu))
      return true;
  return false;
}

static bool parked_worker_could_run(const ws_pool_t *pool)
{
  for (uint32_t i = 0; i < pool->workers; i++)
    if (ws_is_parked(pool, i) && finds_idle_cpu(sim_thread[ws_tid(pool->worker[i]) - 1]))
      return true;
  return false;
}

static uint32_t running_threads(void)
{
  uint32_t running = 0;
  for (uint32_t cpu = 0; cpu < sim_machine.cpus; cpu++)
    running += sim_cpu[cpu].current && !sim_is_hog(sim_cpu[cpu].current);
  return running;
}

static bool any_thread(bool (*is)(const sim_thread_t *thread))
{
  for (uint32_t i = 0; i < sim_threads; i++)
    if (is(sim_thread[i]))
      return true;
  return false;
}

/// It waits for a CPU beside one that is idle: that is the kernel's affair.
static bool is_delayed(const sim_thread_t *thread)
{
  return thread->state == SIM_READY && finds_idle_cpu(thread);
}

static bool waits_for_cpu(const sim_thread_t *thread)
{
  return thread->state == SIM_READY && !sim_is_hog(thread);
}

/// It has queued a task, perhaps, and has no CPU to say so.
static bool pushes_without_cpu(const sim_thread_t *thread)
{
  return thread->state == SIM_READY && sim_stack_pushes(thread);
}

/// A task sleeps without having said so: it counts as one that runs.
static bool hides_a_task(const sim_thread_t *thread)
{
  return thread->state == SIM_ASLEEP && sim_stack_hides(thread);
}

static bool is_uncalled(const ws_pool_t *pool)
{
  return !ws_sleep_pool(pool)->guarded || ws_load_relaxed(&ws_sleep_pool(pool)->guard) == WS_GUARD_DORMANT;
}

/// The guard is there, and waits for no CPU: where threads of a higher class hold all those that it may use,
/// the pool promises nothing.
static bool guard_runs(const ws_pool_t *pool)
{
  if (!ws_sleep_pool(pool)->guarded)
    return pool->workers > 1 && !any_thread(waits_for_cpu) && !any_thread(hides_a_task); // no thread needs it
  return sim_thread[ws_sleep_pool(pool)->guard_thread - 1]->state != SIM_READY;
}

/// A task that a worker was handed which waits for a CPU, or has left its inbox.
static bool is_handed_to_waiting(const ws_pool_t *pool)
{
  for (uint32_t i = 0; i < pool->workers; i++) {
    const ws_inbox_t *inbox = &pool->worker[i]->inbox;
    if (ws_inbox_is(inbox, WS_INBOX_FULL)
        && (ws_load_relaxed(&inbox->gone) || sim_thread[ws_tid(pool->worker[i]) - 1]->state == SIM_READY))
      return true;
  }
  return false;
}

static bool is_left(const ws_pool_t *pool)
{
  return running_threads() < pool->cpus && parked_worker_could_run(pool);
}

static bool worker_searches(const ws_pool_t *pool)
{
  for (uint32_t i = 0; i < pool->workers; i++)
    if (ws_searches(pool->worker[i]) && sim_thread[ws_tid(pool->worker[i]) - 1]->state == SIM_RUNNING)
      return true;
  return false;
}

/// A thread that waits for a CPU holds the lock of a pool-wide queue, as any mutex can be held: others get no
/// task there, and that thread may have taken the one that is still counted.
static bool is_locked(const ws_pool_t *pool)
{
  bool locked = false;
  for (uint32_t i = 0; i < pool->tasks.kinds; i++)
    locked |= *(const uint32_t *)(const void *)&pool->tasks.shared[i].lock != 0; // sim_libc_sync.c
  return locked && any_thread(waits_for_cpu)
         && ws_queued(&pool->tasks) <= ws_load_relaxed(&pool->tasks.shared_tasks);
}

/// @return whether a thread is moving tasks out of its way: it looks for sleepers when it has done so
static bool is_moving(const ws_pool_t *pool)
{
  const uint32_t queues = ws_queue_count(&pool->tasks);
  bool any = false;
  for (uint32_t i = 0; i < queues; i++)
    any |= pool->tasks.queue[i]->wait && pool->tasks.queue[i]->wait->has_hidden;
  return any;
}

static bool is_stranded(ws_pool_t *pool, sim_ps_t now_ps)
{
  return pool && ws_load_relaxed(&pool->state) != WS_STOPPED && sim_stalled == 0
         && !sim_disturb_throttles(now_ps) && guard_runs(pool) && !any_thread(is_delayed)
         && !(is_uncalled(pool) && (any_thread(pushes_without_cpu) || is_moving(pool)))
         && (is_handed_to_waiting(pool) ? worker_searches(pool) || is_left(pool)
                                        : ws_queued(&pool->tasks) > 0 && is_left(pool) && !is_locked(pool));
}

/// @return what a guard's slowness adds to so many of its steps
static sim_ps_t guard_slow_ps(uint32_t steps)
{
  return (sim_ps_t)(sim_scene->guard_slow_us * 1e6) * (sim_ps_t)steps;
}

/// @return what its slowness adds to the steps of one search
static sim_ps_t search_slow_ps(const ws_pool_t *pool)
{
  sim_ps_t most_ps = 0;
  for (uint32_t i = 0; i < pool->workers && ws_tid(pool->worker[i]) != 0; i++) {
    const sim_ps_t slow_ps = sim_thread[ws_tid(pool->worker[i]) - 1]->slow_ps;
    most_ps = slow_ps > most_ps ? slow_ps : most_ps;
  }
  return SEARCH_STEPS_MAX * most_ps;
}

/// What the guard takes, in the worst case.
static sim_ps_t bound_ps(const ws_pool_t *pool)
{
  if (!ws_sleep_pool(pool)->guarded)
    return 2 * SIM_PS_PER_MS + search_slow_ps(pool); // no timer repairs anything there
  return 6 * SIM_PS_PER_MS + (sim_fault.late_share > 0 ? 20 * SIM_PS_PER_MS : 0) + guard_slow_ps(3000);
}

/// How often a thread was seen in one and the same sleep.
typedef struct {
  uint32_t looks;
  sim_ps_t since_ps;
} sleep_seen_t;

/// @return whether it sleeps so for too long by now
static bool sleeps_on(sleep_seen_t *seen, const sim_thread_t *thread, bool wrongly)
{
  if (!wrongly || seen->since_ps != thread->now_ps)
    seen->looks = 0;
  seen->since_ps = thread->now_ps;
  return wrongly && ++seen->looks > PLACE_LOOKS_MAX;
}

static bool is_disturbed(sim_ps_t now_ps)
{
  return sim_stalled > 0 || sim_disturb_throttles(now_ps) || any_thread(waits_for_cpu);
}

/// It sleeps for the lock of a pool-wide queue, not in a wait: as long as the holder is slow.
static bool waits_for_lock(const ws_pool_t *pool, const sim_thread_t *thread)
{
  for (uint32_t i = 0; i < pool->tasks.kinds; i++)
    if (thread->waits_on == (const void *)&pool->tasks.shared[i].lock)
      return true;
  return false;
}

/// A thread outside that helps sleeps in a wait, and has its place still.
static bool holds_lane_place(const ws_pool_t *pool, const ws_queue_t *lane)
{
  const int32_t tid = ws_tid_of(ws_load_relaxed(&lane->owner));
  return tid > 0 && lane->helping.pool == pool && lane->helping.suspended_at == 0
         && sim_thread[tid - 1]->state == SIM_ASLEEP && !sim_stack_hides(sim_thread[tid - 1])
         && !waits_for_lock(pool, sim_thread[tid - 1]);
}

static void look_for_lane_places(const ws_pool_t *pool, uint32_t index, bool is_calm)
{
  static sleep_seen_t seen[SIM_POOLS_MAX][LANES_LOOKED_AT];
  const uint32_t lanes = is_calm ? ws_load_relaxed(&pool->tasks.queues) - pool->workers : 0;
  for (uint32_t i = 0; i < lanes && i < LANES_LOOKED_AT; i++) {
    const ws_queue_t *lane = pool->tasks.queue[pool->workers + i];
    const int32_t tid = ws_tid_of(ws_load_relaxed(&lane->owner));
    if (tid > 0 && sleeps_on(&seen[index][i], sim_thread[tid - 1], holds_lane_place(pool, lane)))
      sim_finding("place: the thread of lane %u of pool %u sleeps in a wait, and is counted as a helper", i,
                  index);
  }
}

static uint32_t dormant_looks[SIM_POOLS_MAX], cold_looks[SIM_POOLS_MAX];

static bool lasts(uint32_t *looks, bool is_seen, uint32_t most)
{
  *looks = is_seen ? *looks + 1 : 0;
  return *looks > most;
}

/// PARK.md: a task that waits while a worker sleeps has a guard that stands.
static void look_for_guard(ws_pool_t *pool, uint32_t index, bool is_calm)
{
  const bool dormant = ws_sleep_pool(pool)->guarded
                       && ws_load_relaxed(&ws_sleep_pool(pool)->guard) == WS_GUARD_DORMANT
                       && ws_queued(&pool->tasks) > 0 && ws_has_sleepers(pool) && is_calm && !is_moving(pool);
  if (lasts(&dormant_looks[index], dormant, GUARD_LOOKS_MAX + (uint32_t)(guard_slow_ps(300) / LOOK_PS)))
    sim_finding("guard: pool %u has tasks queued and a worker that sleeps, and its guard is dormant", index);
}

/// A worker of a pool that busy-polls sleeps, though there is a CPU for it.
static void look_for_hot(ws_pool_t *pool, uint32_t index)
{
  const bool sleeps = sim_scene->looks_hot && ws_load_relaxed(&pool->state) == WS_RUNNING && sim_stalled == 0
                      && ws_load_relaxed(&ws_sleep_pool(pool)->spin) == WS_SPIN_HOT
                      && ws_awake(pool) != pool->workers && ws_may_spin(pool, 1);
  if (lasts(&cold_looks[index], sleeps, HOT_LOOKS_MAX))
    sim_finding("hot: %u of %u workers of pool %u sleep, and there are CPUs for more",
                pool->workers - ws_awake(pool), pool->workers, index);
}

/// A worker sleeps, is not parked, and waits for nothing that the pool cannot see, but has its place still.
static bool holds_place(const ws_pool_t *pool, const ws_worker_t *worker)
{
  const sim_thread_t *thread = sim_thread[ws_tid(worker) - 1];
  return thread->state == SIM_ASLEEP && !ws_is_parked(pool, worker->index) && !sim_stack_hides(thread)
         && !ws_searches(worker) && worker->queue.helping.suspended_at == 0 && !waits_for_lock(pool, thread);
}

static void look_for_places(const ws_pool_t *pool, uint32_t index, bool is_calm)
{
  static sleep_seen_t seen[SIM_POOLS_MAX][SIM_WORKERS_MAX];
  for (uint32_t i = 0; is_calm && i < pool->workers && ws_tid(pool->worker[i]) != 0; i++)
    if (sleeps_on(&seen[index][i], sim_thread[ws_tid(pool->worker[i]) - 1],
                  holds_place(pool, pool->worker[i])))
      sim_finding("place: worker %u of pool %u sleeps in a wait, and is not counted as blocked", i, index);
}

/// ws_summary.h: no search looks at a queue whose bit is clear, nor do the checks above.
static void look_for_summary(const ws_pool_t *pool, uint32_t index)
{
  for (uint32_t i = 0; i < pool->workers; i++)
    if (ws_deque_size(&pool->worker[i]->queue.deque) > 0 && !ws_summary_has(&pool->tasks, i))
      sim_finding("summary: worker %u of pool %u has tasks queued, and its bit is clear", i, index);
}

static void look_at(uint32_t index, sim_ps_t now_ps)
{
  const uint64_t begun = sim_record_begun[index];
  const bool stranded = is_stranded(sim_pool[index], now_ps);
  if (!stranded || !watched[index].stranded || watched[index].begun != begun)
    watched[index].since_ps = now_ps;
  watched[index].stranded = stranded;
  watched[index].begun = begun;
  const sim_ps_t ps = now_ps - watched[index].since_ps;
  if (ps > sim_strand_longest_ps)
    sim_strand_longest_ps = ps;
  if (stranded && ps > bound_ps(sim_pool[index]))
    sim_finding("strand: pool %u has %llu tasks queued, %u in inboxes, and a worker that could run: %.1f ms",
                index, (unsigned long long)ws_queued(&sim_pool[index]->tasks),
                ws_inbox_count(&sim_pool[index]->tasks), (double)ps / 1e9);
}

static void look_at_once(uint32_t index, sim_ps_t now_ps)
{
  ws_pool_t *pool = sim_pool[index];
  const bool is_calm = !is_disturbed(now_ps);
  look_at(index, now_ps);
  if (pool)
    look_for_summary(pool, index);
  if (!pool || ws_load_relaxed(&pool->state) == WS_STOPPED) {
    dormant_looks[index] = cold_looks[index] = 0;
    return;
  }
  look_for_hot(pool, index);
  look_for_places(pool, index, is_calm);
  look_for_lane_places(pool, index, is_calm);
  sim_handed_look(pool, index, is_calm);
  look_for_guard(pool, index, is_calm);
}

/// Any thread as likely: also one that takes few steps.
static void stall_one_thread(void)
{
  if (!sim_fault_happens(sim_scene->look_stalls))
    return;
  sim_thread_t *thread = sim_thread[sim_random_below(sim_threads)];
  if (sim_is_hog(thread) || thread->state == SIM_ENDED)
    return;
  sim_fault_stall_later(thread, 1 + (uint32_t)sim_random_below(60),
                        (sim_ps_t)(pow(3000, sim_random_unit()) * 3e6));
}

/// Threads that poll, and nothing else happens. While a thread is stopped, the others may.
static void look_for_progress(void)
{
  static uint64_t begun_before, progress_points;
  uint64_t begun = 0;
  for (uint32_t i = 0; i < sim_scene->pools; i++)
    begun += sim_record_begun[i];
  if (sim_stalled > 0 || begun != begun_before)
    progress_points = sim_points;
  begun_before = begun;
  if (sim_points - progress_points > POINTS_MAX)
    sim_finding("no end after %llu steps", (unsigned long long)sim_points);
}

static void look(void *unused, sim_ps_t now_ps)
{
  if (sim_event_soonest_ps == INT64_MAX)
    sim_finding("hang: every thread sleeps, and no timer is set");
  look_for_progress();
  stall_one_thread();
  sim_front->look();
  for (uint32_t i = 0; i < sim_scene->pools; i++)
    look_at_once(i, now_ps);
  const sim_ps_t next_ps = now_ps + LOOK_PS;
  sim_event_add((sim_event_t){.at_ps = next_ps > sim_event_soonest_ps ? next_ps : sim_event_soonest_ps + 1,
                              .kind = SIM_EVENT_CALL,
                              .call = look,
                              .arg = unused});
}

void sim_strand_begin(void)
{
  sim_event_add((sim_event_t){.at_ps = SIM_PS_PER_S + LOOK_PS, .kind = SIM_EVENT_CALL, .call = look});
}
