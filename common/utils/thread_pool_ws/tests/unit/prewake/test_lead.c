// SPDX-License-Identifier: BSD-3-Clause
/// @file test_lead.c
/// The decision for a timer, against the best there is, over many machines drawn at random: whether to set
/// one, how early, how long to wait. It is made from a window of samples and judged on others.
#include <math.h>

#include "../../../prewake/ws_prewake_state.h"
#include "../../support/ws_series.h"
#include "../../support/ws_test.h"

#define MACHINES 300u
#define FRESH 1000u
#define NO_BOUND 1e18

/// How long this machine takes to wake a worker, and how its bursts jitter.
typedef struct {
  double median_ns, spread; ///< of W: log-uniform around its median
  double second, factor; ///< share of the wakes that take so many times as long
  double jitter_ns; ///< J is uniform in +-this
  double price, occupancy;
} machine_t;

static machine_t any_machine(uint64_t *random)
{
  static const double prices[] = {1, 2, 5, 5, 10, 20};
  machine_t machine = {.median_ns = 2000 * pow(100, series_uniform(random)), // 2 .. 200 us
                       .spread = 1 + series_uniform(random),
                       .jitter_ns = 50000 * series_uniform(random),
                       .price = prices[test_random(random) % TEST_COUNT(prices)],
                       .occupancy = 1};
  if (series_uniform(random) < 0.4) {
    machine.second = 0.3 * series_uniform(random);
    machine.factor = 3 + 9 * series_uniform(random);
  }
  return machine;
}

static double any_waking_ns(const machine_t *machine, uint64_t *random)
{
  const double ns = machine->median_ns * pow(machine->spread, 2 * series_uniform(random) - 1);
  return series_uniform(random) < machine->second ? ns * machine->factor : ns;
}

static double any_late_ns(const machine_t *machine, uint64_t *random)
{
  return machine->jitter_ns * (2 * series_uniform(random) - 1);
}

/// What a worker has learnt on a machine, and bursts that come after that.
typedef struct {
  machine_t machine;
  ws_lead_t lead;
  ws_window_t late;
  ws_lead_case_t how;
  double waking_ns[FRESH], late_ns[FRESH];
  bool comes[FRESH];
} trial_t;

static void draw(trial_t *trial, const machine_t *machine, uint64_t *random)
{
  memset(trial, 0, sizeof(*trial));
  trial->machine = *machine;
  double sum = 0;
  for (uint32_t i = 0; i < WS_WINDOW_SAMPLES; i++) {
    const double waking_ns = any_waking_ns(machine, random), late_ns = any_late_ns(machine, random);
    ws_lead_learn(&trial->lead, (int64_t)(waking_ns - late_ns), true, true, true);
    ws_window_add(&trial->late, (int64_t)late_ns);
    sum += waking_ns;
  }
  for (uint32_t i = 0; i < FRESH; i++) {
    trial->waking_ns[i] = any_waking_ns(machine, random);
    trial->late_ns[i] = any_late_ns(machine, random);
    trial->comes[i] = series_uniform(random) < machine->occupancy;
  }
  trial->how = (ws_lead_case_t){.price = machine->price,
                                .occupancy = machine->occupancy,
                                .errors = &trial->late,
                                .react_ns = sum / WS_WINDOW_SAMPLES,
                                .spin_ns_max = NO_BOUND};
}

static trial_t trial;

/// The cost of each period: lateness times spin_price, and CPU time without work.
static double policy_cost(const trial_t *from, double lead_ns, double wait_ns)
{
  const double react_ns = from->how.react_ns, price = from->machine.price;
  double sum = 0;
  for (uint32_t i = 0; i < FRESH; i++) {
    const double awake_ns = from->waking_ns[i] - lead_ns, late_ns = from->late_ns[i];
    if (!from->comes[i])
      sum += fmax(0, wait_ns - awake_ns) + react_ns;
    else if (awake_ns > late_ns)
      sum += price * fmin(awake_ns - late_ns, react_ns);
    else if (late_ns <= wait_ns)
      sum += late_ns - awake_ns;
    else
      sum += fmax(0, wait_ns - awake_ns) + (price + 1) * react_ns;
  }
  return sum / FRESH;
}

