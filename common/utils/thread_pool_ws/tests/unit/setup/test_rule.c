// SPDX-License-Identifier: BSD-3-Clause
/// @file test_rule.c
/// Rules for functions as text, and functions found by their names.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../pool/ws_rules.h"
#include "../../../setup/ws_rule.h"
#include "../../support/ws_test.h"

/// Static: only the file's symbol table names it.
static __attribute__((noinline, used)) void rule_test_static(void *counter)
{
  test_count_task(counter);
}

static void good_entries(void)
{
  ws_settings_t settings = test_settings(1);
  const char *list = "limit=measure_neighbours:2, PRIO=measure_neighbours:Low,prio=decode:high,limit=x:1";
  CU_ASSERT_EQUAL(ws_settings_list(&settings, list, NULL, NULL), 0);
  CU_ASSERT_EQUAL(test_warnings.count, 0);
  CU_ASSERT_EQUAL(settings.rules, 3);
  CU_ASSERT_STRING_EQUAL(settings.rule[0].name, "measure_neighbours");
  CU_ASSERT_EQUAL(settings.rule[0].limit, 2);
  CU_ASSERT_TRUE(settings.rule[0].has_priority);
  CU_ASSERT_EQUAL(settings.rule[0].priority, WS_PRIORITY_LOW);
  CU_ASSERT_STRING_EQUAL(settings.rule[1].name, "decode");
  CU_ASSERT_EQUAL(settings.rule[1].limit, 0);
  CU_ASSERT_EQUAL(settings.rule[1].priority, WS_PRIORITY_HIGH);
  CU_ASSERT_EQUAL(settings.rule[2].limit, 1);
  CU_ASSERT_FALSE(settings.rule[2].has_priority);
  CU_ASSERT_EQUAL(settings.priority, WS_PRIORITY_NORMAL); // prio= of a function is not that of all
}

static void bad_entries(void)
{
  static const struct {
    const char *entry, *error;
  } bad[] = {
      {"limit=foo", "entry 1 \"limit=foo\" is invalid: a number from 1 to 1024 is expected after ':'"},
      {"limit=foo:", "a number from 1 to 1024"},
      {"limit=foo:0", "a number from 1 to 1024"},
      {"limit=foo:2x", "a number from 1 to 1024"},
      {"limit=foo:1025", "a number from 1 to 1024"},
      {"limit=foo:99999999999999", "\"limit=foo:99999999999999\" is invalid"},
      {"limit=:2", "the name of a function"},
      {"limit=", "the name of a function"},
      {"limit=2foo:2", "the name of a function"},
      {"limit=a b:2", "the name of a function"},
      {"prio=foo:", "high, normal or low is expected after ':'"},
      {"prio=foo:urgent", "high, normal or low is expected after ':'"},
  };
  for (uint32_t i = 0; i < TEST_COUNT(bad); i++) {
    ws_settings_t settings = test_settings(1);
    CU_ASSERT_EQUAL(ws_settings_list(&settings, bad[i].entry, NULL, NULL), -EINVAL);
    CU_ASSERT_EQUAL(test_warnings.count, 1);
    CU_ASSERT_EQUAL(test_warnings_with(bad[i].error), 1);
    CU_ASSERT_EQUAL(settings.rules, 0);
  }
}

static void too_many(void)
{
  ws_settings_t settings = test_settings(1);
  const char *list =
      "limit=a:1,limit=b:1,limit=c:1,limit=d:1,limit=e:1,limit=f:1,limit=g:1,limit=h:1,limit=i:1";
  CU_ASSERT_EQUAL(ws_settings_list(&settings, list, NULL, NULL), -EINVAL);
  CU_ASSERT_EQUAL(settings.rules, WS_RULES_MAX);
  CU_ASSERT_EQUAL(test_warnings_with("entry 9 \"limit=i:1\" is ignored"), 1);
}

