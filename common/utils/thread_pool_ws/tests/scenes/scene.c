// SPDX-License-Identifier: BSD-3-Clause
/// @file scene.c
/// The interpreter of scenes (SCENES.md). Whatever the text says, each scene also checks that a wait runs
/// only tasks of its group and what those have pushed, that a task knows itself, and that each task that was
/// pushed has ended once.
#define _GNU_SOURCE
#include "scene.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/ws_key.h"
#include "../../include/ws_node.h"
#include "../../include/ws_record.h"
#include "../../include/ws_stats.h"
#include "../../os/ws_os.h"
#include "scene_value.h"
#include "scene_words.h"

#define THINGS_MAX SCENE_NAMES_MAX
#define RUNS_MAX (1u << 17)
#define THREADS_MAX 16u
#define POLL_NS 200000u

/// What a name of the scene means: a task or a thread, a group, a key, a gate, a pool. One name may be
/// several.
typedef struct {
  const char *name, *body;
  ws_au32_t began, ran, cancelled, skipped; ///< as a task
  ws_au32_t used, asked; ///< bools: by a statement that is no condition; by a condition
  ws_aptr_t last; ///< its run_t that was pushed last
  ws_group_t group;
  uint32_t life; ///< number of groups of the name so far
  bool has_group;
  ws_key_t key;
  ws_au32_t unreturned; ///< as a key: tasks that were cancelled, less those that calls have returned
  ws_au32_t entered, tickets; ///< as a gate
  ws_pool_t *pool;
  bool is_destroyed;
} thing_t;

/// A task that was pushed.
typedef struct run_s {
  ws_record_t record; ///< first
  ws_keyed_t *keyed; ///< NULL = it has no key
  bool frees; ///< the task frees it
  ws_pool_t *pool;
  ws_priority_t priority;
  thing_t *task, *group, *key;
  uint32_t life; ///< of the group
  bool is_fiber;
  const struct run_s *pusher; ///< the task that pushed it; NULL = a thread
  ws_au32_t taken, ends; ///< bool: the pool has taken it; times that it ran, was cancelled or skipped
} run_t;

/// What the calling thread waits for.
typedef struct wait_s {
  const thing_t *group;
  const run_t *inside;
  bool is_event; ///< it runs no task that others have pushed
} wait_t;

static struct {
  char *text, *main;
  thing_t thing[THINGS_MAX];
  uint32_t things;
  thing_t *pool; ///< that statements without @NAME are about
  run_t *run;
  ws_au32_t runs, order, failed, ended; ///< the last: workers
  char failure[256];
  ws_aptr_t ordered[1024];
  pthread_t thread[THREADS_MAX];
  uint32_t threads;
} scene;

/// What the calling thread, or fiber, plays. Each use asks here(): a fiber may go on on another thread.
typedef struct {
  const run_t *running;
  wait_t waiting;
  char statement[256];
} here_t;
#define running (here()->running)
#define waiting (here()->waiting)
#define statement (here()->statement)

scene_table_t *scene_tables;
const scene_operation_t *scene_machine_operations;
const scene_more_t *scene_more;

/// A function of its own: the compiler may keep the address of thread-local data within one (ws_fiber.h).
__attribute__((noinline)) static here_t *here(void)
{
  static _Thread_local here_t of_thread;
  __asm__ volatile("");
  here_t *of_fiber = scene_more ? scene_more->here() : NULL;
  return of_fiber ? of_fiber : &of_thread;
}

void scene_fail(const char *format, ...)
{
  char text[160];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof(text), format, list);
  va_end(list);
  if (ws_add_acq_rel(&scene.failed, 1) > 0)
    return;
  snprintf(scene.failure, sizeof(scene.failure), "\"%.80s\": %s", statement, text);
  fprintf(stderr, "\n%s\n", scene.failure); // it may not come to its end
}

static thing_t *look_up(const char *name)
{
  for (uint32_t i = 0; name && i < scene.things; i++)
    if (strcmp(scene.thing[i].name, name) == 0)
      return &scene.thing[i];
  scene_fail("\"%s\" is no name", name ? name : "");
  return &scene.thing[0];
}

static thing_t *find(const char *name)
{
  thing_t *thing = look_up(name);
  ws_store_relaxed(&thing->used, 1);
  return thing;
}

