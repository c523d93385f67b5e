// SPDX-License-Identifier: BSD-3-Clause
/// @file fifo_queue.c
/// The queue by itself, without any pool: order, polling, abort, payloads, who frees an element.

#include "contract.h"

/// @return the key, and frees the element; UINT64_MAX without one
static uint64_t key_of(notifiedFIFO_elt_t *elt)
{
  const uint64_t key = elt ? elt->key : UINT64_MAX;
  if (elt)
    delNotifiedFIFO_elt(elt);
  return key;
}

/// Blocking and polling pulls mixed with pushes; and the calls that do not lock, of which none blocks.
static const struct {
  void (*init)(notifiedFIFO_t *);
  void (*push)(notifiedFIFO_t *, notifiedFIFO_elt_t *);
  notifiedFIFO_elt_t *(*pull)(notifiedFIFO_t *), *(*poll)(notifiedFIFO_t *);
} calls[] = {
    {initNotifiedFIFO, pushNotifiedFIFO, pullNotifiedFIFO, pollNotifiedFIFO},
    {initNotifiedFIFO_nothreadSafe, pushNotifiedFIFO_nothreadSafe, pullNotifiedFIFO_nothreadSafe,
     pullNotifiedFIFO_nothreadSafe},
};

CONTRACT_CASE(queue_keeps_order_and_keys)
{
  const uint64_t base = UINT64_MAX / 2;
  for (size_t c = 0; c < TEST_COUNT(calls); c++) {
    notifiedFIFO_t fifo;
    memset(&fifo, 0xA5, sizeof(fifo));
    calls[c].init(&fifo);
    uint64_t in = 0, out = 0;
    CU_ASSERT_PTR_NULL(calls[c].poll(&fifo));
    for (uint32_t round = 0; round < 200; round++) {
      for (uint32_t i = 0; i < round % 7 + 1; i++)
        calls[c].push(&fifo, newNotifiedFIFO_elt(sizeof(uint64_t), base + in++, NULL, NULL));
      for (uint32_t i = 0; i < round % 5 + 1 && out < in; i++, out++)
        CU_ASSERT_EQUAL(key_of(round % 2 ? calls[c].pull(&fifo) : calls[c].poll(&fifo)), base + out);
    }
    for (; out < in; out++)
      CU_ASSERT_EQUAL(key_of(calls[c].pull(&fifo)), base + out);
    CU_ASSERT_PTR_NULL(calls[c].poll(&fifo));
  }
}

/// Shape A's oldest host counts 32 bytes from where malloc() happens to put the element.
#ifdef CONTRACT_OURS
#define PAYLOAD_ALIGNMENT 32
#else
#define PAYLOAD_ALIGNMENT (_Alignof(notifiedFIFO_elt_t) < 32 ? _Alignof(max_align_t) : 32)
#endif

/// The payload is aligned for vectors, all of it the caller's to write, and what NotifiedFifoData() says.
CONTRACT_CASE(queue_element_holds_what_it_was_given)
{
  notifiedFIFO_t response;
  initNotifiedFIFO(&response);
  for (int size = 0; size < 300; size += 7) {
    notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(size, 77, &response, test_empty_task);
    unsigned char *payload = NotifiedFifoData(elt);
    CU_ASSERT_EQUAL((uintptr_t)payload % PAYLOAD_ALIGNMENT, 0);
    CU_ASSERT_PTR_EQUAL(payload, elt->msgData);
    CU_ASSERT_TRUE(payload >= (unsigned char *)&elt->msgData + sizeof(elt->msgData));
    memset(payload, 0x5A, (size_t)size);
    CU_ASSERT_TRUE(elt->malloced && elt->key == 77);
    CU_ASSERT_PTR_EQUAL(NotifiedFifoData(elt), payload);
    CU_ASSERT_TRUE(elt->reponseFifo == &response && elt->processingFunc == test_empty_task);
    delNotifiedFIFO_elt(elt);
  }
  CU_ASSERT_EQUAL(offsetof(notifiedFIFO_elt_t, msgData) / 32, (sizeof(notifiedFIFO_elt_t) - 1) / 32);
}

/// Queued elements are freed (the leak checker knows), further ones ignored, and nothing comes out any more.
CONTRACT_CASE(queue_abort)
{
  static notifiedFIFO_elt_t mine = {.key = 99}, late = {.key = 98};
  notifiedFIFO_elt_t *volatile own = &late; // or the compiler warns of a free() that never happens
  notifiedFIFO_t fifo;
  late.msgData = &fifo;
  initNotifiedFIFO(&fifo);
  for (uint64_t key = 0; key < 10; key++)
    pushNotifiedFIFO(&fifo, newNotifiedFIFO_elt(8, key, NULL, NULL));
  pushNotifiedFIFO(&fifo, &mine);
  for (uint32_t i = 0; i < 3; i++) {
    abortNotifiedFIFO(&fifo);
    pushNotifiedFIFO(&fifo, &late);
    CU_ASSERT_PTR_NULL(pullNotifiedFIFO(&fifo));
    CU_ASSERT_PTR_NULL(pollNotifiedFIFO(&fifo));
  }
  CU_ASSERT_EQUAL(mine.key, 99);
  initNotifiedFIFO(&fifo); // a queue may start again
  pushNotifiedFIFO(&fifo, own);
  CU_ASSERT_PTR_EQUAL(pullNotifiedFIFO(&fifo), own);
  delNotifiedFIFO_elt(own); // which frees no memory of the caller's
  CU_ASSERT_TRUE(late.key == 98 && NotifiedFifoData(own) == &fifo);
}

