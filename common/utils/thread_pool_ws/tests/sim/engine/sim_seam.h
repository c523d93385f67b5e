// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_seam.h
/// Included before the first line of every file that runs on the simulated machine (gcc -include): the core,
/// the shims, the pools that they are compared with. None of those files knows of the simulation.
///
///   memory    the compiler's atomic built-ins are preceded by a scheduling point of the simulated machine
///   kernel    the C library's calls are replaced when the program is linked (--wrap): sim_libc_*.c
///   threads   thread-local variables lie in a section of their own, which each fiber has a copy of
///
/// Memory is sequentially consistent, whatever order an operation asks for.
#ifndef SIM_SEAM_H
#define SIM_SEAM_H

#define WS_SIMULATED 1

#define _Thread_local __attribute__((section("sim_local")))

#include "sim_seam_points.h" // IWYU pragma: export

#define __atomic_load_n(word, order) (sim_load(word), __atomic_load_n((word), __ATOMIC_SEQ_CST))
#define __atomic_store_n(word, value, order)                                                                 \
  __extension__({                                                                                            \
    const __typeof__(*(word)) sim_value = (value);                                                           \
    sim_store(word);                                                                                         \
    __atomic_store_n((word), sim_value, __ATOMIC_SEQ_CST);                                                   \
  })
#define SIM_MODIFY(operation, word, value)                                                                   \
  __extension__({                                                                                            \
    const __typeof__(*(word)) sim_value = (value);                                                           \
    sim_modify(word);                                                                                        \
    operation((word), sim_value, __ATOMIC_SEQ_CST);                                                          \
  })
#define __atomic_exchange_n(word, value, order) SIM_MODIFY(__atomic_exchange_n, word, value)
#define __atomic_fetch_add(word, value, order) SIM_MODIFY(__atomic_fetch_add, word, value)
#define __atomic_fetch_sub(word, value, order) SIM_MODIFY(__atomic_fetch_sub, word, value)
#define __atomic_fetch_or(word, value, order) SIM_MODIFY(__atomic_fetch_or, word, value)
#define __atomic_fetch_and(word, value, order) SIM_MODIFY(__atomic_fetch_and, word, value)
#define __atomic_compare_exchange_n(word, expected, value, weak, success, failure)                           \
  __extension__({                                                                                            \
    static sim_swaps_t sim_site;                                                                             \
    const __typeof__(*(word)) sim_value = (value);                                                           \
    sim_modify(word);                                                                                        \
    const int sim_done =                                                                                     \
        __atomic_compare_exchange_n((word), (expected), sim_value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);   \
    sim_site.function = __func__;                                                                            \
    sim_swapped(&sim_site, sim_done);                                                                        \
    sim_done != 0;                                                                                           \
  })
#define __atomic_thread_fence(order) sim_fence()

#endif
