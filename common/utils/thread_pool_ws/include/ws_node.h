// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_node.h
/// NUMA: on which node memory lies, for the hint ws_task_t.node.
///
/// @code
///   ws_pool_push(pool, (ws_task_t){.func = scan, .arg = block, .node = ws_node_hint(ws_node_of(block))});
/// @endcode
#ifndef WS_NODE_H
#define WS_NODE_H

#include "ws_pool.h" // IWYU pragma: export

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast" // clang, in inline functions
#endif

/// @return the hint for a node of that number; WS_NODE_ANY for a negative one, which ws_node_of() returns on
///         error
static inline uint32_t ws_node_hint(int32_t node)
{
  return node >= 0 ? (uint32_t)node + 1 : WS_NODE_ANY;
}

/// @return online NUMA nodes of the machine; 1 if unknown
/// @threads  any
uint32_t ws_node_count(void);

/// @brief The NUMA node of the memory at @p address. A system call (move_pages(2), a query).
/// @return the kernel's number of the node; -ENOENT or -EFAULT = the page has no memory yet, because nothing
///         has written to it, or nothing is mapped there; -EPERM = the process may not ask (for example a
///         container that filters system calls), or -ENOSYS = the kernel cannot, and the machine has several
///         nodes
/// @threads  any
int32_t ws_node_of(const void *address);

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif
#pragma GCC visibility pop
#endif
