// SPDX-License-Identifier: BSD-3-Clause
/// A group's function with what spatch finds hard to parse, and one whose group has another place.
#include <stdint.h>

#define make_2d(type, name, memory, columns) type(*name)[columns] = (type(*)[columns])(memory)
#define share(cell, kind)                                                                                    \
  if ((cell)->kind) {                                                                                        \
  }

typedef struct {
  int power;
} user_t;
typedef struct {
  user_t *pusch_vars;
  int rx_pusch_symbol_processing_stats, rx_pusch_init_stats, scope;
} cell_t;
void start_meas(int *meter);
void stop_meas(int *meter);

int nr_rx_pusch_group_tp(cell_t *cell, user_t **users, const int **shares, uint8_t group_size, uint32_t frame,
                         uint8_t slot)
{
  int16_t sequences[group_size][slot + 96] __attribute__((aligned(32)));
  __attribute__((aligned(64))) int16_t estimates[2][group_size];
  int16_t *rows[group_size];
  make_2d(unsigned int, table, shares[0], 2);
  start_meas(&cell->rx_pusch_init_stats);
#if TRACED
  if (cell->scope)
    rows[0] = 0;
#endif
  for (int i = 0; i < group_size; i++) {
    rows[i] = sequences[i];
    estimates[0][i] = (int16_t)(table[0][0] + rows[i][0]);
  }
  stop_meas(&cell->rx_pusch_init_stats);
  start_meas(&cell->rx_pusch_symbol_processing_stats);
  users[0]->power = estimates[0][0];
  stop_meas(&cell->rx_pusch_symbol_processing_stats);
  share(cell, scope) return 0;
}

int nr_rx_pusch_group(user_t **users, cell_t *cell, uint32_t frame, uint8_t slot)
{
  start_meas(&cell->rx_pusch_symbol_processing_stats);
  stop_meas(&cell->rx_pusch_symbol_processing_stats);
  return users[0]->power;
}