static void the_environment(void)
{
  setenv("TPOOL_WS_RULES", "limit=foo:3,,prio=bar:low,spin=off,limit=baz", 1);
  ws_settings_t settings = test_settings(1);
  settings.spin = WS_SPIN_HOT;
  ws_settings_environment(&settings);
  unsetenv("TPOOL_WS_RULES");
  CU_ASSERT_EQUAL(settings.rules, 2);
  CU_ASSERT_EQUAL(settings.rule[0].limit, 3);
  CU_ASSERT_EQUAL(settings.spin, WS_SPIN_HOT);
  CU_ASSERT_EQUAL(test_warnings.count, 2);
  CU_ASSERT_EQUAL(test_warnings_with("TPOOL_WS_RULES: \"spin=off\" is no rule"), 1);
  CU_ASSERT_EQUAL(test_warnings_with("TPOOL_WS_RULES: \"limit=baz\" is invalid"), 1);
}

static void functions_by_name(void)
{
  uintptr_t found[4] = {0};
  CU_ASSERT_EQUAL(ws_symbols_find("rule_test_static", found, 4), 1);
  CU_ASSERT_EQUAL(found[0], (uintptr_t)rule_test_static);
  CU_ASSERT_EQUAL(ws_symbols_find("test_count_task", found, 4), 1);
  CU_ASSERT_EQUAL(found[0], (uintptr_t)test_count_task);
  CU_ASSERT_EQUAL(ws_symbols_find("rule_test_stati", found, 4), 0);
  CU_ASSERT_EQUAL(ws_symbols_find("rule_test_static2", found, 4), 0);
}

static void a_pool_resolves_names(void)
{
  ws_settings_t settings = test_settings(1);
  CU_ASSERT_EQUAL(
      ws_settings_list(&settings, "limit=rule_test_static:1,limit=no_such_function:2", NULL, NULL), 0);
  ws_pool_t *pool = test_create(&settings);
  CU_ASSERT_EQUAL(test_warnings.count, 1);
  CU_ASSERT_EQUAL(test_warnings_with("no function \"no_such_function\" in the program"), 1);
  CU_ASSERT_EQUAL(pool->tasks.limits, 1);
  const ws_ruled_t *rule = ws_rules_find(pool, &(ws_task_t){.func = rule_test_static});
  CU_ASSERT_PTR_NOT_NULL(rule);
  CU_ASSERT_TRUE(rule && rule->limit == 1 && !rule->has_priority);
  CU_ASSERT_PTR_NULL(ws_rules_find(pool, &(ws_task_t){.func = test_count_task}));
  ws_au64_t count;
  ws_init_store(&count, 0);
  for (uint32_t i = 0; i < 10; i++)
    test_push(pool, rule_test_static, &count, NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&count), 10);
  test_destroy(pool);
}

static void no_function_no_table(void)
{
  ws_settings_t settings = test_settings(1);
  CU_ASSERT_EQUAL(ws_settings_list(&settings, "limit=no_such_function:2", NULL, NULL), 0);
  ws_pool_t *pool = test_create(&settings);
  CU_ASSERT_PTR_NULL(pool->rules);
  CU_ASSERT_EQUAL(test_warnings.count, 1);
  test_destroy(pool);
}

static void settings_that_are_wrong(void)
{
  ws_pool_t *pool;
  ws_settings_t settings = test_settings(1);
  settings.rules = WS_RULES_MAX + 1;
  CU_ASSERT_EQUAL(ws_pool_create(&pool, &settings), -EINVAL);
  CU_ASSERT_EQUAL(test_warnings_with("setting rules = 9 is out of range (0 .. 8)"), 1);
  settings = test_settings(1);
  settings.rules = 1;
  CU_ASSERT_EQUAL(ws_pool_create(&pool, &settings), -EINVAL);
  CU_ASSERT_EQUAL(test_warnings_with("setting rule[0] has neither a function nor a name"), 1);
  settings = test_settings(1);
  settings.rules = 1;
  settings.rule[0] = (ws_rule_t){.func = test_empty_task, .limit = WS_WORKERS_MAX + 1};
  CU_ASSERT_EQUAL(ws_pool_create(&pool, &settings), -EINVAL);
  CU_ASSERT_EQUAL(test_warnings_with("setting rule[0]: limit 1025 or priority 0 is out of range"), 1);
}

TEST_MAIN("rule", TEST_CASE(good_entries), TEST_CASE(bad_entries), TEST_CASE(too_many),
          TEST_CASE(the_environment), TEST_CASE(functions_by_name), TEST_CASE(a_pool_resolves_names),
          TEST_CASE(no_function_no_table), TEST_CASE(settings_that_are_wrong))
