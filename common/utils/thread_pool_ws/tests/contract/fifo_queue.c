// SPDX-License-Identifier: BSD-3-Clause
/// @file fifo_queue.c
/// The queue by itself, without any pool: order, polling, abort, payloads, who frees an element.
#include "contract.h"

static void push_new(notifiedFIFO_t *fifo, uint64_t key)
{
  pushNotifiedFIFO(fifo, newNotifiedFIFO_elt(sizeof(uint64_t), key, NULL, NULL));
}

/// @return the key, and frees the element; UINT64_MAX without one
static uint64_t key_of(notifiedFIFO_elt_t *elt)
{
  const uint64_t key = elt ? elt->key : UINT64_MAX;
  if (elt)
    delNotifiedFIFO_elt(elt);
  return key;
}

/// Blocking and polling pulls mixed with pushes: first in, first out.
static void queue_keeps_order_and_keys(void)
{
  notifiedFIFO_t fifo;
  initNotifiedFIFO(&fifo);
  uint64_t in = 0, out = 0;
  for (uint32_t round = 0; round < 200; round++) {
    for (uint32_t i = 0; i < round % 7 + 1; i++)
      push_new(&fifo, UINT64_MAX / 2 + in++);
    for (uint32_t i = 0; i < round % 5 + 1 && out < in; i++, out++)
      CU_ASSERT_EQUAL(key_of(round % 2 ? pullNotifiedFIFO(&fifo) : pollNotifiedFIFO(&fifo)),
                      UINT64_MAX / 2 + out);
  }
  for (; out < in; out++)
    CU_ASSERT_EQUAL(key_of(pullNotifiedFIFO(&fifo)), UINT64_MAX / 2 + out);
  CU_ASSERT_PTR_NULL(pollNotifiedFIFO(&fifo));
}

static void queue_poll_of_an_empty_one_returns_at_once(void)
{
  notifiedFIFO_t fifo;
  initNotifiedFIFO(&fifo);
  for (uint32_t i = 0; i < 1000; i++)
    CU_ASSERT_PTR_NULL(pollNotifiedFIFO(&fifo));
  push_new(&fifo, 3);
  CU_ASSERT_EQUAL(key_of(pollNotifiedFIFO(&fifo)), 3);
  CU_ASSERT_PTR_NULL(pollNotifiedFIFO(&fifo));
}

static void queue_without_locks(void)
{
  notifiedFIFO_t fifo;
  memset(&fifo, 0xA5, sizeof(fifo));
  initNotifiedFIFO_nothreadSafe(&fifo);
  CU_ASSERT_PTR_NULL(pullNotifiedFIFO_nothreadSafe(&fifo));
  for (uint64_t key = 0; key < 20; key++)
    pushNotifiedFIFO_nothreadSafe(&fifo, newNotifiedFIFO_elt(0, key, NULL, NULL));
  for (uint64_t key = 0; key < 20; key++)
    CU_ASSERT_EQUAL(key_of(pullNotifiedFIFO_nothreadSafe(&fifo)), key);
  CU_ASSERT_PTR_NULL(pullNotifiedFIFO_nothreadSafe(&fifo));
}

/// Shape A's oldest host counts 32 bytes from where malloc() happens to put the element.
#ifdef CONTRACT_OURS
#define PAYLOAD_ALIGNMENT 32
#else
#define PAYLOAD_ALIGNMENT (_Alignof(notifiedFIFO_elt_t) < 32 ? _Alignof(max_align_t) : 32)
#endif

/// Aligned for vectors, all of it ours to write, and what NotifiedFifoData() says.
static void queue_payload_is_aligned_and_whole(void)
{
  for (int size = 0; size < 300; size += 7) {
    notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(size, 0, NULL, NULL);
    unsigned char *payload = NotifiedFifoData(elt);
    CU_ASSERT_EQUAL((uintptr_t)payload % PAYLOAD_ALIGNMENT, 0);
    CU_ASSERT_PTR_EQUAL(payload, elt->msgData);
    CU_ASSERT_TRUE(payload >= (unsigned char *)&elt->msgData + sizeof(elt->msgData));
    memset(payload, 0x5A, (size_t)size);
    CU_ASSERT_TRUE(elt->malloced);
    CU_ASSERT_PTR_EQUAL(NotifiedFifoData(elt), payload);
    delNotifiedFIFO_elt(elt);
  }
  CU_ASSERT_EQUAL(offsetof(notifiedFIFO_elt_t, msgData) / 32, (sizeof(notifiedFIFO_elt_t) - 1) / 32);
}

static void nothing(void *unused)
{
  (void)unused;
}