/// For conditions. At the end of the scene a statement must have used the name, too.
static thing_t *ask(const char *name)
{
  thing_t *thing = look_up(name);
  ws_store_relaxed(&thing->asked, 1);
  return thing;
}

uint32_t scene_name(const char *name)
{
  return (uint32_t)(find(name) - scene.thing);
}

static ws_pool_t *pool_of(scene_words_t words)
{
  for (; *words; words++)
    if (**words == '@')
      return find(*words + 1)->pool;
  return scene.pool->pool;
}

/// The thread sleeps for a moment, on both kinds of machine.
static void nap(uint64_t ns)
{
  static ws_au32_t never;
  ws_os_futex_wait(&never, 0, ns);
}

static void play(const char *text);

/// A wait runs tasks of its group, and what those have pushed; and what fibers push that run there meanwhile.
static bool may_run(const run_t *run)
{
  for (; run; run = waiting.is_event ? NULL : run->pusher)
    if (run->is_fiber)
      return true;
    else if (run == waiting.inside || (run->group == waiting.group && run->life == waiting.group->life))
      return run != waiting.inside;
  return false;
}

/// Filled first: what the pool still reads is seen.
static void free_task(run_t *run)
{
  if (!run->frees)
    return;
  memset(run->keyed, 0xff, sizeof(*run->keyed));
  free(run->keyed);
}

static void run_task(void *run_arg)
{
  run_t *run = run_arg;
  const ws_task_t *task = ws_current_task();
  if (!task || task->arg != (run->keyed ? (void *)run->keyed : run) || task->priority != run->priority)
    scene_fail("%s has another task in its place", run->task->name);
  free_task(run);
  const run_t *const outer = running;
  const wait_t outer_wait = waiting;
  if (waiting.group && !may_run(run))
    scene_fail("a wait for %s ran %s", waiting.group->name, run->task->name);
  const uint32_t place = ws_add_relaxed(&scene.order, 1);
  if (place < sizeof(scene.ordered) / sizeof(scene.ordered[0]))
    ws_store_release(&scene.ordered[place], run->task);
  running = run;
  waiting = (wait_t){NULL, NULL, false};
  ws_add_release(&run->task->began, 1);
  if (run->task->body)
    play(run->task->body);
  ws_add_release(&run->task->ran, 1);
  ws_add_release(&run->ends, 1); // last: the scene may be over then
  running = outer;
  waiting = outer_wait;
}

/// Whatever the scene says: the current task is the fiber as it was pushed, after all its waits.
static void run_fiber(void *run_arg)
{
  here_t of_fiber = {0};
  scene_more->keep(&of_fiber);
  run_task(run_arg);
  const ws_task_t *task = ws_current_task();
  if (!task || task->func != run_fiber || task->arg != run_arg)
    scene_fail("%s does not know itself at its end", ((const run_t *)run_arg)->task->name);
}

/// As in any task, a wait for all others would not end.
static void cancel_task(void *run_arg)
{
  run_t *run = run_arg;
  if (ws_pool_wait(run->pool) != -EDEADLK || !ws_current_task())
    scene_fail("on_cancel of %s is not inside a task", run->task->name);
  free_task(run);
  ws_add_relaxed(&run->key->unreturned, 1);
  ws_add_release(&run->task->cancelled, 1);
  ws_add_release(&run->ends, 1); // last: the scene may be over then
}

static void settle_record(ws_record_t *record, int why)
{
  run_t *run = (run_t *)(void *)record;
  if (why == WS_RECORD_RUN) {
    run_task(run);
    return;
  }
  if (ws_current_task())
    scene_fail("the record of %s is skipped inside a task", run->task->name);
  ws_add_release(&run->task->skipped, 1);
  ws_add_release(&run->ends, 1); // last: the scene may be over then
}

/// Of tasks that an abort skips.
static void skip_task(void *unused, const ws_task_t *task)
{
  run_t *run = task->arg;
  if ((ws_current_task() && !run->is_fiber) || run->record.settle)
    scene_fail("%s is skipped inside a task, or has a record", run->task->name);
  ws_add_release(&run->task->skipped, 1);
  ws_add_release(&run->ends, 1); // last: the scene may be over then
}

