// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_page_null.c
/// ws_page.h for pools without a page: links in place of ws_page.c.
#include "../../page/ws_page.h"

void ws_page_begin(struct ws_pool_s *pool) {}

void ws_page_end(struct ws_pool_s *pool) {}