typedef struct {
  notifiedFIFO_t fifo;
  ws_au64_t waiting, without;
} waiters_t;

static void *pull_nothing(void *waiters_arg)
{
  waiters_t *waiters = waiters_arg;
  test_count_task(&waiters->waiting);
  if (!pullNotifiedFIFO(&waiters->fifo))
    test_count_task(&waiters->without);
  return NULL;
}

CONTRACT_CASE(queue_abort_wakes_all_waiters)
{
  for (uint32_t round = 0; round < 20; round++) {
    waiters_t waiters = {.waiting = {0}};
    initNotifiedFIFO(&waiters.fifo);
    test_threads_t threads = {0};
    for (uint32_t i = 0; i < 4; i++)
      test_spawn(&threads, pull_nothing, &waiters);
    if (round % 2)
      CU_ASSERT_TRUE(test_until_count(&waiters.waiting, 4));
    abortNotifiedFIFO(&waiters.fifo);
    test_join(&threads);
    CU_ASSERT_EQUAL(test_value(&waiters.without), 4);
  }
}

#define PRODUCERS 3
#define EACH 5000
typedef struct {
  notifiedFIFO_t fifo;
  ws_au32_t producers;
  ws_au64_t pulled, sum, wrong;
} crowd_t;

static void *produce(void *crowd_arg)
{
  crowd_t *crowd = crowd_arg;
  const uint64_t producer = ws_add_acq_rel(&crowd->producers, 1);
  for (uint64_t i = 1; i <= EACH; i++) {
    notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(sizeof(uint64_t), producer, NULL, NULL);
    *(uint64_t *)NotifiedFifoData(elt) = i;
    pushNotifiedFIFO(&crowd->fifo, elt);
  }
  return NULL;
}

/// Each consumer sees each producer's elements in the order of their pushes.
static void *consume(void *crowd_arg)
{
  crowd_t *crowd = crowd_arg;
  uint64_t last[PRODUCERS] = {0};
  for (notifiedFIFO_elt_t *elt; (elt = pullNotifiedFIFO(&crowd->fifo)) != NULL;) {
    const uint64_t number = *(uint64_t *)NotifiedFifoData(elt);
    uint64_t *before = &last[elt->key % PRODUCERS];
    if (number <= *before)
      test_count_task(&crowd->wrong);
    *before = number;
    ws_add_acq_rel(&crowd->sum, number);
    delNotifiedFIFO_elt(elt);
    ws_add_acq_rel(&crowd->pulled, 1);
  }
  return NULL;
}

CONTRACT_CASE(queue_between_several_threads)
{
  for (uint32_t consumers = 1; consumers <= 3; consumers += 2) {
    crowd_t crowd = {.producers = {0}};
    initNotifiedFIFO(&crowd.fifo);
    test_threads_t consuming = {0};
    for (uint32_t i = 0; i < consumers; i++)
      test_spawn(&consuming, consume, &crowd);
    test_in_threads(PRODUCERS, produce, &crowd);
    CU_ASSERT_TRUE(test_until_count(&crowd.pulled, PRODUCERS * EACH));
    abortNotifiedFIFO(&crowd.fifo);
    test_join(&consuming);
    CU_ASSERT_EQUAL(test_value(&crowd.sum), UINT64_C(1) * PRODUCERS * EACH * (EACH + 1) / 2);
    CU_ASSERT_EQUAL(test_value(&crowd.wrong), 0);
  }
}

CONTRACT_CASE(queue_statistics_of_an_element)
{
  notifiedFIFO_elt_t elt;
  memset(&elt, 0, sizeof(elt));
  const time_stats_t none = exec_time_stats_NotifiedFIFO(&elt);
  CU_ASSERT_TRUE(none.trials == 0 && none.diff == 0);
  elt.startProcessingTime = 1000;
  elt.endProcessingTime = 1750;
  const time_stats_t some = exec_time_stats_NotifiedFIFO(&elt);
  CU_ASSERT_TRUE(some.in == 1000 && some.diff == 750 && some.p_time == 750 && some.max == 750);
  CU_ASSERT_EQUAL(some.trials, 1);
  CU_ASSERT_DOUBLE_EQUAL(some.diff_square, 750.0 * 750.0, 0.5);
}

TEST_MAIN("fifo_queue")