/// The cost without timer wakes.
static double asleep_cost(const trial_t *from)
{
  double sum = 0;
  for (uint32_t i = 0; i < FRESH; i++)
    sum += from->comes[i] ? from->machine.price * from->how.react_ns : 0;
  return sum / FRESH;
}

static double least_cost(const trial_t *from)
{
  const double jitter_ns = from->machine.jitter_ns;
  const double far_ns = 2 * from->machine.median_ns * (1 + from->machine.factor) + 2 * jitter_ns;
  double least = asleep_cost(from);
  for (uint32_t lead = 0; lead < 40; lead++)
    for (uint32_t wait = 0; wait < 6; wait++)
      least = fmin(least, policy_cost(from, far_ns * lead / 40 - jitter_ns,
                                      jitter_ns * (wait < 5 ? 1 - wait / 2. : 1.5)));
  return least;
}

/// The whole decision: whether to set a timer, how early, how long to wait; also for bursts that do not all
/// come.
TEST_CASE(a_timer_wake_is_worth_it)
{
  uint64_t random = series_seed();
  double ratios = 0, worst_loss = 0;
  uint32_t opened = 0, lost = 0;
  for (uint32_t i = 0; i < MACHINES; i++) {
    machine_t machine = any_machine(&random);
    machine.occupancy = i % 2 ? 1 : 0.1 + 0.9 * series_uniform(&random);
    draw(&trial, &machine, &random);
    const ws_lead_choice_t choice = ws_lead_choose(&trial.lead, &trial.how);
    const double asleep = asleep_cost(&trial);
    const bool open = ws_lead_gate(&trial.lead, &choice);
    const double cost = open ? policy_cost(&trial, (double)choice.lead_ns, (double)choice.wait_ns) : asleep;
    ratios += cost / least_cost(&trial);
    opened += open;
    lost += cost > 1.05 * asleep;
    worst_loss = fmax(worst_loss, cost / asleep);
  }
  printf("mean %.3f of the least cost; %u of %u set a timer, for %u it is a loss, at worst %.2f times ",
         ratios / MACHINES, opened, MACHINES, lost, worst_loss);
  CU_ASSERT_TRUE(ratios / MACHINES < 1.15);
  CU_ASSERT_TRUE(opened > MACHINES / 4 && opened < MACHINES);
  CU_ASSERT_TRUE(lost <= MACHINES / 50);
}

/// @return whether a worker sets a timer on a machine with these numbers, when all is learnt
static bool opens(double waking_us, double jitter_us, double occupancy, double price)
{
  uint64_t random = series_seed();
  const machine_t machine = {.median_ns = 1000 * waking_us,
                             .spread = 1.2,
                             .jitter_ns = 1000 * jitter_us,
                             .price = price,
                             .occupancy = occupancy};
  draw(&trial, &machine, &random);
  const ws_lead_choice_t choice = ws_lead_choose(&trial.lead, &trial.how);
  return ws_lead_gate(&trial.lead, &choice);
}

TEST_CASE(the_gate)
{
  static const struct {
    double waking_us, jitter_us, occupancy, price;
    bool opens;
  } rows[] = {
      {50, 5, 1, 5, true}, // a slow machine, regular bursts
      {50, 20, 0.9, 5, true},   {2, 50, 1, 5, false}, // it wakes faster than the burst can be known
      {2, 1, 1, 5, true},       {3, 10, 0.2, 5, false}, // seldom, and little to win
      {50, 20, 0.05, 5, false}, // nearly never
      {100, 5, 0.5, 20, true}, // every other time, but it matters
  };
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++)
    CU_ASSERT_EQUAL(opens(rows[i].waking_us, rows[i].jitter_us, rows[i].occupancy, rows[i].price),
                    rows[i].opens);
}

