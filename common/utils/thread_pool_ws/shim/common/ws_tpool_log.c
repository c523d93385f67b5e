// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_log.c
/// ws_tpool_log.h.
#include "ws_tpool_log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LINE_BYTES 512
/// Number of messages that are remembered; a further one is written each time.
#define MESSAGES 16
#define MESSAGE_BYTES 256

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; ///< of all below

void ws_tpool_say(const char *format, ...)
{
  static bool begun;
  char line[LINE_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof(line), format, args);
  va_end(args);
  pthread_mutex_lock(&lock);
  fflush(stdout); // the host's log, where both go to one place
  fprintf(stderr, "%s%s\n", begun ? "" : "\n", line);
  begun = true;
  pthread_mutex_unlock(&lock);
}

/// @return whether @p message was seen before; it is kept where there is room
static bool was_said(const char *message)
{
  static char said[MESSAGES][MESSAGE_BYTES];
  static unsigned count;
  bool seen = false;
  pthread_mutex_lock(&lock);
  for (unsigned i = 0; i < count && !seen; i++)
    seen = strncmp(said[i], message, MESSAGE_BYTES - 1) == 0;
  if (!seen && count < MESSAGES)
    snprintf(said[count++], MESSAGE_BYTES, "%s", message);
  pthread_mutex_unlock(&lock);
  return seen;
}

void ws_tpool_warn_once(void *unused, const char *message)
{
  (void)unused;
  if (!was_said(message))
    ws_tpool_say("thread_pool_ws: %s", message);
}

void ws_tpool_warn(void *unused, const char *message)
{
  (void)unused;
  ws_tpool_say("thread_pool_ws: %s", message);
}