static ws_group_t *group_of(run_t *run, scene_words_t words)
{
  const char *group = option(words, "in"), *tag = option(words, "tag"), *weak = option(words, "weak");
  if (!group && !tag && !weak)
    return NULL;
  thing_t *thing = run->group = find(group ? group : tag ? tag : weak);
  run->life = thing->life;
  if (tag || weak)
    return tag ? ws_group_tag(&thing->group) : ws_group_weak_tag(&thing->group);
  if (!thing->has_group)
    ws_group_add(&thing->group, 1);
  return &thing->group;
}

static run_t *new_run(scene_words_t words)
{
  const uint32_t index = ws_add_relaxed(&scene.runs, 1);
  if (index >= RUNS_MAX) {
    fprintf(stderr, "a scene has more than %u tasks\n", RUNS_MAX);
    abort();
  }
  run_t *run = &scene.run[index];
  run->task = find(words[0]);
  run->pusher = running;
  return run;
}

static ws_task_t new_task(run_t *run, scene_words_t words)
{
  const char *node = option(words, "node");
  const bool has_record = has(words, "record");
  if (has_record)
    run->record.settle = settle_record;
  run->priority = has(words, "high")  ? WS_PRIORITY_HIGH
                  : has(words, "low") ? WS_PRIORITY_LOW
                                      : WS_PRIORITY_NORMAL;
  run->is_fiber = has(words, "fiber");
  return (ws_task_t){.func = has_record      ? ws_record_func()
                             : run->is_fiber ? run_fiber
                                             : run_task,
                     .arg = run,
                     .group = group_of(run, words),
                     .priority = run->priority,
                     .node = node ? ws_node_hint((int32_t)scene_number(node)) : WS_NODE_ANY};
}

/// @return what the push of one task returns
static int push_one(ws_pool_t *pool, run_t *run, scene_words_t words)
{
  const char *key = option(words, "key");
  const ws_task_t task = new_task(run, words);
  run->pool = pool;
  if (key) {
    run->key = find(key);
    run->frees = has(words, "frees");
    run->keyed = malloc(sizeof(*run->keyed));
    if (!run->keyed)
      abort();
    *run->keyed =
        (ws_keyed_t){&run->key->key, run_task, cancel_task, run, task.group, run->priority, NULL, 0};
  }
  const int result = key                   ? ws_pool_push_keyed(pool, run->keyed)
                     : has(words, "fiber") ? scene_more->push(pool, &task, words)
                     : has(words, "try")   ? ws_pool_try_push(pool, task)
                                           : ws_pool_push(pool, task);
  ws_store_relaxed(&run->taken, result == 0);
  ws_store_release(&run->task->last, run);
  return result;
}

/// @return how many tasks batches of 64 have taken; what a batch returns that takes none
static int64_t push_batches(ws_pool_t *pool, uint32_t count, scene_words_t words)
{
  ws_task_t batch[64];
  int64_t sum = 0, taken = 0;
  for (uint32_t left = count, size; left > 0 && taken >= 0; left = taken < size ? 0 : left - size) {
    size = left < 64 ? left : 64;
    for (uint32_t i = 0; i < size; i++)
      batch[i] = new_task(new_run(words), words);
    taken = ws_pool_push_batch(pool, batch, size);
    for (uint32_t i = 0; i < size && i < taken; i++)
      ws_store_relaxed(&((run_t *)batch[i].arg)->taken, 1);
    sum += taken > 0 ? taken : 0;
  }
  return sum > 0 ? sum : taken;
}

/// push TASK [COUNT] [in=GROUP | tag=GROUP | weak=GROUP] [key=KEY [frees] | record] [high | low]
/// [node=N] [try | batch | refused | fiber]
static void push(scene_words_t words)
{
  const uint32_t count = number(words + 1, 1);
  ws_pool_t *pool = pool_of(words);
  if (has(words, "batch")) {
    expect(words, push_batches(pool, count, words), count);
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    const int result = push_one(pool, new_run(words), words);
    if (result == -ECANCELED && has(words, "refused"))
      return;
    expect(words, result, 0);
  }
}

/// gate [NAME]: the calling thread stands until a "let" lets it go.
static void gate(scene_words_t words)
{
  thing_t *thing = find(words[0] ? words[0] : "gate");
  ws_add_release(&thing->entered, 1);
  for (;;) {
    uint32_t tickets = ws_load_acquire(&thing->tickets);
    while (tickets > 0)
      if (ws_cas_acq_rel(&thing->tickets, &tickets, tickets - 1))
        return;
    ws_os_futex_wait(&thing->tickets, 0, 0);
  }
}