TEST_CASE(no_timer_for_a_burst_that_is_over_at_once)
{
  static const struct {
    double length_us, call_us;
    bool gains;
  } rows[] = {{1, 0, false},
              {1, 10, true}, // its push would call a worker
              {20, 0, true},
              {1000, 0, true},
              {0, 0, true}}; // not known
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    CU_ASSERT_TRUE(opens(50, 5, 1, 5));
    trial.how.length_ns = 1000 * rows[i].length_us;
    trial.how.call_ns = 1000 * rows[i].call_us;
    CU_ASSERT_EQUAL(ws_lead_choose(&trial.lead, &trial.how).gain_ns > 0, rows[i].gains);
  }
}

TEST_CASE(who_finds_nothing_stays_asleep)
{
  CU_ASSERT_TRUE(opens(50, 5, 1, 5));
  ws_lead_choice_t choice;
  uint32_t bursts = 0;
  uint64_t random = series_seed();
  do {
    const int64_t early_ns = 40000 + (int64_t)(test_random(&random) % 20000);
    ws_lead_learn(&trial.lead, early_ns, true, false, true); // others had taken all
    choice = ws_lead_choose(&trial.lead, &trial.how);
  } while (ws_lead_gate(&trial.lead, &choice) && ++bursts < 200);
  CU_ASSERT_TRUE(bursts > 4 && bursts < 100);
  const double useful = trial.lead.useful;
  ws_lead_learn(&trial.lead, 50000, true, false, false); // it was too late to say so
  CU_ASSERT_TRUE(trial.lead.useful >= useful && trial.lead.useful <= useful);
  for (bursts = 0; !ws_lead_gate(&trial.lead, &choice) && bursts < 100; bursts++) {
    ws_lead_learn(&trial.lead, 50000, true, true, true);
    choice = ws_lead_choose(&trial.lead, &trial.how);
  }
  CU_ASSERT_TRUE(bursts < 64);
}

TEST_CASE(the_gate_has_inertia)
{
  static const int64_t gain_ns[] = {99, 101, -99, -101, 99};
  static const bool opens_at[] = {false, true, true, false, false};
  ws_lead_t lead = {0};
  for (uint32_t i = 0; i < TEST_COUNT(gain_ns); i++) {
    const ws_lead_choice_t choice = {.cost_ns = 800, .gain_ns = gain_ns[i]};
    CU_ASSERT_EQUAL(ws_lead_gate(&lead, &choice), opens_at[i]);
  }
}

TEST_CASE(no_more_cpu_than_allowed)
{
  uint64_t random = series_seed();
  for (uint32_t i = 0; i < MACHINES; i++) {
    machine_t machine = any_machine(&random);
    machine.occupancy = i % 2 ? 1 : 0.1 + 0.9 * series_uniform(&random);
    draw(&trial, &machine, &random);
    const ws_lead_choice_t freely = ws_lead_choose(&trial.lead, &trial.how);
    for (uint32_t none = 0; none < 2; none++) {
      trial.how.spin_ns_max = none ? 0 : freely.cost_ns * series_uniform(&random);
      const ws_lead_choice_t bounded = ws_lead_choose(&trial.lead, &trial.how);
      CU_ASSERT_FALSE(ws_lead_gate(&trial.lead, &bounded) && bounded.cost_ns > trial.how.spin_ns_max);
      CU_ASSERT_TRUE(bounded.lead_ns <= freely.lead_ns);
    }
  }
}

/// A timer that was learnt from before there were enough samples must not keep pushes from filling them up.
TEST_CASE(few_samples_of_a_timer_are_filled_up_by_pushes)
{
  ws_lead_t lead = {0};
  ws_lead_learn(&lead, 20000, true, true, true);
  for (uint32_t i = 1; i < WS_LEAD_SAMPLES_MIN; i++)
    ws_lead_learn(&lead, 20000, false, true, false);
  CU_ASSERT_EQUAL(lead.early.count, WS_LEAD_SAMPLES_MIN);
  ws_lead_learn(&lead, 20000, false, true, false);
  CU_ASSERT_EQUAL(lead.early.count, WS_LEAD_SAMPLES_MIN); // from now on timers only
}

TEST_MAIN("lead")
