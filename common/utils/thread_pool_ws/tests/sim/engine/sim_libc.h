// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_libc.h
/// The C library's calls, and through them the kernel's, as code on the simulated machine sees them. The
/// linker puts sim_libc_*.c in their place (--wrap); calls from outside the simulation go to the real ones.
#ifndef SIM_LIBC_H
#define SIM_LIBC_H

#include <sched.h>
#include <stddef.h>

#include "sim_thread.h" // IWYU pragma: export

/// @brief What the C library does when a thread ends.
void sim_libc_thread_ends(void *result);

/// @brief A thread does not wait for its futex any more.
void sim_libc_stop_waiting(sim_thread_t *thread);

/// @brief Wait while *word == expected. @return whether it was woken; false: another value, time is over
/// (sim_self->timed_out), or nothing at all
bool sim_futex_wait(const uint32_t *word, uint32_t expected, sim_ps_t until_ps);
void sim_futex_wake(const void *word, uint32_t count);
/// @brief Give a thread another class. @return 0
int sim_set_class(sim_thread_t *thread, int policy, const struct sched_param *param);

/// Threads woken by futex calls so far.
extern uint64_t sim_wakes;
/// Mappings of the simulated program that have not been given back.
extern size_t sim_mapped_bytes;
/// Mappings that are given back cannot be touched any more, and their addresses are not used again.
extern bool sim_keeps_unmapped;
/// The process may ask for real-time threads and pin them.
extern bool sim_may_pin;
/// Periods in which the control group's time was used up.
extern uint64_t sim_throttled;
/// Called with each finding; NULL = print a line on stdout.
extern void (*sim_on_finding)(const char *text);
/// Ends the host's process: what the simulated program did makes no sense.
_Noreturn void sim_finding(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
