// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_schedule.h
/// Which thread runs on which CPU: the simulated kernel's scheduler. A fair class that takes turns (one of
/// batch threads in it, which never interrupt), and a real-time class whose higher priority goes first.
#ifndef SIM_SCHEDULE_H
#define SIM_SCHEDULE_H

#include "sim_thread.h"

/// @brief Choose the CPU on which a thread wakes.
uint32_t sim_schedule_place(const sim_thread_t *thread, sim_ps_t now_ps);

/// @brief A thread becomes ready on @p cpu at @p now_ps. @param latency_ps  until its first instruction if
/// that CPU is idle
/// @return whether it takes the CPU from a running thread, by an interrupt to another CPU than the caller's
bool sim_schedule_ready(sim_thread_t *thread, uint32_t cpu, sim_ps_t now_ps, sim_ps_t latency_ps);

/// @brief The thread that runs on @p cpu is not there any more: the next one.
void sim_schedule_next(uint32_t cpu, sim_ps_t now_ps);

/// @brief Take a thread from its CPU, or from the queue of those that are ready.
void sim_schedule_remove(sim_thread_t *thread, sim_ps_t now_ps);

/// @brief Count what a thread has run in this turn.
void sim_schedule_account(sim_thread_t *thread, sim_ps_t now_ps);

/// @brief The thread that runs on @p cpu lets those of its class and priority go first (sched_yield). A fair
/// thread goes on as before.
void sim_schedule_yield(uint32_t cpu, sim_ps_t now_ps);

/// @brief A time slice on @p cpu may be over.
void sim_schedule_slice(uint32_t cpu, sim_ps_t now_ps);

#endif
