// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_letters.h
/// Tasks that write a letter each, to see in which order tasks of the three priorities run. Capitals have
/// high priority, small letters low, digits normal.
#ifndef WS_LETTERS_H
#define WS_LETTERS_H

#include "ws_test.h"

/// @brief Push a task for each letter.
void test_letters_push(ws_pool_t *pool, const char *letters, ws_group_t *group);
/// A task: write the first letter of a text.
void test_letter_task(void *letter);
/// @return the letters of the tasks that have run since the last test_letters_forget()
const char *test_letters_ran(void);
uint32_t test_letters_count(void);
void test_letters_forget(void);
/// @brief Wait until @p count tasks have run. @return false after the deadline
bool test_letters_await(uint32_t count);

/// @brief Have a worker stand in the gate until test_letters_release().
void test_letters_hold(ws_pool_t *pool, test_gate_t *gate);
/// @brief Let the worker go, and wait without helping until @p count tasks have run.
void test_letters_release(test_gate_t *gate, uint32_t count);

#endif
