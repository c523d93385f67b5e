// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_letters.h
/// Tasks that write a letter each, to see in which order they run.
#ifndef WS_LETTERS_H
#define WS_LETTERS_H

#include "ws_test.h"

/// A task: write the first letter of a text.
void test_letter_task(void *letter);
/// @return the letters of the tasks that have run since the last test_letters_forget()
const char *test_letters_ran(void);
void test_letters_forget(void);

/// @brief Let the worker that stands in the gate go, and wait without helping until @p count tasks have run.
void test_letters_release(test_gate_t *gate, uint32_t count);

#endif