static void queue_element_holds_what_it_was_given(void)
{
  notifiedFIFO_t response;
  initNotifiedFIFO(&response);
  notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(8, 77, &response, nothing);
  CU_ASSERT_EQUAL(elt->key, 77);
  CU_ASSERT_PTR_EQUAL(elt->reponseFifo, &response);
  CU_ASSERT_TRUE(elt->processingFunc == nothing);
  elt->key = 78;
  pushNotifiedFIFO(&response, elt);
  CU_ASSERT_EQUAL(key_of(pullNotifiedFIFO(&response)), 78);
}

/// An element whose memory is the caller's is never freed; its payload is where the caller says.
static void queue_element_of_the_caller_is_not_freed(void)
{
  static notifiedFIFO_elt_t memory;
  static char payload[64];
  notifiedFIFO_elt_t *volatile hidden = &memory; // or the compiler warns of a free() that never happens
  notifiedFIFO_t fifo;
  initNotifiedFIFO(&fifo);
  memory.msgData = payload;
  for (uint32_t i = 0; i < 3; i++) {
    memory.malloced = false;
    memory.key = i;
    pushNotifiedFIFO(&fifo, hidden);
    CU_ASSERT_PTR_EQUAL(pullNotifiedFIFO(&fifo), hidden);
    delNotifiedFIFO_elt(hidden);
    CU_ASSERT_FALSE(memory.malloced);
    CU_ASSERT_PTR_EQUAL(NotifiedFifoData(hidden), payload);
  }
}

static void queue_element_goes_round_and_round(void)
{
  notifiedFIFO_t fifo[2];
  initNotifiedFIFO(&fifo[0]);
  initNotifiedFIFO(&fifo[1]);
  notifiedFIFO_elt_t *const elt = newNotifiedFIFO_elt(16, 5, NULL, NULL);
  for (uint32_t i = 0; i < 10000; i++) {
    pushNotifiedFIFO(&fifo[i % 2], elt);
    if (pullNotifiedFIFO(&fifo[i % 2]) != elt)
      CU_FAIL("another element");
  }
  delNotifiedFIFO_elt(elt);
}

/// Queued elements are freed (the leak checker knows), and nothing comes out any more.
static void queue_abort_frees_what_is_queued(void)
{
  static notifiedFIFO_elt_t mine;
  notifiedFIFO_t fifo;
  initNotifiedFIFO(&fifo);
  for (uint64_t key = 0; key < 10; key++)
    push_new(&fifo, key);
  mine.malloced = false;
  mine.key = 99;
  pushNotifiedFIFO(&fifo, &mine);
  abortNotifiedFIFO(&fifo);
  CU_ASSERT_PTR_NULL(pollNotifiedFIFO(&fifo));
  CU_ASSERT_PTR_NULL(pullNotifiedFIFO(&fifo));
  CU_ASSERT_EQUAL(mine.key, 99);
}

static void queue_push_after_abort_is_ignored(void)
{
  static notifiedFIFO_elt_t mine;
  notifiedFIFO_t fifo;
  initNotifiedFIFO(&fifo);
  abortNotifiedFIFO(&fifo);
  mine.malloced = false;
  for (uint32_t i = 0; i < 3; i++)
    pushNotifiedFIFO(&fifo, &mine);
  CU_ASSERT_PTR_NULL(pullNotifiedFIFO(&fifo));
  CU_ASSERT_PTR_NULL(pollNotifiedFIFO(&fifo));
  abortNotifiedFIFO(&fifo);
  initNotifiedFIFO(&fifo); // a queue may start again
  pushNotifiedFIFO(&fifo, &mine);
  CU_ASSERT_PTR_EQUAL(pullNotifiedFIFO(&fifo), &mine);
}

typedef struct {
  notifiedFIFO_t fifo;
  ws_au32_t waiting, without;
} waiters_t;

static void *pull_nothing(void *waiters_arg)
{
  waiters_t *waiters = waiters_arg;
  ws_add_acq_rel(&waiters->waiting, 1);
  if (!pullNotifiedFIFO(&waiters->fifo))
    ws_add_acq_rel(&waiters->without, 1);
  return NULL;
}

static bool all_wait(void *waiters)
{
  return ws_load_acquire(&((waiters_t *)waiters)->waiting) == 4;
}

static void queue_abort_wakes_all_waiters(void)
{
  for (uint32_t round = 0; round < 20; round++) {
    waiters_t waiters = {.waiting = {0}};
    initNotifiedFIFO(&waiters.fifo);
    threads_t threads = {.count = 0};
    for (uint32_t i = 0; i < 4; i++)
      threads_start(&threads, pull_nothing, &waiters);
    if (round % 2)
      contract_until(all_wait, &waiters);
    abortNotifiedFIFO(&waiters.fifo);
    threads_join(&threads);
    CU_ASSERT_EQUAL(ws_load_acquire(&waiters.without), 4);
  }
}