/// busy NAME: the calling thread uses its CPU until a "let", which lets all go on.
static void busy_until_let(scene_words_t words)
{
  thing_t *thing = find(words[0]);
  ws_add_release(&thing->entered, 1);
  while (ws_load_acquire(&thing->tickets) == 0)
    ws_os_yield();
}

void scene_stand(void)
{
  gate((const char *const[]){NULL});
}

/// let [NAME] [COUNT]
static void let(scene_words_t words)
{
  thing_t *thing = find(words[0] && !isdigit((unsigned char)*words[0]) ? words[0] : "gate");
  const uint32_t count = number(words, 1);
  ws_add_release(&thing->tickets, count);
  ws_os_futex_wake(&thing->tickets, count);
}

static void observe(void *unused, const ws_observation_t *seen)
{
  if (seen->what == WS_OBSERVED_STOP)
    ws_add_release(&scene.ended, 1);
}

/// pool [NAME] [SETTING=VALUE]... [observed]: create one; later statements are about it.
static void create(scene_words_t words)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.queue_capacity = 256;
  settings.skipped = skip_task;
  settings.observer = has(words, "observed") ? observe : NULL;
  thing_t *thing = find(words[0] && !strchr(words[0], '=') ? words[0] : "pool");
  for (; *words; words++)
    if (strchr(*words, '=') && !scene_setting(&settings, *words))
      scene_fail("%s is no setting", *words);
  thing->is_destroyed = false;
  const int result = ws_pool_create(&thing->pool, &settings);
  if (result < 0)
    scene_fail("ws_pool_create returned %d", result);
  else
    scene.pool = thing;
}

/// group NAME UNITS: pushes to it add no units then.
static void make_group(scene_words_t words)
{
  thing_t *thing = find(words[0]);
  ws_group_init(&thing->group, number(words, 0));
  thing->life++;
  thing->has_group = true;
}

static void add(scene_words_t words)
{
  ws_group_add(&find(words[0])->group, number(words, 1));
}

static void complete(scene_words_t words)
{
  ws_group_complete(&find(words[0])->group, number(words, 1));
}

/// @return the end of "within=TIME", which may be "never"; 0 = the statement has none
static uint64_t deadline_of(scene_words_t words)
{
  const char *within = option(words, "within");
  return !within                        ? 0
         : strcmp(within, "never") == 0 ? UINT64_MAX
                                        : ws_os_now_ns() + (uint64_t)scene_number(within);
}

/// wait GROUP [alone] [within=TIME]
static void wait_group(scene_words_t words)
{
  thing_t *thing = find(words[0]);
  const uint64_t until_ns = deadline_of(words);
  ws_pool_t *pool = has(words, "alone") ? NULL : pool_of(words);
  const wait_t outer = waiting;
  waiting = (wait_t){thing, running, false};
  if (until_ns > 0)
    expect(words, ws_group_wait_until(&thing->group, pool, until_ns), 0);
  else
    ws_group_wait(&thing->group, pool);
  waiting = outer;
}

/// settle [within=TIME]: wait for all tasks of the pool.
static void settle(scene_words_t words)
{
  const uint64_t until_ns = deadline_of(words);
  ws_pool_t *pool = pool_of(words);
  expect(words, until_ns > 0 ? ws_pool_wait_until(pool, until_ns) : ws_pool_wait(pool), 0);
}

/// sleep TIME: tasks may run meanwhile, but none need have begun.
static void sleep_for(scene_words_t words)
{
  nap((uint64_t)scene_number(words[0]));
}

static bool has_tickets(void *thing)
{
  return ws_load_acquire(&((thing_t *)thing)->tickets) > 0 || ws_load_acquire(&scene.failed) != 0;
}

static void sleep_at_gate(void *thing_arg)
{
  thing_t *thing = thing_arg;
  ws_add_release(&thing->entered, 1);
  ws_os_futex_wait(&thing->tickets, 0, 1000000000); // whether the scene has failed
}

/// await GATE [tag=GROUP]: an event, which a "let" makes ready.
static void await(scene_words_t words)
{
  const char *tag = option(words, "tag");
  thing_t *thing = find(words[0]);
  const wait_t outer = waiting;
  if (tag)
    waiting = (wait_t){find(tag), running, true};
  ws_pool_await(pool_of(words), tag ? ws_group_tag(&find(tag)->group) : NULL,
                &(ws_event_t){has_tickets, sleep_at_gate, thing});
  waiting = outer;
}

