// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_lot_queue.h
/// The waits in one bucket of the lot: a queue for each address, the oldest wait first. The caller holds the
/// bucket's lock.
///
/// A queue is a ring of records. Its oldest record is a node of the bucket's tree, in which the bits of the
/// hashed address lead from the root to the record, two bits at each node: a digital search tree. A record
/// below a node has the same first bits as that node, so any leaf below a node may take the node's place. Two
/// addresses of one bucket differ in some bits, so no way is longer than WS_LOT_DEPTH_MAX nodes. With n
/// addresses the usual way has log4(n) nodes. No operation needs memory, and none looks at a wait for another
/// address that is not on its way.
#ifndef WS_LOT_QUEUE_H
#define WS_LOT_QUEUE_H

#include "ws_fiber_types.h"

/// The first bits of a hashed address choose the bucket, the others the way in its tree.
#define WS_LOT_BUCKET_BITS 8u
#define WS_LOT_DEPTH_MAX (1 + (64u - WS_LOT_BUCKET_BITS) / 2)

/// @return a hash of the address; no two addresses have the same
static inline uint64_t ws_lot_hash(const void *address)
{
  return (uint64_t)(uintptr_t)address * UINT64_C(0x9E3779B97F4A7C15); // 2^64 / golden ratio
}

/// @return the oldest wait for the address; NULL = none
static inline ws_waiter_t *ws_lot_oldest(ws_waiter_t *root, const void *address)
{
  ws_waiter_t *node = root;
  for (uint64_t way = ws_lot_hash(address) << WS_LOT_BUCKET_BITS;
       node && ws_load_relaxed(&node->address) != address; way <<= 2) // relaxed: under the lock
    node = node->child[way >> 62];
  return node;
}

/// @return where the oldest wait for the address is linked, or would be: then it holds NULL
static inline ws_waiter_t **ws_lot_place(ws_waiter_t **root, const void *address)
{
  ws_waiter_t **place = root;
  for (uint64_t way = ws_lot_hash(address) << WS_LOT_BUCKET_BITS;
       *place && ws_load_relaxed(&(*place)->address) != address; way <<= 2) // relaxed: under the lock
    place = &(*place)->child[way >> 62];
  return place;
}

/// @return the next younger wait of the queue; NULL = none
static inline ws_waiter_t *ws_lot_younger(const ws_waiter_t *waiter, const ws_waiter_t *oldest)
{
  return waiter->next != oldest ? waiter->next : NULL;
}

/// @brief Add the record to the end of its address's queue.
static inline void ws_lot_append(ws_waiter_t **root, ws_waiter_t *waiter)
{
  ws_waiter_t **place = ws_lot_place(root, ws_load_relaxed(&waiter->address)); // relaxed: under the lock
  ws_waiter_t *oldest = *place;
  if (oldest) {
    waiter->place = NULL;
    waiter->next = oldest;
    waiter->before = oldest->before;
    oldest->before->next = waiter;
    oldest->before = waiter;
    return;
  }
  for (uint32_t i = 0; i < WS_LOT_CHILDREN; i++)
    waiter->child[i] = NULL;
  waiter->place = place;
  waiter->next = waiter->before = waiter;
  *place = waiter;
}

/// The record @p by takes the place of a node.
static inline void ws_lot_replace(const ws_waiter_t *node, ws_waiter_t *by)
{
  by->place = node->place;
  *by->place = by;
  for (uint32_t i = 0; i < WS_LOT_CHILDREN; i++) {
    by->child[i] = node->child[i];
    if (by->child[i])
      by->child[i]->place = &by->child[i];
  }
}

/// @return some node without children, at or below @p node
static inline ws_waiter_t *ws_lot_leaf(ws_waiter_t *node)
{
  for (;;) {
    ws_waiter_t *const *child = node->child;
    ws_waiter_t *below = child[0] ? child[0] : child[1] ? child[1] : child[2] ? child[2] : child[3];
    if (!below)
      return node;
    node = below;
  }
}

/// @brief Remove the record from its queue, at any place in it.
static inline void ws_lot_take_out(ws_waiter_t *waiter)
{
  ws_waiter_t *next = waiter->next;
  if (next == waiter) {
    ws_waiter_t *leaf = ws_lot_leaf(waiter);
    *leaf->place = NULL;
    if (leaf != waiter)
      ws_lot_replace(waiter, leaf);
    return;
  }
  waiter->before->next = next;
  next->before = waiter->before;
  if (waiter->place)
    ws_lot_replace(waiter, next);
}

#endif
