// SPDX-License-Identifier: BSD-3-Clause
/// @file nr-ru.c
/// The thread of a radio unit: front end, then the base station's slot.
#define _GNU_SOURCE // as OAI's does: whatever comes before this file must leave it in time
#include <sched.h>

#include "openair1/uplink.h"

static void fep(RU_t *ru, int slot)
{
  ru->sum = ru->sum * 31 + ulsch_burst(ru->threadPool, (uint32_t)(2 * ru->nb_rx), (uint64_t)slot);
}

static void receive(RU_t *ru, int *slot)
{
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(1, &cpus);
  ru->sum += (uint64_t)CPU_COUNT(&cpus) + (uint64_t)*slot;
}

static void *ru_thread(void *param)
{
  RU_t *ru = param;
  for (int slot = 0; slot < 20; slot++) {
    if (ru->fh_south_in)
      ru->fh_south_in(ru, &slot);
    else
      return NULL;
    if (ru->feprx) {
      ru->feprx(ru, slot);
    }
    if (ru->gNB_list[0])
      l1_slot(ru->gNB_list[0], 3, slot);
  }
  return NULL;
}

uint64_t radio_slots(tpool_t *pool)
{
  static PHY_VARS_gNB cell = {.max_nb_pusch = USERS_MAX};
  RU_t with = {.threadPool = pool, .nb_rx = 2, .gNB_list = {&cell}, .fh_south_in = receive, .feprx = fep};
  RU_t without = {.threadPool = pool, .nb_rx = 1, .fh_south_in = receive, .feprx = fep};
  DECODING_INIT(&cell);
  initFloatingCoresTpool(2, &cell.threadPool, false, "gNB-tpool");
  ru_thread(&with);
  ru_thread(&without);
  abortTpool(&cell.threadPool);
  return (with.sum * 31 + without.sum) * 31 + cell.sum;
}