/// cancel KEY [wait]; cancel TASK one: the one that was pushed last
static void cancel(scene_words_t words)
{
  const bool one = has(words, "one"), waits = has(words, "wait");
  thing_t *thing = find(words[0]);
  ws_pool_t *pool = pool_of(words);
  const run_t *last = one ? ws_load_acquire(&thing->last) : NULL;
  const int64_t result = one     ? ws_pool_cancel_task(pool, last->keyed)
                         : waits ? ws_pool_cancel_wait(pool, &thing->key)
                                 : ws_pool_cancel(pool, &thing->key);
  const int64_t returned = one ? result == 0 : result > 0 ? result : 0;
  ws_add_relaxed(&(one ? last->key : thing)->unreturned, 0u - (uint32_t)returned);
  if (one || waits || has(words, "="))
    expect(words, result, 0);
}

/// stop drain | abort
static void stop(scene_words_t words)
{
  expect(words, ws_pool_stop(pool_of(words), has(words, "abort") ? WS_STOP_ABORT : WS_STOP_DRAIN), 0);
}

static void destroy(scene_words_t words)
{
  thing_t *thing = words[0] ? find(words[0] + (*words[0] == '@')) : scene.pool;
  thing->is_destroyed = true; // in a task the pool lives on until that has ended
  ws_pool_destroy(thing->pool);
}

static void retain(scene_words_t words)
{
  ws_pool_hold(pool_of(words));
}

static void release(scene_words_t words)
{
  ws_pool_release(pool_of(words));
}

static void *play_thread(void *thing_arg)
{
  thing_t *thing = thing_arg;
  ws_add_release(&thing->began, 1);
  play(thing->body);
  ws_add_release(&thing->ran, 1);
  return NULL;
}

/// thread NAME: a thread plays its text. It is not of the pool.
static void start_thread(scene_words_t words)
{
  thing_t *thing = find(words[0]);
  if (!thing->body || scene.threads == THREADS_MAX
      || pthread_create(&scene.thread[scene.threads++], NULL, play_thread, thing) != 0)
    scene_fail("no such thread, or too many");
}

static void join(scene_words_t words)
{
  while (scene.threads > 0)
    pthread_join(scene.thread[--scene.threads], NULL);
}

static void block(scene_words_t words)
{
  ws_blocking_begin();
}

static void unblock(scene_words_t words)
{
  ws_blocking_end();
}

static void prewake(scene_words_t words)
{
  ws_pool_prewake(pool_of(words), number(words, 1), 1000000);
}

/// spin off | fixed | auto | hot
static void set_spin(scene_words_t words)
{
  expect(words, ws_pool_set_spin(pool_of(words), (ws_spin_t)scene_number(words[0]), 0), 0);
}

/// note: "more COUNTER" is what a counter has grown by since then.
static void note(scene_words_t words)
{
  scene_note(pool_of(words));
}

/// mark NAME: it is in the order of tasks, and has run once more.
static void mark(scene_words_t words)
{
  thing_t *thing = find(words[0]);
  const uint32_t place = ws_add_relaxed(&scene.order, 1);
  if (place < sizeof(scene.ordered) / sizeof(scene.ordered[0]))
    ws_store_release(&scene.ordered[place], thing);
  ws_add_release(&thing->ran, 1);
}

static void forget(scene_words_t words)
{
  ws_store_relaxed(&scene.order, 0);
}

static bool is_in_order(scene_words_t words)
{
  uint32_t place = 0;
  for (; *words; words++, place++)
    if (place >= ws_load_acquire(&scene.order) || ws_load_acquire(&scene.ordered[place]) != ask(*words))
      return false;
  return place == ws_load_acquire(&scene.order);
}

