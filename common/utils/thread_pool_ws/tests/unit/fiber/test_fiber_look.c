// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber_look.c
/// Fibers that yield, or wake each other, without end: when does the worker look for tasks of other threads?
///
/// The clock is virtual: fibers advance it by what their runs shall take. Linked with --wrap of ws_os_now_ns.
#include "../../support/ws_seam.h"
#include "fiber_scene.h"

#define FIBERS 3u
#define ROUND_MAX 16u ///< switches between two looks
#define SLOW_NS 60000u ///< a run that is longer than the time between two looks
#define WARM 300u ///< runs of each fiber before

static ws_au64_t clock_ns, clock_reads;

static uint64_t ws_os_now_ns_seam(void)
{
  if (ws_worker_index() >= 0)
    ws_add_relaxed(&clock_reads, 1);
  return 1000000000u + ws_add_relaxed(&clock_ns, 1);
}

/// What the fibers do.
typedef struct {
  uint32_t before_ns, after_ns; ///< length of a run before and after the outside has pushed
  uint32_t tasks; ///< that the outside pushes
  bool parks; ///< the fibers wake each other
} act_t;

static struct {
  const act_t *act;
  sem_t asks, pushed; ///< between the first fiber and the thread outside
  bool has_asked;
  uint32_t begun; ///< fibers; all on one worker
  uint64_t switches, switches_before; ///< all; when the outside pushed. One worker
  uint64_t switches_at_last; ///< when its last task ran
  ws_sem_t turn[FIBERS];
} look;

static void set_last(void *unused)
{
  (void)unused;
  if (ws_add_acq_rel(&scene.value, 1) + 1 == look.act->tasks)
    look.switches_at_last = look.switches;
}

/// The fiber blocks the only worker until the thread outside has pushed.
static void have_pushed(void)
{
  sem_post(&look.asks);
  note(test_sem_wait(&look.pushed));
  look.switches_before = look.switches;
  look.has_asked = true;
}

/// Before that the thread outside still pushes fibers.
static void await_all(void)
{
  look.begun++;
  while (look.begun < FIBERS)
    note(ws_yield());
}

static void switch_once(uint32_t index)
{
  ws_add_relaxed(&clock_ns, look.has_asked ? look.act->after_ns : look.act->before_ns);
  look.switches++;
  if (!look.act->parks) {
    note(ws_yield());
    return;
  }
  ws_sem_post(&look.turn[(index + 1) % FIBERS], 1);
  ws_sem_wait(&look.turn[index]);
}

static void act(void *index_arg)
{
  const uint32_t index = *(const uint32_t *)index_arg;
  await_all();
  if (look.act->parks && index > 0)
    ws_sem_wait(&look.turn[index]);
  for (uint32_t i = 0; i < WARM; i++)
    switch_once(index);
  if (index == 0)
    have_pushed();
  while (ws_load_acquire(&scene.value) < look.act->tasks)
    switch_once(index);
  if (look.act->parks)
    ws_sem_post(&look.turn[(index + 1) % FIBERS], 1);
}

static void begin(const act_t *doing, bool fifo)
{
  ws_settings_t settings = test_settings(1);
  settings.fifo = fifo;
  scene_begin_with(&settings);
  memset(&look, 0, sizeof look);
  look.act = doing;
  sem_init(&look.asks, 0, 0);
  sem_init(&look.pushed, 0, 0);
  for (uint32_t i = 0; i < FIBERS; i++)
    ws_sem_init(&look.turn[i], 0);
}

static void end(void)
{
  scene_end();
  sem_destroy(&look.asks);
  sem_destroy(&look.pushed);
}

/// @return switches from the push of the tasks outside until the last of them has run
static uint64_t switches_for(const act_t *doing, bool fifo)
{
  static const uint32_t number[FIBERS] = {0, 1, 2};
  begin(doing, fifo);
  ws_group_init(&scene.group, FIBERS);
  for (uint32_t i = 0; i < FIBERS; i++)
    push_fiber(act, &number[i], &scene.group);
  CU_ASSERT_TRUE_FATAL(test_sem_wait(&look.asks));
  for (uint32_t i = 0; i < doing->tasks; i++)
    test_push(scene.pool, set_last, NULL, NULL);
  sem_post(&look.pushed);
  CU_ASSERT_TRUE_FATAL(test_until(is_done, &scene.group)); // a wait would run the tasks itself
  end();
  return look.switches_at_last - look.switches_before;
}

/// Runs that are longer than the time between two looks: a look at each switch.
static void slow_fibers_look_at_each_switch(void)
{
  for (uint32_t i = 0; i < 4; i++) {
    const act_t doing = {.before_ns = SLOW_NS, .after_ns = SLOW_NS, .tasks = 1, .parks = i / 2};
    CU_ASSERT(switches_for(&doing, i % 2) <= 2);
  }
}

