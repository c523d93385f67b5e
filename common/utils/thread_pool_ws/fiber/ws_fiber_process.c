// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_fiber_process.c
/// ws_fiber_process.h.
#define _GNU_SOURCE // dladdr
#include "ws_fiber_process.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../os/ws_os.h"
#include "ws_pages.h"

ws_fiber_process_t ws_fiber_process = {.once = PTHREAD_ONCE_INIT, .fiber_once = PTHREAD_ONCE_INIT};

static _Thread_local ws_fiber_thread_t this_thread;

__attribute__((noinline)) ws_fiber_thread_t *ws_fiber_thread(void)
{
  __asm__ volatile(""); // no caller may take the result for that of an earlier call
  return &this_thread;
}

static void release_thread(void *unused)
{
  (void)unused;
  ws_fiber_thread_t *thread = ws_fiber_thread();
  if (thread->end_locals)
    thread->end_locals(&thread->locals);
  if (thread->give_back)
    thread->give_back(thread);
  if (thread->disarm)
    thread->disarm(thread);
  thread->give_back = thread->disarm = NULL; // a later destructor of this thread may push again, and
  thread->number = 0; // enrolls it anew then
}

/// Half of the mappings that the kernel allows, two for each guard.
static uint64_t guards_max(void)
{
  char text[32];
  const uint64_t by_default = 65530;
  const uint64_t maps =
      ws_os_read("/proc/sys/vm/max_map_count", text, sizeof text) ? strtoull(text, NULL, 10) : by_default;
  return maps / 4;
}

/// @return the class of the smallest stacks: ws_stack.h, "Size"
static uint32_t class_least(void)
{
  const size_t frames = 4 * ws_pages_signal_frame();
  const size_t bytes = frames > ws_os_page_bytes() ? frames : ws_os_page_bytes();
  uint32_t size_class = 0;
  while (((size_t)WS_STACK_BYTES_LEAST << size_class) < bytes && size_class < WS_STACK_CLASSES - 1)
    size_class++;
  return size_class;
}

static void init_locks(void)
{
  ws_fiber_process_t *process = &ws_fiber_process;
  for (uint32_t i = 0; i < WS_LOT_BUCKETS; i++)
    ws_os_lock_init(&process->bucket[i].lock);
  for (uint32_t i = 0; i < WS_CANCEL_LOCKS; i++)
    ws_os_lock_init(&process->cancel_lock[i]);
  ws_os_lock_init(&process->alarm_lock);
  ws_os_lock_init(&process->reactor_lock);
  ws_os_lock_init(&process->stack_lock);
}

/// The services are threads of the parent.
static void forget_services(void)
{
  ws_fiber_process_t *process = &ws_fiber_process;
  const uint32_t reactor = ws_hint_load(&process->reactor);
  if (reactor != 0)
    close((int)reactor - 1); // the parent keeps its own
  ws_hint_store(&process->reactor, 0);
  process->reactor_thread = process->alarm = (ws_service_t){0};
  process->alarms = (ws_alarm_heap_t){0};
  process->alarm_sleeps_until_ns = process->trim_due_ns = 0;
  process->trims = false;
}

/// In the child of a fork there are no fibers: those of the parent run in its pools. What their threads were
/// changing may be half changed, so the child begins anew and never frees the parent's stacks. The caller may
/// stand on one of them.
static void in_child(void)
{
  ws_fiber_process_t *process = &ws_fiber_process;
  ws_fiber_thread_t *thread = ws_fiber_thread();
  process->forks++;
  init_locks();
  forget_services();
  for (uint32_t i = 0; i < WS_LOT_BUCKETS; i++)
    process->bucket[i].root = NULL;
  memset(process->shelf, 0, sizeof(process->shelf));
  if (process->slabs) {
    process->slabs->before[WS_SLABS_ALL] = process->lost;
    process->lost = process->slabs;
  }
  process->slabs = NULL;
  process->stacks = process->unguarded = 0;
  memset(process->counters, 0, sizeof(process->counters));
  ws_stat_store(&process->parked, 0);
  thread->rider = NULL;
  memset(thread->kept, 0, sizeof(thread->kept));
  memset(thread->kept_count, 0, sizeof(thread->kept_count));
}

/// Before the handlers of the program, which may use fibers.
__attribute__((constructor(101))) static void watch_forks_first(void)
{
  pthread_atfork(NULL, NULL, in_child); // without memory for it, the child of a fork has no fibers
}

static void begin(void)
{
  ws_fiber_process_t *process = &ws_fiber_process;
  init_locks();
  process->guards_max = guards_max();
  process->class_least = class_least();
  // Without a key the stacks of a thread that ends stay with it.
  process->has_key = pthread_key_create(&process->key, release_thread) == 0;
}

#pragma weak dladdr // a static program may have neither, and unloads nothing
#pragma weak dlsym

/// dlclose() does not unload a plugin that contains this code. In the plugin's constructor: the program is
/// inside dlopen() then, and must not fork (ws_pool.h). Later a thread would take the linker's lock while
/// another one forks.
__attribute__((constructor)) static void stay_loaded(void)
{
  Dl_info info;
  // dlopen() by its name: linked into a static program, it causes a warning
  void *(*const load)(const char *file, int mode) =
      dlsym ? (void *(*)(const char *, int))(uintptr_t)dlsym(RTLD_DEFAULT, "dlopen") : NULL;
  if (load && dladdr && dladdr(&ws_fiber_process, &info) != 0)
    load(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

void ws_fiber_process_begin(void)
{
  pthread_once(&ws_fiber_process.once, begin);
}

void ws_fiber_enroll(ws_fiber_thread_t *thread)
{
  ws_fiber_process_begin();
  if (thread->number == 0)
    thread->number = ws_hint_add(&ws_fiber_process.threads, 1) + 1; // only spreads the threads
  if (ws_fiber_process.has_key)
    pthread_setspecific(ws_fiber_process.key, thread); // any value but NULL
}

__attribute__((noinline)) ws_fiber_t *ws_fiber_here(void) // reads the thread's state of the core, too
{
  __asm__ volatile(""); // as above; the fiber stays on its thread within this function
  const ws_rider_t *rider = this_thread.rider;
  return rider && *rider->current == &rider->fiber->own ? rider->fiber : NULL;
}