/// @return what a condition is about. @param rest  the words behind it
static int64_t value(scene_words_t words, scene_words_t *rest)
{
  const char *of[] = {"ran", "began", "cancelled", "skipped", "entered", "unreturned"};
  *rest = words + 1;
  for (uint32_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
    if (strcmp(words[0], of[i]) != 0)
      continue;
    thing_t *thing = ask(words[1] && !isdigit((unsigned char)*words[1]) ? words[1] : "gate");
    *rest = words + 1 + (thing->name == words[1] || (words[1] && strcmp(thing->name, words[1]) == 0));
    ws_au32_t *const counter[] = {&thing->ran,     &thing->began,   &thing->cancelled,
                                  &thing->skipped, &thing->entered, &thing->unreturned};
    return ws_load_acquire(counter[i]);
  }
  if (strcmp(words[0], "done") == 0) {
    *rest = words + 2;
    return ws_group_done(&ask(words[1])->group);
  }
  const struct {
    const char *name;
    int64_t value;
  } plain[] = {{"worker", ws_worker_index() >= 0},
               {"index", ws_worker_index()},
               {"events", ws_load_acquire(&scene.order)},
               {"stopped", ws_load_acquire(&scene.ended)}};
  for (uint32_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
    if (strcmp(words[0], plain[i].name) == 0)
      return plain[i].value;
  if (strcmp(words[0], "stopping") == 0)
    return ws_pool_push_batch(pool_of(words), NULL, 0) == -ECANCELED;
  int64_t count = 0;
  if (scene_more && scene_more->value(words, rest, &count))
    return count;
  const bool more = strcmp(words[0], "more") == 0;
  *rest += more;
  if (!scene_counter(pool_of(words), words[more], more, &count))
    scene_fail("\"%s\" is no condition", words[more]);
  return count;
}

/// CONDITION [>= | <=] [NUMBER]; order TASK...
static bool holds(scene_words_t words, int64_t *found)
{
  scene_words_t rest;
  if (strcmp(words[0], "order") == 0)
    return is_in_order(words + 1);
  *found = value(words, &rest);
  const bool least = *rest && strcmp(*rest, ">=") == 0, most = *rest && strcmp(*rest, "<=") == 0;
  rest += least || most;
  const bool has_number = *rest && **rest != '@';
  const int64_t wanted = has_number ? scene_number(*rest) : 1;
  rest += has_number;
  if (*rest && **rest != '@')
    scene_fail("\"%s\" means nothing here", *rest);
  return least ? *found >= wanted : most ? *found <= wanted : *found == wanted;
}

/// is CONDITION
static void is(scene_words_t words)
{
  int64_t found = -1;
  if (!holds(words, &found))
    scene_fail("it is %lld", (long long)found);
}

/// until CONDITION. The watchdog of the program ends a scene in which it never holds.
static void until(scene_words_t words)
{
  for (int64_t found; !holds(words, &found) && ws_load_acquire(&scene.failed) == 0;)
    nap(POLL_NS);
}

/// stand [COUNT]: so many workers stand in the gate.
static void stand(scene_words_t words)
{
  thing_t *thing = find("gate");
  const uint32_t all = ws_load_acquire(&thing->entered) + number(words, 1);
  char count[12];
  snprintf(count, sizeof(count), "%u", number(words, 1));
  push((const char *const[]){"stand", count, NULL});
  while (ws_load_acquire(&thing->entered) < all)
    nap(POLL_NS);
}

static void nothing(scene_words_t words) {}

static const scene_operation_t operations[] = {
    {"push", push, 1,
     " in= tag= weak= key= frees record high low normal node= try batch refused fiber stack= token= = "},
    {"gate", gate, 1, "  "},
    {"let", let, 1, "  "},
    {"stand", stand, 0, "  "},
    {"pool", create, 0, NULL},
    {"group", make_group, 1, "  "},
    {"add", add, 1, "  "},
    {"complete", complete, 1, "  "},
    {"wait", wait_group, 1, " alone within= = "},
    {"settle", settle, 0, " within= = "},
    {"await", await, 1, " tag= "},
    {"cancel", cancel, 1, " wait one = "},
    {"stop", stop, 0, " drain abort = "},
    {"destroy", destroy, 1, "  "},
    {"retain", retain, 0, "  "},
    {"release", release, 0, "  "},
    {"thread", start_thread, 1, "  "},
    {"join", join, 0, "  "},
    {"block", block, 0, "  "},
    {"unblock", unblock, 0, "  "},
    {"prewake", prewake, 0, "  "},
    {"forget", forget, 0, "  "},
    {"is", is, 0, NULL},
    {"until", until, 0, NULL},
    {"sleep", sleep_for, 0, "  "},
    {"busy", busy_until_let, 1, "  "},
    {"spin", set_spin, 0, " off fixed auto hot = "},
    {"note", note, 0, "  "},
    {"mark", mark, 1, "  "},
    {"simulated", nothing, 0, " cpus= nodes= "},
    {"apart", nothing, 0, "  "},
    {"dies", nothing, 0, NULL},
    {NULL, NULL, 0, NULL}};

/// A word that means nothing is an error, not ignored: a misspelt option must not change what a scene tests.
static void check_words(const scene_operation_t *operation, scene_words_t words)
{
  char known[SCENE_WORDS_MAX * 4];
  for (uint32_t names = 0; operation->words && *words; words++) {
    snprintf(known, sizeof(known), " %.*s ", (int)(strcspn(*words, "=") + (strchr(*words, '=') != NULL)),
             *words);
    if (strcmp(*words, "=") == 0 && words[1] && strstr(operation->words, " = "))
      words++;
    else if (**words != '@' && !isdigit((unsigned char)**words) && !strstr(operation->words, known)
             && ++names > operation->names)
      scene_fail("\"%s\" means nothing here", *words);
  }
}

static bool operate(const scene_operation_t *operation, scene_words_t words)
{
  for (; operation && operation->name; operation++) {
    if (strcmp(operation->name, words[0]) == 0) {
      check_words(operation, words + 1);
      operation->run(words + 1);
      return true;
    }
  }
  return false;
}

/// @return the words of a statement. @param copy  that they are in
static scene_words_t words_of(char *copy, const char **words)
{
  uint32_t count = 0;
  for (char *word; (word = strtok_r(copy, " ", &copy)) && count < SCENE_WORDS_MAX;)
    words[count++] = word;
  if (copy && *copy)
    scene_fail("it has too many words");
  return words;
}

/// Play one statement.
static void play_one(const char *text, size_t length)
{
  char copy[256], outer[256];
  const char *words[SCENE_WORDS_MAX + 2] = {NULL};
  snprintf(copy, sizeof(copy), "%.*s", (int)length, text);
  memcpy(outer, statement, sizeof(outer));
  memcpy(statement, copy, sizeof(copy));
  words_of(copy, words);
  if (length >= sizeof(copy))
    scene_fail("it is too long");
  if (words[0] && !operate(operations, words) && !operate(scene_more ? scene_more->operations : NULL, words)
      && !operate(scene_machine_operations, words))
    scene_fail("there is no operation \"%s\"", words[0]);
  memcpy(statement, outer, sizeof(outer));
}

/// "times COUNT: ..." plays the rest of its line so often, "unless CONDITION: ..." if that does not hold,
/// "till CONDITION: ..." until it holds.
static void repeat(const char *head, size_t length, const char *repeated)
{
  char copy[256];
  const char *words[SCENE_WORDS_MAX + 2] = {NULL};
  int64_t found;
  snprintf(copy, sizeof(copy), "%.*s", (int)length, head);
  words_of(copy, words);
  const bool till = strcmp(words[0], "till") == 0, unless = strcmp(words[0], "unless") == 0;
  for (uint32_t i = till ? UINT32_MAX : unless ? 1 : number(words, 0); i > 0; i--) {
    if (ws_load_acquire(&scene.failed) != 0 || ((till || unless) && holds(words + 1, &found)))
      return;
    play(repeated);
  }
}

/// Play statements one after the other.
static void play(const char *text)
{
  while (*text && ws_load_acquire(&scene.failed) == 0) {
    text += strspn(text, " ;\n");
    const size_t length = strcspn(text, ";\n"), line = strcspn(text, "\n");
    if (strncmp(text, "times ", 6) == 0 || strncmp(text, "unless ", 7) == 0
        || strncmp(text, "till ", 5) == 0) {
      const char *colon = memchr(text, ':', line);
      if (!colon) {
        scene_fail("\"%.*s\" has no colon", (int)line, text);
        return;
      }
      char *repeated = strndup(colon + 1, line - (size_t)(colon + 1 - text));
      if (repeated)
        repeat(text, (size_t)(colon - text), repeated);
      free(repeated);
      text += line;
    } else {
      play_one(text, length);
      text += length;
    }
  }
}

static thing_t *name_thing(const char *name, size_t length)
{
  for (uint32_t i = 0; i < scene.things; i++)
    if (strlen(scene.thing[i].name) == length && strncmp(scene.thing[i].name, name, length) == 0)
      return &scene.thing[i];
  if (scene.things == THINGS_MAX) {
    scene_fail("it has more than %u names", THINGS_MAX);
    return &scene.thing[0];
  }
  thing_t *thing = &scene.thing[scene.things++];
  thing->name = strndup(name, length);
  ws_group_init(&thing->group, 0);
  ws_key_init(&thing->key);
  return thing;
}

/// Add a line to what a name does.
static void add_line(thing_t *thing, const char *line, size_t length)
{
  char *body = NULL;
  if (asprintf(&body, "%s%.*s\n", thing->body ? thing->body : "", (int)length, line) < 0)
    abort();
  free((char *)(uintptr_t)thing->body);
  thing->body = body;
}

/// Each word may be a name. Lines "NAME: ..." are taken out of the text: what NAME does.
static void read_scene(const char *text)
{
  static const char *const given[] = {"gate", "pool", "stand"};
  memset(&scene, 0, sizeof(scene));
  scene.run = calloc(RUNS_MAX, sizeof(*scene.run));
  scene.main = calloc(1, strlen(text) + 1);
  if (!scene.run || !scene.main)
    abort();
  for (uint32_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
    name_thing(given[i], strlen(given[i]));
  scene.pool = find("pool");
  find("stand")->body = strdup("gate");
  for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
    const size_t length = strcspn(line, "\n"), name = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789");
    for (const char *word = line; word < line + length;) {
      word += strcspn(word, "abcdefghijklmnopqrstuvwxyz\n");
      const size_t letters = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789");
      if (letters > 0 && word < line + length)
        name_thing(word, letters);
      word += letters + (letters == 0);
    }
    if (name > 0 && line[name] == ':')
      add_line(name_thing(line, name), line + name + 1, length - name - 1);
    else
      strncat(scene.main, line, length + (line[length] == '\n'));
  }
}

/// Naps in which a task must end that has not when its pool is gone, or ends by itself (a minute on real
/// threads). Only a task that is lost reaches it.
#define LOST_NAPS 300000u

/// Whatever the scene says: each task that was taken has ended once, and no other. A pool that a task has
/// destroyed may still end.
static void check_tasks(void)
{
  for (uint32_t i = 0, naps = 0; i < ws_load_acquire(&scene.runs); i++) {
    const run_t *run = &scene.run[i];
    while (ws_load_acquire(&run->ends) < ws_load_acquire(&run->taken) && ++naps < LOST_NAPS)
      nap(POLL_NS);
    if (ws_load_acquire(&run->ends) != ws_load_acquire(&run->taken))
      scene_fail("a push of %s was %s, and it ran, was cancelled or skipped %u times", run->task->name,
                 ws_load_acquire(&run->taken) ? "taken" : "refused", ws_load_acquire(&run->ends));
  }
  for (uint32_t i = 0; i < scene.things; i++)
    if (ws_load_acquire(&scene.thing[i].asked) && !ws_load_acquire(&scene.thing[i].used))
      scene_fail("%s is only in conditions", scene.thing[i].name);
}

const char *scene_play(const scene_t *played)
{
  static char failure[256];
  read_scene(played->text);
  if (scene_more)
    scene_more->begin();
  play(scene.main);
  for (uint32_t i = 0; i < scene.things; i++) { // what still stands goes on
    ws_add_release(&scene.thing[i].tickets, RUNS_MAX);
    ws_os_futex_wake(&scene.thing[i].tickets, INT32_MAX);
  }
  join(NULL);
  for (uint32_t i = 0; i < scene.things; i++) {
    if (!scene.thing[i].pool || scene.thing[i].is_destroyed)
      continue;
    if (ws_load_acquire(&scene.failed) != 0)
      ws_pool_stop(scene.thing[i].pool, WS_STOP_ABORT); // ends what still waits
    ws_pool_destroy(scene.thing[i].pool);
  }
  check_tasks();
  for (uint32_t i = 0; i < ws_load_acquire(&scene.runs); i++)
    if (!scene.run[i].frees || !ws_load_acquire(&scene.run[i].taken))
      free(scene.run[i].keyed);
  memcpy(failure, scene.failure, sizeof(failure));
  const bool failed = ws_load_acquire(&scene.failed) != 0;
  for (uint32_t i = 0; i < scene.things; i++) {
    free((char *)(uintptr_t)scene.thing[i].name);
    free((char *)(uintptr_t)scene.thing[i].body);
  }
  free(scene.run);
  free(scene.main);
  return failed ? failure : NULL;
}

bool scene_is_simulated(const scene_t *of)
{
  return strncmp(of->text, "simulated", 9) == 0;
}
