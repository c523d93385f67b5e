// SPDX-License-Identifier: BSD-3-Clause
// ws-trace-cost: what one trace event costs the thread that makes it, in ns. Whether a session records, or
// TPOOL_WS_RECORD names a folder, is the caller's affair; the answers say whether one did.
#include <stdlib.h>
#include <unistd.h>

#include "../../common/utils/thread_pool_ws/trace/ws_probe.h"
#include "clock.h"
#include "memory.h"
#include "report.h"
#include "words.h"
#include "ws_pool.h"
#include "ws_trace_slot.h"

#ifdef WS_LTTNG
#define HAS_LTTNG true
#define RECORDS (ws_provider_events() && ws_provider_events()->records && ws_provider_events()->records())
#else
#define HAS_LTTNG false
#define RECORDS false
#endif
/// In one loop, and then a pause, so that the reader of the buffers keeps up and no event is dropped.
#define BATCH_EVENTS 4000u
#define BATCHES_MAX 100000u

static const char usage[] = "usage: ws-trace-cost [events=N] [pause_us=N]\n"
                            "       N events of each kind (default: 1000000), in batches of 4000 with a "
                            "pause of N us (default: 4000)\n";

typedef struct {
  uint32_t events, pause_us;
} question_t;

static const word_key_t keys[] = {
    {"events", WORD_NUMBER(question_t, events, 1, BATCH_EVENTS *BATCHES_MAX)},
    {"pause_us", WORD_NUMBER(question_t, pause_us, 0, 1000000)},
    {NULL},
};

/// The compiler must not know how often a loop turns, nor drop it.
static inline uint32_t hidden(uint32_t value)
{
  __asm__ volatile("" : "+r"(value) : : "memory");
  return value;
}

static void run_loop(void)
{
  for (uint32_t i = 0; i < BATCH_EVENTS; i++)
    hidden(i);
}

/// Three and four fields, by the functions that users call.
static void run_phases(void)
{
  for (uint32_t i = 0; i < BATCH_EVENTS / 2; i++) {
    ws_trace_phase_begin(WS_TRACE_ULSCH_DECODING, hidden(i), 7, 0);
    ws_trace_phase_end(WS_TRACE_ULSCH_DECODING);
  }
}

/// Five fields, 32 bytes: the largest that is made for each task.
static void run_task_events(void)
{
  for (uint32_t i = 0; i < BATCH_EVENTS; i++)
    WS_PROBE(run_begin, NULL, 1u, (int32_t)0, (uintptr_t)run_loop, (uintptr_t)hidden(i), (uintptr_t)keys);
}

/// Of a task, as the rings take them: an end to each begin.
static void run_notes(void)
{
  for (uint32_t i = 0; i < BATCH_EVENTS / 2; i++) {
    WS_PROBE(run_begin, NULL, 1u, (int32_t)0, (uintptr_t)run_loop, (uintptr_t)keys, (uintptr_t)hidden(i));
    WS_PROBE(run_end, NULL, 1u, (int32_t)0, (uintptr_t)keys, (uintptr_t)hidden(i));
  }
}

static struct {
  const char *what;
  void (*run)(void);
} kinds[] = {{"loop", run_loop}, {"phase", run_phases}, {"run_begin", run_task_events}};
#define KINDS (sizeof kinds / sizeof kinds[0])

/// @param ns  of each batch; sorted by the call
static void answer(const char *what, bool recorded, uint64_t *ns, uint32_t batches)
{
  static report_t report;
  report_text(&report, "bench", "trace-cost");
  report_text(&report, "what", what);
  report_bool(&report, "lttng", HAS_LTTNG);
  report_bool(&report, "recorded", recorded);
  report_count(&report, "events", (uint64_t)batches * BATCH_EVENTS);
  report_number(&report, "ns_min", percentile_us(ns, batches, 0) * 1e3 / BATCH_EVENTS);
  report_number(&report, "ns_p50", percentile_us(ns, batches, 50) * 1e3 / BATCH_EVENTS);
  report_print(&report);
}

/// All kinds in turn, so that what the machine does meanwhile meets all of them.
static void measure(uint64_t *ns, uint32_t batches, uint32_t pause_us)
{
  for (uint32_t batch = 0; batch < batches; batch++)
    for (uint32_t kind = 0; kind < KINDS; kind++) {
      const uint64_t begin_ns = clock_now_ns();
      kinds[kind].run();
      ns[kind * batches + batch] = clock_now_ns() - begin_ns;
      usleep(kind ? pause_us : 0);
    }
}

int main(int argc, char **argv)
{
  question_t question = {.events = 1000000, .pause_us = 4000};
  words_take(argc, argv, usage, keys, &question);
  const uint32_t batches = (question.events + BATCH_EVENTS - 1) / BATCH_EVENTS;
  ws_settings_t settings;
  ws_pool_t *pool;
  ws_settings_default(&settings);
  ws_settings_environment(&settings);
  settings.workers = 0;
  if (*settings.record) {
    kinds[KINDS - 1].what = "note";
    kinds[KINDS - 1].run = run_notes;
    if (ws_pool_create(&pool, &settings) < 0) // the rings are the process's
      return EXIT_FAILURE;
  }
  uint64_t *const ns = allot(KINDS * (batches + 1), sizeof *ns);
  measure(ns, 1, question.pause_us); // the first phase loads the provider if the environment asks for it
  const bool recorded = RECORDS || *settings.record;
  measure(ns, batches, question.pause_us);
  for (uint32_t kind = 0; kind < KINDS; kind++)
    answer(kinds[kind].what, recorded, &ns[kind * batches], batches);
  return EXIT_SUCCESS;
}
