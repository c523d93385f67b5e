// SPDX-License-Identifier: BSD-3-Clause
/// Each call of the front end in the radio unit's thread, also one that is a branch without braces; not those
/// of other threads.
#include <stddef.h>

typedef struct cell_s {
  int threadPool;
} cell_t;
typedef struct unit_s {
  int *threadPool;
  int nb_rx;
  cell_t *gNB_list[2];
  void (*feprx)(struct unit_s *unit, int slot);
} unit_t;

void *ru_thread(void *param)
{
  unit_t *unit = param;
  int samples[16] __attribute__((aligned(32))) = {0};
  for (int slot = 0; slot < 10; slot++) {
    if (unit->feprx) {
      WS_OAI_PREWAKE_RU(unit);
      unit->feprx(unit, slot);
      samples[0]++;
    }
    if (samples[0] > 5) {
      WS_OAI_PREWAKE_RU(unit);
      unit->feprx(unit, slot + 1);
    }
  }
  return NULL;
}

void *other_thread(void *param)
{
  unit_t *unit = param;
  unit->feprx(unit, 0);
  return NULL;
}
