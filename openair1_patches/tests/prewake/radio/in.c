// SPDX-License-Identifier: BSD-3-Clause
/// After each reception in the radio unit's thread, also one that is a branch without braces; not those of
/// other threads, and not where the function is only looked at.
#include <stddef.h>

typedef struct unit_s {
  int *threadPool;
  int nb_rx;
  void (*fh_south_in)(struct unit_s *unit, int *frame, int *slot);
} unit_t;

void *ru_thread(void *param)
{
  unit_t *unit = param;
  int samples[16] __attribute__((aligned(32))) = {0};
  int frame = 0;
  for (int slot = 0; slot < 10; slot++) {
    if (unit->fh_south_in)
      unit->fh_south_in(unit, &frame, &slot);
    samples[0]++;
    unit->fh_south_in(unit, &frame, samples);
    if (unit->fh_south_in == NULL)
      samples[1]++;
  }
  return NULL;
}

void *other_thread(void *param)
{
  unit_t *unit = param;
  int frame = 0, slot = 0;
  unit->fh_south_in(unit, &frame, &slot);
  return NULL;
}
