// SPDX-License-Identifier: BSD-3-Clause
/// @file test_tpool_params.c
/// OAI's parameter string: what is read, what is refused and how that is said. The entries that are ours,
/// beside the cores: contract/settings.c, and by themselves: unit/setup/test_config.c.
#include "../../shim/common/ws_tpool_params.h"
#include "../support/ws_test.h"

static ws_tpool_params_t prepared(void)
{
  return (ws_tpool_params_t){.settings = test_settings(1)};
}

/// @return whether @p text gives exactly these cores
static bool gives(const char *text, uint32_t count, const int32_t *cores, bool says_inline)
{
  ws_tpool_params_t params = prepared();
  if (ws_tpool_params_read(&params, text) != 0)
    return false;
  const bool same = params.count == count && params.says_inline == says_inline
                    && (count == 0 || memcmp(params.cores, cores, count * sizeof(*cores)) == 0);
  ws_tpool_params_free(&params);
  return same && test_warnings.count == 0;
}

static bool refuses(const char *text, const char *said)
{
  ws_tpool_params_t params = prepared();
  const int result = ws_tpool_params_read(&params, text);
  if (result == 0)
    ws_tpool_params_free(&params);
  return result == -EINVAL && test_warnings_with(said) == 1 && params.cores == NULL;
}

TEST_CASE(lists)
{
  CU_ASSERT_TRUE(gives("", 0, NULL, false));
  CU_ASSERT_TRUE(gives("n", 0, NULL, true));
  CU_ASSERT_TRUE(gives("N", 0, NULL, true));
  CU_ASSERT_TRUE(gives("none", 0, NULL, true));
  CU_ASSERT_TRUE(gives("1,2,-1,1023", 4, (int32_t[]){1, 2, -1, 1023}, false));
  CU_ASSERT_TRUE(gives(" 3 ,\t4\n", 2, (int32_t[]){3, 4}, false));
  CU_ASSERT_TRUE(gives("n,1", 1, (int32_t[]){1}, true));
  CU_ASSERT_TRUE(gives(",+5,, -1 ,007,", 3, (int32_t[]){5, -1, 7}, false));
}

TEST_CASE(bad_entries_are_named)
{
  CU_ASSERT_TRUE(refuses("1,x,2", "entry 2 \"x\""));
  CU_ASSERT_TRUE(refuses("-3", "entry 1 \"-3\" is below -1"));
  CU_ASSERT_TRUE(refuses("0,1,99999999999999999999", "entry 3 \"99999999999999999999\""));
  CU_ASSERT_TRUE(refuses("1024", "0 to 1023"));
  CU_ASSERT_TRUE(refuses("1;2", "entry 1 \"1;2\""));
  CU_ASSERT_TRUE(refuses("2-4", "entry 1 \"2-4\""));
  CU_ASSERT_TRUE(refuses("1,2 3", "entry 2 \"2 3\""));
  CU_ASSERT_TRUE(refuses("-", "entry 1 \"-\""));
  CU_ASSERT_TRUE(refuses("1,- 1", "entry 2 \"- 1\""));
  CU_ASSERT_TRUE(refuses("--1", "entry 1 \"--1\""));
  CU_ASSERT_TRUE(refuses("0x3", "entry 1 \"0x3\""));
  CU_ASSERT_TRUE(refuses("-1,4294967296", "entry 2 \"4294967296\""));
  CU_ASSERT_TRUE(refuses("spin=auto,spi=off", "entry 2 \"spi=off\""));
  CU_ASSERT_TRUE(refuses("1,cpu_max=5", "entry 2 \"cpu_max=5\""));
  CU_ASSERT_TRUE(refuses("spin=auto,1x", "entry 2 \"1x\""));
  CU_ASSERT_TRUE(refuses("1,x,spin=on,-2", "entry 2 \"x\" is not a core"));
  CU_ASSERT_TRUE(test_warnings.count == 3 && test_warnings_with("entry 4 \"-2\" is below") == 1);
}

TEST_CASE(a_long_entry_is_cut_in_the_message)
{
  char text[2000];
  memset(text, 'z', sizeof(text) - 1);
  text[sizeof(text) - 1] = '\0';
  CU_ASSERT_TRUE(refuses(text, "entry 1 \"zzz"));
  CU_ASSERT_EQUAL(test_warnings_with("zzz\" is not a core's number, -1 or n"), 1);
}

/// @return whether the list is shown as @p shown in @p bytes bytes
static bool shows(const char *text, size_t bytes, const char *shown)
{
  ws_tpool_params_t params = prepared();
  char out[64] = "";
  CU_ASSERT_EQUAL_FATAL(ws_tpool_params_read(&params, text), 0);
  ws_tpool_params_text(&params, out, bytes);
  ws_tpool_params_free(&params);
  return strlen(out) < bytes && strcmp(out, shown) == 0;
}

TEST_CASE(a_list_in_short)
{
  CU_ASSERT_TRUE(shows("n", 64, "") && shows("7", 64, "7") && shows("2,3,-1", 64, "2,3,-1"));
  CU_ASSERT_TRUE(shows("-1,-1,-1,-1", 64, "-1 x4") && shows("1,spin=auto,1,2,2,-1", 64, "1 x2,2 x2,-1"));
  CU_ASSERT_TRUE(shows("1023,1022,1021,1020,1019", 32, "1023,1022,1021,..."));
}

TEST_CASE(entries_are_numbered_as_they_stand)
{
  ws_tpool_params_t params = prepared();
  CU_ASSERT_EQUAL_FATAL(ws_tpool_params_read(&params, ",4,n,spin=off,-1,,9"), 0);
  CU_ASSERT_EQUAL_FATAL(params.count, 3);
  CU_ASSERT_TRUE(params.entry[0] == 2 && params.entry[1] == 5 && params.entry[2] == 7);
  ws_tpool_params_free(&params);
}

TEST_MAIN("tpool_params")
