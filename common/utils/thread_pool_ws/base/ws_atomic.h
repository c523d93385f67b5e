// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_atomic.h
/// Atomics whose name carries their order. In the pool only this file uses the compiler's atomic built-ins.
///
/// The types wrap a plain word so that no access can be atomic, or not, by accident. The operations are the
/// compiler's C11-model built-ins: the public headers must parse as C++ too, where C11's _Atomic does not
/// exist. Every use in the pool has a tag beside it: the edge of MEMORY_MODEL.md of which the use is a side,
/// or why relaxed is enough. Relaxed operations whose name is the reason (ws_hint_load, ...) need no tag.
#ifndef WS_ATOMIC_H
#define WS_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  uint32_t v;
} ws_au32_t;
typedef struct {
  uint64_t v;
} ws_au64_t;
typedef struct {
  void *v;
} ws_aptr_t;

#define ws_load_relaxed(a) __atomic_load_n(&(a)->v, __ATOMIC_RELAXED)
#define ws_load_acquire(a) __atomic_load_n(&(a)->v, __ATOMIC_ACQUIRE)
#define ws_store_relaxed(a, x) __atomic_store_n(&(a)->v, (x), __ATOMIC_RELAXED)
#define ws_store_release(a, x) __atomic_store_n(&(a)->v, (x), __ATOMIC_RELEASE)
#define ws_xchg_acq_rel(a, x) __atomic_exchange_n(&(a)->v, (x), __ATOMIC_ACQ_REL)
#define ws_add_relaxed(a, x) __atomic_fetch_add(&(a)->v, (x), __ATOMIC_RELAXED)
#define ws_add_release(a, x) __atomic_fetch_add(&(a)->v, (x), __ATOMIC_RELEASE)
#define ws_add_acq_rel(a, x) __atomic_fetch_add(&(a)->v, (x), __ATOMIC_ACQ_REL)
#define ws_add_seq_cst(a, x) __atomic_fetch_add(&(a)->v, (x), __ATOMIC_SEQ_CST)
#define ws_load_seq_cst(a) __atomic_load_n(&(a)->v, __ATOMIC_SEQ_CST)
#define ws_sub_relaxed(a, x) __atomic_fetch_sub(&(a)->v, (x), __ATOMIC_RELAXED)
#define ws_sub_acq_rel(a, x) __atomic_fetch_sub(&(a)->v, (x), __ATOMIC_ACQ_REL)
#define ws_or_acq_rel(a, x) __atomic_fetch_or(&(a)->v, (x), __ATOMIC_ACQ_REL)
#define ws_and_acq_rel(a, x) __atomic_fetch_and(&(a)->v, (x), __ATOMIC_ACQ_REL)
/// Strong compare-and-swap. @p expected is a pointer; on failure it receives the value seen. @return whether
/// @p x was stored. Failure is relaxed.
#define ws_cas_acq_rel(a, expected, x)                                                                       \
  __atomic_compare_exchange_n(&(a)->v, (expected), (x), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)
#define ws_cas_seq_cst(a, expected, x)                                                                       \
  __atomic_compare_exchange_n(&(a)->v, (expected), (x), false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)

/// A preference, a setting or an estimate: a stale or overwritten value costs time, and never a task, a wake
/// or a wrong result.
#define ws_hint_load(a) ws_load_relaxed(a)
#define ws_hint_store(a, x) ws_store_relaxed(a, x)
#define ws_hint_add(a, x) ws_add_relaxed(a, x)
/// A count or a measurement for statistics, estimates and debuggers: an older value serves as well.
#define ws_stat_load(a) ws_load_relaxed(a)
#define ws_stat_store(a, x) ws_store_relaxed(a, x)
#define ws_stat_add(a, x) ws_add_relaxed(a, x)
#define ws_stat_sub(a, x) ws_sub_relaxed(a, x)
/// Only the calling thread writes the variable: it reads what it wrote itself.
#define ws_own_load(a) ws_load_relaxed(a)
/// The value that a compare-and-swap of the same word expects: if it is stale, the compare-and-swap fails.
#define ws_expected_load(a) ws_load_relaxed(a)
/// For an assertion, of a word that no other thread may write now: no access of a build without assertions,
/// and no step of the simulated machine.
#define ws_assert_load(a) ((a)->v)
/// No other thread can reach the object yet: the operation that publishes the object orders this store.
#define ws_init_store(a, x) ws_store_relaxed(a, x)

#if defined(__SANITIZE_THREAD__)
#define WS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WS_TSAN 1
#endif
#endif

extern ws_au32_t ws_tsan_fence_word; ///< exists with ThreadSanitizer only
/// A seq_cst fence: it also orders a store before a later load.
static inline void ws_fence_seq_cst(void)
{
#if defined(WS_TSAN)
  // ThreadSanitizer does not model fences. A read-modify-write of one common word orders at least as much:
  // two such operations are totally ordered, and the later one acquires what the earlier one released.
  __atomic_fetch_add(&ws_tsan_fence_word.v, 1, __ATOMIC_SEQ_CST);
#elif defined(__x86_64__) && !defined(WS_SIMULATED)
  // A locked operation on the own stack: the same order as MFENCE for write-back memory, at a third of its
  // time.
  __asm__ volatile("lock; orl $0, -4(%%rsp)" ::: "memory", "cc");
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/// A seq_cst fence directly after a read-modify-write of the same thread. On x86 that operation is the fence,
/// and only the compiler is bound here.
static inline void ws_fence_seq_cst_after_rmw(void)
{
#if defined(__x86_64__) && !defined(WS_TSAN) && !defined(WS_SIMULATED)
  __asm__ volatile("" ::: "memory");
#else
  ws_fence_seq_cst();
#endif
}

/// The fence of a thread that must not pay for it, towards ws_os_fence_heavy() of another thread.
/// @param is_light  the kernel has heavy fences: then only the compiler is bound. Else a seq_cst fence
static inline void ws_fence_light(bool is_light)
{
#ifndef WS_TSAN
  if (is_light) {
    __asm__ volatile("" ::: "memory");
    return;
  }
#endif
  (void)is_light;
  ws_fence_seq_cst();
}

/// A seq_cst fence between two loads, of a thief or of a reader (ws_rhythm.c). x86 keeps loads in order, so
/// there it binds the compiler only. For a thief the owner's ws_fence_seq_cst between its store and its load
/// is what x86 needs (Chase and Lev 2005, section 3; Le et al. 2013).
static inline void ws_fence_seq_cst_loads(void)
{
#if defined(__x86_64__) && !defined(WS_TSAN)
  __asm__ volatile("" ::: "memory");
#else
  ws_fence_seq_cst();
#endif
}

/// Have the line of @p address come to this CPU: the caller will read it soon. Any address is allowed.
static inline void ws_prefetch(const void *address)
{
#if defined(WS_SIMULATED)
  sim_prefetch(address); // tests/sim
#else
  __builtin_prefetch(address);
#endif
}

/// The CPU's pause: a hint to the core, its SMT sibling and the hypervisor that this thread only waits.
static inline void ws_pause(void)
{
#if defined(WS_SIMULATED)
  sim_pause(); // tests/sim
#elif defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory"); // yield is a no-op on most ARM cores; isb takes tens of cycles
#else
  __asm__ volatile("" ::: "memory");
#endif
}

#endif
