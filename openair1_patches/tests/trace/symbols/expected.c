// SPDX-License-Identifier: BSD-3-Clause
/// Two pairs in a function that spatch cannot parse without macros.h, and what is not to be touched.
#include <stdint.h>

typedef struct {
  int rx_pusch_symbol_processing_stats, rx_pusch_init_stats;
} cell_t;
void start_meas(int *meter);
void stop_meas(int *meter);

int nr_rx_pusch_tp(cell_t *cell, uint8_t ulsch_id, uint32_t frame, uint8_t slot, int beam)
{
  int16_t scratch[64] __attribute__((aligned(32))) = {0};
  start_meas(&cell->rx_pusch_init_stats);
  scratch[0] = (int16_t)beam;
  stop_meas(&cell->rx_pusch_init_stats);
  start_meas(&cell->rx_pusch_symbol_processing_stats);
  WS_OAI_SYMBOLS_BEGIN(frame, slot, ulsch_id);
  scratch[1]++;
  WS_OAI_SYMBOLS_END();
  stop_meas(&cell->rx_pusch_symbol_processing_stats);
  if (beam > 0) {
    start_meas(&cell[1].rx_pusch_symbol_processing_stats);
    WS_OAI_SYMBOLS_BEGIN(frame, slot, ulsch_id);
    start_meas(&(cell + 1)->rx_pusch_symbol_processing_stats);
    WS_OAI_SYMBOLS_BEGIN(frame, slot, ulsch_id);
    scratch[2]++;
    WS_OAI_SYMBOLS_END();
    stop_meas(&(cell + 1)->rx_pusch_symbol_processing_stats);
  }
  return scratch[0];
}

int nr_rx_pucch(cell_t *cell, uint8_t ulsch_id, uint32_t frame, uint8_t slot)
{
  start_meas(&cell->rx_pusch_symbol_processing_stats);
  stop_meas(&cell->rx_pusch_symbol_processing_stats);
  return 0;
}
