// SPDX-License-Identifier: BSD-3-Clause
/// @file quote.h
/// A stock quote, and how it is got from a server: HTTP/1.0 on loopback, plain sockets.
#ifndef QUOTE_H
#define QUOTE_H

#include <stdbool.h>
#include <stdint.h>

#define QUOTE_SYMBOL_MAX 15
#define QUOTE_COMPANY_MAX 23

/// One symbol's. The first part is the caller's, the second the result.
typedef struct {
  char symbol[QUOTE_SYMBOL_MAX + 1];
  uint16_t port;
  uint32_t timeout_ms; ///< for the whole request
  bool marked; ///< the pool is told about the waits (ws_blocking_begin)

  char error[96]; ///< "" = the fields below are valid
  char company[QUOTE_COMPANY_MAX + 1]; ///< a longer name is an error
  double cap_millions;
  double price;
  double change_percent;
} quote_t;

/// @brief Ask the server, and wait for its answer.
void quote_get(quote_t *quote);

#endif
