// SPDX-License-Identifier: BSD-3-Clause
/// @file test_lot_queue.c
/// The tree of queues in a bucket of the lot, without a pool: order within each queue, removal at any place,
/// and the length of the ways, also for addresses whose hashes are alike. Then with the lot itself: which
/// waits a wake takes.

#include "../../../fiber/ws_fiber_process.h"
#include "../../../fiber/ws_lot.h"
#include "fiber_scene.h"

#define BUCKET_HASH (UINT64_C(3) << (64 - WS_LOT_BUCKET_BITS))

/// @return the address with a hash: the factor of the hash is odd, so it has an inverse
static void *address_of(uint64_t hash)
{
  const uint64_t factor = ws_lot_hash((const void *)(uintptr_t)1);
  uint64_t inverse = factor; // each step doubles the number of right bits, 3 at first
  for (uint32_t i = 0; i < 5; i++)
    inverse *= 2 - factor * inverse;
  return (void *)(uintptr_t)(hash * inverse);
}

/// @return an address of one bucket: its number in the last bits of the hash, or else spread
static void *address_number(uint64_t number, bool alike)
{
  const uint64_t low = alike ? number : (number * UINT64_C(0xD1B54A32D192ED03)) >> WS_LOT_BUCKET_BITS;
  return address_of(BUCKET_HASH | low);
}

static uint32_t ways_longest;
static uint64_t ways_sum;

/// Each node is linked from its place. @return number of nodes
static uint32_t measure(ws_waiter_t *const *place, uint32_t depth)
{
  const ws_waiter_t *node = *place;
  if (!node)
    return 0;
  CU_ASSERT_PTR_EQUAL(node->place, place);
  uint32_t nodes = 1;
  ways_sum += depth;
  ways_longest = depth > ways_longest ? depth : ways_longest;
  for (uint32_t i = 0; i < WS_LOT_CHILDREN; i++)
    nodes += measure(&node->child[i], depth + 1);
  return nodes;
}

static uint32_t measure_all(ws_waiter_t *const *root)
{
  ways_longest = 0;
  ways_sum = 0;
  return measure(root, 1);
}

#define MANY 16384u

/// Ways have about log4(n) nodes; where all hashes differ in the last bits only, no more than the bound.
static void check_ways(bool alike, uint32_t longest_max, uint32_t mean_max)
{
  ws_waiter_t *root = NULL, *waits = calloc(MANY, sizeof *waits);
  CU_ASSERT_PTR_NOT_NULL_FATAL(waits);
  for (uint32_t i = 0; i < MANY; i++) {
    ws_store_relaxed(&waits[i].address, address_number(i, alike));
    ws_lot_append(&root, &waits[i]);
  }
  CU_ASSERT_EQUAL(measure_all(&root), MANY);
  printf("longest way %u, mean %.1f\n", ways_longest, (double)ways_sum / MANY);
  CU_ASSERT(ways_longest <= longest_max);
  CU_ASSERT(ways_sum <= (uint64_t)MANY * mean_max);
  for (uint32_t i = 0; i < MANY; i++)
    CU_ASSERT_PTR_EQUAL(ws_lot_oldest(root, ws_load_relaxed(&waits[i].address)), &waits[i]);
  for (uint32_t i = 0; i < MANY; i++)
    ws_lot_take_out(&waits[(i * 7919u) % MANY]);
  CU_ASSERT_PTR_NULL(root);
  free(waits);
}

TEST_CASE(test_ways)
{
  check_ways(false, 14, 8);
  check_ways(true, WS_LOT_DEPTH_MAX, WS_LOT_DEPTH_MAX);
}

#define ADDRESSES 40u
#define WAITS 400u
#define STEPS 40000u

static ws_waiter_t wait[WAITS];
static uint64_t since[WAITS]; ///< 0 = not in the bucket
static uint32_t where[WAITS]; ///< its address's number

/// @return the wait for the address that has been in the bucket for longest; WAITS = none
static uint32_t oldest_of(uint32_t number)
{
  uint32_t oldest = WAITS;
  for (uint32_t i = 0; i < WAITS; i++)
    if (since[i] != 0 && where[i] == number && (oldest == WAITS || since[i] < since[oldest]))
      oldest = i;
  return oldest;
}

