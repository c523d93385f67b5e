// SPDX-License-Identifier: BSD-3-Clause
/// @file measurement_display.c
/// Reads elements as raw bytes, so both headers must lay them out alike. It stands beside the header and so
/// keeps the tree's own, whatever stands before it in the include path.
#include <stddef.h>

#include "thread-pool.h"

#ifndef MODEL_OWN_POOL
#error "the header beside this file was not taken"
#endif

int main(void)
{
  printf("element: %zu bytes, key %zu, returnTime %zu, msgData %zu\n", sizeof(notifiedFIFO_elt_t),
         offsetof(notifiedFIFO_elt_t, key), offsetof(notifiedFIFO_elt_t, returnTime),
         offsetof(notifiedFIFO_elt_t, msgData));
  return 0;
}
