// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_escape.c
/// ws_escape.h.
#include "ws_escape.h"

#include "../include/ws_record.h"
#include "../pool/ws_process.h"

// The C++ run-time library's; NULL in a program without it.
extern void *__cxa_begin_catch(void *exception) __attribute__((weak));
extern void _ZSt9terminatev(void) __attribute__((weak)); // std::terminate()

_Unwind_Reason_Code ws_escape_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                                          struct _Unwind_Exception *exception,
                                          struct _Unwind_Context *context)
{
  (void)version;
  (void)kind;
  (void)context;
  const ws_task_t *task = ws_self()->task;
  const bool thrown = actions & _UA_SEARCH_PHASE; // else pthread_exit(), or the thread is cancelled
  if (!thrown && !task && ws_self()->may_end) {
    ws_self()->may_end = false; // not a loop or a scan that calls this wait
    return _URC_CONTINUE_UNWIND;
  }
  char name[96] = "";
  if (task)
    snprintf(name, sizeof(name), "a task (function %p, argument %p), or ", (void *)(uintptr_t)task->func,
             task->arg);
  fprintf(stderr,
          thrown ? "thread_pool_ws: an exception left %sa function that the pool called: the process ends."
                   " Catch it there\n"
                 : "thread_pool_ws: %sa function that the pool called ended its thread (pthread_exit, or"
                   " cancelled): the process ends. Return from it\n",
          name);
  if (!thrown)
    abort();
  if (__cxa_begin_catch)
    __cxa_begin_catch(exception); // so that std::terminate() can name it
  if (_ZSt9terminatev)
    _ZSt9terminatev();
  abort();
}

void ws_must_return(void (*func)(void *arg), void *arg, const ws_task_t *as)
{
  WS_NOTHING_ESCAPES();
  const int cancel = ws_cancel_disable();
  const ws_task_t *outer = ws_self()->task;
  if (as)
    ws_self()->task = as;
  func(arg);
  if (as) // else the caller may be a fiber, and on another thread now
    ws_self()->task = outer;
  ws_cancel_restore(cancel);
}
