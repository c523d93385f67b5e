// SPDX-License-Identifier: BSD-3-Clause
/// @file api_places.c
/// api_places.h: the begin and the end of places, and their sum.
#include "private/api_places.h"

#include <stdlib.h>
#include <string.h>

bool api_places_init(api_places_t *places, uint64_t capacity, uint32_t workers)
{
  *places = (api_places_t){.capacity = capacity, .lines = workers + 1};
  const size_t bytes = places->lines * sizeof *places->given;
  places->given = aligned_alloc(alignof(api_given_t), bytes);
  if (places->given)
    memset(places->given, 0, bytes);
  return places->given != NULL;
}

void api_places_free(api_places_t *places)
{
  free(places->given);
}

uint64_t api_places_sum(api_places_t *places)
{
  uint64_t sum = 0;
  for (uint32_t i = 0; i < places->lines; i++)
    // [edge PLACE acquire] what was done in the place; [edge ROOM_DEKKER acquire] after sleepers
    sum += ws_load_seq_cst(&places->given[i].count);
  uint64_t seen = ws_expected_load(&places->given_seen);
  while ((int64_t)(sum - seen) > 0
         && !ws_cas_acq_rel(&places->given_seen, &seen, sum)) // [edge PLACE acq_rel] for other takers
    ;
  return sum;
}