/// The queue of an address has its waits in the order in which they were added.
static void check_queue(ws_waiter_t *root, void *address, uint32_t number)
{
  const uint32_t expected = oldest_of(number);
  ws_waiter_t *const oldest = ws_lot_oldest(root, address);
  CU_ASSERT_PTR_EQUAL(oldest, expected == WAITS ? NULL : &wait[expected]);
  uint32_t left = 0;
  for (uint32_t i = 0; i < WAITS; i++)
    left += since[i] != 0 && where[i] == number;
  uint64_t last = 0;
  for (const ws_waiter_t *at = oldest; at; at = ws_lot_younger(at, oldest), left--) {
    CU_ASSERT(since[at - wait] > last && where[at - wait] == number);
    last = since[at - wait];
  }
  CU_ASSERT_EQUAL(left, 0);
}

/// Waits come and go in a random order, at any place of their queues.
static void check_random(bool alike)
{
  ws_waiter_t *root = NULL;
  void *address[ADDRESSES];
  uint64_t random = test_seed();
  for (uint32_t i = 0; i < ADDRESSES; i++)
    address[i] = address_number(i, alike);
  memset(since, 0, sizeof since);
  for (uint64_t step = 1; step <= STEPS; step++) {
    const uint32_t i = (uint32_t)(test_random(&random) % WAITS);
    if (since[i] != 0) {
      ws_lot_take_out(&wait[i]);
      since[i] = 0;
    } else {
      where[i] = (uint32_t)(test_random(&random) % (step % 1000 < 500 ? ADDRESSES : 3));
      since[i] = step;
      ws_store_relaxed(&wait[i].address, address[where[i]]);
      ws_lot_append(&root, &wait[i]);
    }
    check_queue(root, address[where[i]], where[i]);
    if (step % 100 == 0)
      CU_ASSERT(measure_all(&root) <= ADDRESSES && ways_longest <= WS_LOT_DEPTH_MAX);
  }
  for (uint32_t i = 0; i < WAITS; i++)
    if (since[i] != 0)
      ws_lot_take_out(&wait[i]);
  CU_ASSERT_PTR_NULL(root);
}

TEST_CASE(test_random_order)
{
  check_random(false);
  check_random(true);
}

static bool may_always(void *unused)
{
  return true;
}

static bool enter_lot(ws_waiter_t *waiter, uint64_t number)
{
  *waiter = (ws_waiter_t){.may_park = may_always, .deadline_ns = UINT64_MAX};
  ws_store_relaxed(&waiter->address, address_number(number, false));
  return ws_lot_enter(waiter);
}

typedef struct {
  uint32_t woken;
  bool more, locked;
} settled_t;

/// A condition and the list change under one hold of the bucket's lock, on the side of the wake, too.
static void keep_settled(void *settled, uint32_t woken, bool more)
{
  pthread_mutex_t *lock = &ws_fiber_process.bucket[BUCKET_HASH >> (64 - WS_LOT_BUCKET_BITS)].lock;
  const bool locked = pthread_mutex_trylock(lock) != 0;
  if (!locked)
    pthread_mutex_unlock(lock);
  *(settled_t *)settled = (settled_t){woken, more, locked};
}

/// Waits for two addresses stand one after the other in one bucket: a wake takes the oldest of its address.
TEST_CASE(test_wakes)
{
  static const struct {
    uint32_t address, count, woken;
    bool more;
  } wakes[] = {{0, 0, 0, true},  {1, 1, 1, true},  {0, 2, 2, true},
               {0, 2, 1, false}, {0, 2, 0, false}, {1, UINT32_MAX, 2, false}};
  ws_waiter_t *next[] = {&wait[0], &wait[1]};
  ws_fiber_process_begin();
  for (uint32_t i = 0; i < 6; i++)
    CU_ASSERT_TRUE_FATAL(enter_lot(&wait[i], i % 2)); // 0 1 0 1 ..
  for (uint32_t i = 0; i < TEST_COUNT(wakes); i++) {
    ws_waiter_t **oldest = &next[wakes[i].address];
    settled_t settled;
    ws_lot_unpark(address_number(wakes[i].address, false), wakes[i].count, keep_settled, &settled);
    CU_ASSERT(settled.woken == wakes[i].woken && settled.more == wakes[i].more && settled.locked);
    for (uint32_t woken = 0; woken < wakes[i].woken; woken++, *oldest += 2)
      CU_ASSERT_EQUAL((*oldest)->ended_by, WS_ENDED_WAKE);
    CU_ASSERT(!settled.more || (*oldest)->ended_by != WS_ENDED_WAKE);
  }
}

TEST_MAIN("lot_queue")