/// Runs of a quarter of that time.
static void a_round_fills_the_time(void)
{
  for (uint32_t i = 0; i < 4; i++) {
    const act_t doing = {.before_ns = 12500, .after_ns = 12500, .tasks = 1, .parks = i / 2};
    CU_ASSERT(switches_for(&doing, i % 2) <= 4 + 1);
  }
}

/// Runs that take no time. Then they become slow: the worst that can happen.
static void a_round_has_an_end(void)
{
  for (uint32_t i = 0; i < 8; i++) {
    const act_t doing = {.after_ns = i / 4 * SLOW_NS, .tasks = 1, .parks = i / 2 % 2};
    CU_ASSERT(switches_for(&doing, i % 2) <= ROUND_MAX + 1);
  }
}

/// Each look takes one task. After one that found a task the next comes at once.
static void many_tasks_outside_share_with_fibers(void)
{
  for (uint32_t i = 0; i < 4; i++) {
    const act_t doing = {.tasks = 100, .parks = i / 2};
    CU_ASSERT(switches_for(&doing, i % 2) <= ROUND_MAX + 3 * doing.tasks);
  }
}

/// Counts looks at the clock while all fibers do so.
static void yield_many(void *reads_arg)
{
  uint64_t *reads = reads_arg, before = 0;
  await_all();
  for (uint32_t i = 0; i < 1200; i++) {
    note(ws_yield());
    if (i == 100)
      before = test_value(&clock_reads);
    if (i == 100 + 1000)
      *reads = test_value(&clock_reads) - before;
  }
}

/// A yield does not read the clock: that takes as long as the switch.
static void a_round_reads_the_clock_once(void)
{
  static const act_t none;
  for (uint32_t fifo = 0; fifo <= 1; fifo++) {
    begin(&none, fifo);
    ws_group_init(&scene.group, FIBERS);
    uint64_t reads[FIBERS] = {0};
    for (uint32_t i = 0; i < FIBERS; i++)
      push_fiber(yield_many, &reads[i], &scene.group);
    CU_ASSERT_TRUE(test_until(is_done, &scene.group));
    end();
    for (uint32_t i = 0; i < FIBERS; i++)
      CU_ASSERT(reads[i] > 0 && reads[i] <= FIBERS * 1000 / ROUND_MAX + 2);
  }
}

static void push_below_and_yield(void *unused)
{
  static const act_t one = {.tasks = 1};
  (void)unused;
  look.act = &one;
  test_push(scene.pool, set_last, NULL, NULL);
  for (; ws_load_acquire(&scene.value) == 0; look.switches++)
    note(ws_yield());
}

/// A fiber that yields goes to the end of the queue, also behind a plain task.
static void a_plain_task_has_its_turn(void)
{
  static const act_t none;
  for (uint32_t fifo = 0; fifo <= 1; fifo++) {
    begin(&none, fifo);
    ws_group_init(&scene.group, 1);
    push_fiber(push_below_and_yield, NULL, &scene.group);
    CU_ASSERT_TRUE(test_until(is_done, &scene.group));
    CU_ASSERT_EQUAL(look.switches_at_last, 0);
    end();
  }
}

static void stand_with_a_task_queued(void *unused)
{
  (void)unused;
  test_push(scene.pool, set_value, NULL, NULL);
  test_gate_task(&scene.gate); // the fiber blocks its worker
}

static bool is_set(void *unused)
{
  (void)unused;
  return ws_load_acquire(&scene.value);
}

/// All workers always have fibers that yield. A task of a thread outside; then one in the queue of a worker
/// that stands in a fiber.
static void yield_reaches_all_queues(uint32_t workers, bool fifo, bool stands)
{
  ws_settings_t settings = test_settings(workers);
  settings.fifo = fifo;
  scene_begin_with(&settings);
  for (uint32_t i = 0; i < 3 * workers; i++)
    push_fiber(yield_until_set, NULL, NULL);
  if (stands)
    push_fiber(stand_with_a_task_queued, NULL, NULL);
  else
    test_push(scene.pool, set_value, NULL, NULL);
  CU_ASSERT(test_until(is_set, NULL)); // a wait would run the task itself
  set_value(NULL); // also if it has failed
  test_gate_let(&scene.gate, 1);
  ws_pool_wait(scene.pool);
  scene_end();
}

static void many_workers_reach_all_queues(void)
{
  for (uint32_t i = 0; i < 8; i++)
    yield_reaches_all_queues(2 + i / 4, i % 2, i / 2 % 2);
}

static void test_seams(void)
{
  seam.ws_os_now_ns = ws_os_now_ns_seam;
}

TEST_MAIN_SEAMS(test_seams, "fiber_look", TEST_CASE(many_workers_reach_all_queues),
                TEST_CASE(slow_fibers_look_at_each_switch), TEST_CASE(a_round_fills_the_time),
                TEST_CASE(a_round_has_an_end), TEST_CASE(many_tasks_outside_share_with_fibers),
                TEST_CASE(a_round_reads_the_clock_once), TEST_CASE(a_plain_task_has_its_turn))
