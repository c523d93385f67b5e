// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_overflow.c
/// ws_overflow.h. In the handler: no function that is unsafe in signal handlers.
#include "ws_overflow.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../os/ws_os.h"
#include "ws_stack.h"

#define ALTERNATE_BYTES 32768u
#define DIGITS_MAX 20u

static void put_text(const char *text)
{
  const ssize_t written = write(STDERR_FILENO, text, strlen(text));
  (void)written; // there is no other place to report to
}

static void put_number(uint64_t number)
{
  char text[DIGITS_MAX + 1] = {0};
  char *digit = &text[DIGITS_MAX];
  do
    *--digit = (char)('0' + number % 10);
  while ((number /= 10) > 0);
  put_text(digit);
}

static void report(const ws_fiber_t *fiber)
{
  put_text("thread_pool_ws: fiber \"");
  put_text(fiber->name);
  put_text("\" has overflowed its stack of ");
  put_number(ws_stack_bytes(&fiber->stack));
  put_text(" bytes: give it more by ws_fiber_options_t.stack_bytes\n");
}

_Noreturn void ws_overflow_die(const ws_fiber_t *fiber)
{
  report(fiber);
  abort();
}

/// What the program did with the signal before.
static void pass_on(int number, siginfo_t *info, void *context)
{
  const struct sigaction *before = &ws_fiber_process.fault_before;
  const bool is_sent = info->si_code <= 0; // by kill() or the like: no instruction will fault again
  if (before->sa_flags & SA_SIGINFO) {
    before->sa_sigaction(number, info, context);
  } else if (is_sent && before->sa_handler == SIG_IGN) {
    return;
  } else if (before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN) {
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigaction(number, &by_default, NULL); // the instruction faults again, and ends the process
    if (is_sent)
      raise(number); // ends the process when this handler returns
  } else {
    before->sa_handler(number);
  }
}

static void on_fault(int number, siginfo_t *info, void *context)
{
  for (const ws_rider_t *rider = ws_fiber_thread()->rider; rider; rider = rider->outer)
    if (ws_stack_guards(&rider->fiber->stack, info->si_addr)) {
      report(rider->fiber);
      break;
    }
  pass_on(number, info, context);
}

void ws_overflow_begin(void)
{
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &ws_fiber_process.fault_before);
}

static void disarm(ws_fiber_thread_t *thread)
{
  if (!thread->alternate)
    return;
  const stack_t none = {.ss_flags = SS_DISABLE};
  sigaltstack(&none, NULL);
  ws_os_unmap(thread->alternate, ALTERNATE_BYTES);
  thread->alternate = NULL;
  thread->armed = false;
}

void ws_overflow_arm_now(ws_fiber_thread_t *thread)
{
  ws_fiber_enroll(thread);
  thread->disarm = disarm;
  thread->armed = true;
  stack_t stack;
  if (sigaltstack(NULL, &stack) != 0 || !(stack.ss_flags & SS_DISABLE))
    return;
  thread->alternate = ws_os_map(ALTERNATE_BYTES);
  if (!thread->alternate)
    return; // an overflow then ends the process without a report
  stack = (stack_t){.ss_sp = thread->alternate, .ss_size = ALTERNATE_BYTES};
  sigaltstack(&stack, NULL);
}
