// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_page.c
/// ws_page.h.
#define _GNU_SOURCE
#include "ws_page.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../include/ws_ledger.h"
#include "../include/ws_pool.h"
#include "../live/ws_live.h"
#include "../pool/ws_callback.h"
#include "../sleep/ws_budget.h"

// As a reader of version 1 knows them.
_Static_assert(offsetof(ws_page_part_t, stats) == 2008 && offsetof(ws_stats_t, decided) == 88
                   && offsetof(ws_worker_stats_t, state_ns) == 104 && WS_LATE_CAUSES == 13
                   && offsetof(ws_prewake_stats_t, late_by) == 400 && sizeof(ws_page_part_t) == 29344,
               "raise WS_PAGE_VERSION");

/// What the guard of a pool with a page remembers: a reader may change what stands in the page.
struct ws_page_its_s {
  ws_page_part_t *part;
  ws_page_known_t known;
  ws_histogram_t starts; ///< workers write. If two do so at once, one value may get lost
};

/// The page of the process. Under ws_os_fork_hold().
static struct {
  ws_page_t *page; ///< NULL = none
  pid_t pid; ///< of the process that has made it: the child of a fork has none
  uint32_t used; ///< bit of each part in use
  char path[64];
} own;

/// @return the start time of this process; 0 = not known
static uint64_t began_ticks(void)
{
  char text[1024];
  const char *at = ws_os_read("/proc/self/stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;
  for (uint32_t field = 2; at && field < 22; field++) // the name, field 2, may have blanks
    at = strchr(at + 1, ' ');
  return at ? strtoull(at, NULL, 10) : 0;
}

/// @return 0 or an error number
static int make_page(void)
{
  struct stat names;
  const unsigned long space = stat("/proc/self/ns/pid", &names) == 0 ? (unsigned long)names.st_ino : 0;
  memset(&own, 0, sizeof(own));
  own.pid = getpid();
  snprintf(own.path, sizeof(own.path), "/dev/shm/thread_pool_ws.%lu.%d", space, (int)own.pid);
  unlink(own.path); // of an earlier process with this number, or of this one before an execve()
  void *memory;
  const int error = ws_file_map(own.path, sizeof(ws_page_t), &memory);
  if (error)
    return error;
  madvise(memory, sizeof(ws_page_t), MADV_DONTFORK); // the child of a fork cannot write it
  own.page = memory;
  own.page->version = WS_PAGE_VERSION;
  own.page->bytes = sizeof(ws_page_t);
  own.page->pid = (uint64_t)own.pid;
  own.page->began_ticks = began_ticks();
  ws_store_release(&own.page->magic, WS_PAGE_MAGIC); // [edge PAGE release] the head
  return 0;
}

static void remove_file(void)
{
  if (!own.page || own.pid != getpid())
    return;
  ws_store_release(&own.page->ended, 1); // [edge PAGE release] a reader that still maps it
  unlink(own.path);
}

/// The process ends, or the library is unloaded. A pool that is left may still write.
__attribute__((destructor)) static void end_page(void)
{
  ws_os_fork_hold();
  remove_file();
  own.page = NULL;
  ws_os_fork_let();
}

static ws_page_settings_t in_force(const struct ws_pool_s *pool)
{
  return (ws_page_settings_t){.spin = ws_spin_mode(pool),
                              .spin_cpu_max = ws_spin_percent(pool),
                              .lead_ns = ws_spin_lead_ns(pool),
                              .deadline_ns =
                                  ws_hint_load(&ws_live_judged(pool)->deadline_ns) % WS_DEADLINE_AUTO,
                              .cap = ws_awake_cap(pool)};
}

static const char *settings_text(char text[100], const ws_page_settings_t *settings)
{
  static const char *const modes[] = {"off", "fixed", "auto", "hot"};
  snprintf(text, 100, "spin=%s lead=%u us spin_cpu_max=%u cap=%u deadline=%.3f us", modes[settings->spin],
           (unsigned)(settings->lead_ns / 1000), settings->spin_cpu_max, settings->cap,
           (double)settings->deadline_ns / 1000);
  return text;
}

/// @return why nothing of the request is done; NULL = all of it is
static const char *apply(struct ws_pool_s *pool, const ws_page_request_t *request)
{
  const ws_page_settings_t *wanted = &request->wanted;
  if (request->what == 0 || request->what & ~WS_PAGE_ALL)
    return "this version of the pool cannot change that while it runs";
  if (request->what & WS_PAGE_SPIN && (wanted->spin > WS_SPIN_HOT || wanted->lead_ns > WS_SPIN_LEAD_NS_MAX))
    return "spin is none of off, fixed, auto, hot, or its lead is above 10000 us";
  if (request->what & WS_PAGE_SPIN_CPU_MAX && wanted->spin_cpu_max > 100)
    return "spin_cpu_max is above 100 %";
  if (request->what & WS_PAGE_CAP && wanted->cap > pool->workers)
    return "cap is above the number of workers";
  if (request->what & WS_PAGE_DEADLINE && !ws_live_judges())
    return "the process began without a deadline, record or report";
  if (request->what & WS_PAGE_RECORD && !ws_live_copy(true))
    return "there is no record, or it is copied now";
  if (request->what & WS_PAGE_SPIN)
    ws_pool_set_spin(pool, (ws_spin_t)wanted->spin, wanted->lead_ns);
  if (request->what & WS_PAGE_SPIN_CPU_MAX)
    ws_pool_set_spin_cpu_max(pool, wanted->spin_cpu_max);
  if (request->what & WS_PAGE_CAP)
    ws_awake_cap_set(pool, wanted->cap);
  if (request->what & WS_PAGE_DEADLINE)
    ws_hint_store(&ws_live_judged(pool)->deadline_ns, wanted->deadline_ns);
  return NULL;
}

/// @return whether there is a new request that is not being written
static bool is_new(ws_page_part_t *part, uint32_t answered, ws_page_request_t *request, uint32_t *number)
{
  uint32_t word[sizeof(*request) / sizeof(uint32_t)];
  *number = ws_load_acquire(&part->request); // [edge PAGE acquire] the words
  for (uint32_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
    word[i] = ws_hint_load(&part->word[i]); // once: a reader may go on changing them
  memcpy(request, word, sizeof(word));
  ws_fence_seq_cst(); // [edge PAGE fence] the words before the number's second look
  return *number != answered && ws_hint_load(&part->request) == *number;
}

static void take_request(struct ws_pool_s *pool, struct ws_page_its_s *its)
{
  ws_page_known_t *known = &its->known;
  ws_page_request_t request;
  uint32_t number;
  if (!is_new(its->part, known->answered, &request, &number))
    return;
  known->answered = number;
  known->was = in_force(pool);
  const char *reason = apply(pool, &request);
  known->is = in_force(pool);
  snprintf(known->reason, sizeof(known->reason), "%s", reason ? reason : "");
  char was[100], is[100];
  ws_warn(&pool->settings, "pool %s, asked by process %u: %s%s -> %s", known->name, request.by,
          reason ? reason : "", reason ? "; refused" : settings_text(was, &known->was),
          settings_text(is, &known->is));
}

static void write_part(const struct ws_pool_s *pool, struct ws_page_its_s *its)
{
  ws_page_part_t *part = its->part;
  const uint32_t odd = ws_hint_load(&part->sequence) | 1;
  ws_store_relaxed(&part->sequence, odd); // relaxed: the fence
  ws_fence_seq_cst(); // [edge PAGE fence] odd before the rest
  its->known.is = in_force(pool);
  part->known = its->known;
  ws_pool_ledger_sized(pool, (ws_ledger_t *)part->ledger, sizeof(part->ledger));
  for (uint32_t i = 0; i < WS_HISTOGRAM_BUCKETS; i++) {
    part->starts[i] = ws_stat_load(&its->starts.count[i]);
    part->ends[i] = ws_stat_load(&ws_live_judged(pool)->ends.count[i]);
  }
  ws_pool_prewake_stats(pool, &part->prewake);
  const ws_stats_out_t out = {&part->stats, sizeof(part->stats), &part->worker[0].stats,
                              sizeof(part->worker[0]), WS_PAGE_WORKERS};
  ws_pool_stats_sized(pool, &out);
  part->worker[WS_PAGE_WORKERS].stats = part->stats.outside;
  for (uint32_t i = 0; i < pool->workers && i < WS_PAGE_WORKERS; i++) { // their statistics end with zeros
    part->worker[i].tid = ws_tid(pool->worker[i]);
    part->worker[i].cpu = (int32_t)ws_hint_load(&pool->worker[i]->seen_cpu) - 1;
  }
  ws_fence_seq_cst(); // [edge PAGE fence] the rest before even
  ws_store_relaxed(&part->sequence, odd + 1); // relaxed: the fence
}

/// After each sleep of the guard.
static void look(struct ws_pool_s *pool)
{
  struct ws_page_its_s *its = pool->live.its;
  const uint64_t now_ns = ws_os_now_ns();
  if (now_ns - its->known.written_ns < WS_PAGE_NS)
    return;
  its->known.written_ns = now_ns;
  take_request(pool, its);
  write_part(pool, its);
}

/// @return why the pool gets no part; NULL = it has one
static const char *find_part(struct ws_page_its_s *its)
{
  const int error = own.page && own.pid == getpid() ? 0 : make_page();
  if (error)
    return strerror(error);
  if (own.used == (1u << WS_PAGE_POOLS) - 1)
    return "it has no room for more pools";
  its->part = &own.page->part[__builtin_ctz(~own.used)];
  own.used |= own.used + 1; // the lowest bit that is 0
  return NULL;
}

void ws_page_begin(struct ws_pool_s *pool)
{
  if (!pool->settings.live || pool->workers == 0)
    return;
  struct ws_page_its_s *its = calloc(1, sizeof(*its));
  ws_os_fork_hold(); // as a lock; and no child has a half-made page
  const char *error = its ? find_part(its) : strerror(ENOMEM);
  ws_os_fork_let();
  if (error) {
    ws_warn(&pool->settings, "live=1: tpool-ws does not see pool %s: %s: %s", pool->settings.name, own.path,
            error);
    free(its);
    return;
  }
  const uint32_t answered = ws_hint_load(&its->part->request); // of the pool before
  its->known = (ws_page_known_t){.id = pool->id, .written_ns = ws_os_now_ns(), .answered = answered};
  snprintf(its->known.name, sizeof(its->known.name), "%s", pool->settings.name);
  pool->live = (ws_live_t){look, WS_PAGE_NS, &its->starts, its};
  write_part(pool, its); // until the guard's first look
}

void ws_page_end(struct ws_pool_s *pool)
{
  struct ws_page_its_s *its = pool->live.its;
  if (!its)
    return;
  ws_os_fork_hold();
  if (own.page) { // else the process ends
    its->part->known.id = 0;
    own.used &= ~(1u << (its->part - own.page->part));
    if (own.used == 0) {
      remove_file();
      munmap(own.page, sizeof(ws_page_t));
      own.page = NULL;
    }
  }
  ws_os_fork_let();
  pool->live = (ws_live_t){0};
  free(its);
}
