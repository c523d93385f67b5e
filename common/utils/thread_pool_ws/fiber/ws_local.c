// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_local.c
/// ws_local.h.
#include "../include/ws_local.h"

#include <errno.h>
#include <stdlib.h>

#include "ws_fiber_process.h"
#include "ws_local_value.h"

struct ws_local_value_s {
  const ws_local_t *local;
  void *value;
  struct ws_local_value_s *next;
};

static struct ws_local_value_s **list_here(void)
{
  ws_fiber_t *fiber = ws_fiber_here();
  return fiber ? &fiber->locals : &ws_fiber_thread()->locals;
}

static struct ws_local_value_s *find(struct ws_local_value_s *value, const ws_local_t *local)
{
  while (value && value->local != local)
    value = value->next;
  return value;
}

void *ws_local_get(const ws_local_t *local)
{
  const struct ws_local_value_s *found = find(*list_here(), local);
  return found ? found->value : NULL;
}

void ws_local_end(struct ws_local_value_s **locals)
{
  for (struct ws_local_value_s *last; (last = *locals) != NULL;) {
    *locals = last->next;
    if (last->local->end && last->value)
      last->local->end(last->value);
    free(last);
  }
}

int ws_local_set(const ws_local_t *local, void *value)
{
  struct ws_local_value_s **list = list_here();
  struct ws_local_value_s *found = find(*list, local);
  if (!local)
    return -EINVAL;
  if (!found) {
    found = malloc(sizeof(*found));
    if (!found)
      return -ENOMEM;
    *found = (struct ws_local_value_s){.local = local, .next = *list};
    *list = found;
    if (!ws_fiber_here()) {
      ws_fiber_thread()->end_locals = ws_local_end;
      ws_fiber_enroll(ws_fiber_thread());
    }
  }
  found->value = value;
  return 0;
}