#define PER_PRODUCER 5000
typedef struct {
  notifiedFIFO_t fifo;
  ws_au32_t producers;
  ws_au64_t pulled, sum;
} crowd_t;

static void *produce(void *crowd_arg)
{
  crowd_t *crowd = crowd_arg;
  const uint64_t producer = ws_add_acq_rel(&crowd->producers, 1);
  for (uint64_t i = 0; i < PER_PRODUCER; i++) {
    notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(sizeof(uint64_t), producer << 32 | i, NULL, NULL);
    *(uint64_t *)NotifiedFifoData(elt) = i + 1;
    pushNotifiedFIFO(&crowd->fifo, elt);
  }
  return NULL;
}

static void *consume(void *crowd_arg)
{
  crowd_t *crowd = crowd_arg;
  for (notifiedFIFO_elt_t *elt; (elt = pullNotifiedFIFO(&crowd->fifo)) != NULL;) {
    ws_add_acq_rel(&crowd->sum, *(uint64_t *)NotifiedFifoData(elt));
    delNotifiedFIFO_elt(elt);
    ws_add_acq_rel(&crowd->pulled, 1);
  }
  return NULL;
}

static bool all_pulled(void *crowd)
{
  return ws_load_acquire(&((crowd_t *)crowd)->pulled) == 3 * PER_PRODUCER;
}

static void queue_between_several_threads(void)
{
  crowd_t crowd = {.producers = {0}};
  initNotifiedFIFO(&crowd.fifo);
  threads_t producers = {.count = 0}, consumers = {.count = 0};
  for (uint32_t i = 0; i < 3; i++) {
    threads_start(&consumers, consume, &crowd);
    threads_start(&producers, produce, &crowd);
  }
  threads_join(&producers);
  CU_ASSERT_TRUE(contract_until(all_pulled, &crowd));
  abortNotifiedFIFO(&crowd.fifo);
  threads_join(&consumers);
  CU_ASSERT_EQUAL(ws_load_acquire(&crowd.sum), UINT64_C(3) * PER_PRODUCER * (PER_PRODUCER + 1) / 2);
}

/// One consumer sees each producer's elements in the order of their pushes.
static void queue_keeps_each_producers_order(void)
{
  crowd_t crowd = {.producers = {0}};
  initNotifiedFIFO(&crowd.fifo);
  threads_t producers = {.count = 0};
  for (uint32_t i = 0; i < 3; i++)
    threads_start(&producers, produce, &crowd);
  uint64_t expected[3] = {0};
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < 3 * PER_PRODUCER; i++) {
    const uint64_t key = key_of(pullNotifiedFIFO(&crowd.fifo));
    wrong += (key & UINT32_MAX) != expected[(key >> 32) % 3]++;
  }
  threads_join(&producers);
  CU_ASSERT_EQUAL(wrong, 0);
}

static void queue_statistics_of_an_element(void)
{
  notifiedFIFO_elt_t elt;
  memset(&elt, 0, sizeof(elt));
  const time_stats_t none = exec_time_stats_NotifiedFIFO(&elt);
  CU_ASSERT_EQUAL(none.trials, 0);
  CU_ASSERT_EQUAL(none.diff, 0);
  elt.startProcessingTime = 1000;
  elt.endProcessingTime = 1750;
  const time_stats_t some = exec_time_stats_NotifiedFIFO(&elt);
  CU_ASSERT_EQUAL(some.in, 1000);
  CU_ASSERT_EQUAL(some.diff, 750);
  CU_ASSERT_EQUAL(some.p_time, 750);
  CU_ASSERT_EQUAL(some.max, 750);
  CU_ASSERT_EQUAL(some.trials, 1);
  CU_ASSERT_DOUBLE_EQUAL(some.diff_square, 750.0 * 750.0, 0.5);
}

const contract_case_t fifo_queue_cases[] = {
    CASE(queue_keeps_order_and_keys),
    CASE(queue_poll_of_an_empty_one_returns_at_once),
    CASE(queue_without_locks),
    CASE(queue_payload_is_aligned_and_whole),
    CASE(queue_element_holds_what_it_was_given),
    CASE(queue_element_of_the_caller_is_not_freed),
    CASE(queue_element_goes_round_and_round),
    CASE(queue_abort_frees_what_is_queued),
    CASE(queue_push_after_abort_is_ignored),
    CASE(queue_abort_wakes_all_waiters),
    CASE(queue_between_several_threads),
    CASE(queue_keeps_each_producers_order),
    CASE(queue_statistics_of_an_element),
    CASES_END,
};
