// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_memory.c
/// sim_memory.h. Each access to an atomic word is a scheduling point, and takes time:
///
///   load    from the own cache, or one transfer of the line from the CPU that wrote it last
///   store   goes to a buffer; the line comes to this CPU meanwhile. A fence waits for that
///   modify  waits for the buffer and for the line
///   prefetch  of a line: it comes to this CPU meanwhile. The next load, of whatever line, waits for it
///
/// Transfers of one line come one after the other. Lines that are never fought over cost local_ns.
#include "sim_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_fault.h"
#include "sim_seam_points.h"

typedef struct {
  uintptr_t address; ///< of the line; 0 = unused
  uint32_t owner; ///< CPU + 1 that wrote it last; 0 = none
  sim_ps_t busy_ps; ///< when the transfer under way ends
  uint64_t shared[SIM_CPU_WORDS]; ///< CPUs that have a copy
} line_t;

static struct {
  line_t *line;
  size_t count, capacity; ///< capacity: 2^k
} lines;

static line_t *slot_of(uintptr_t address)
{
  size_t at = (size_t)((address * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & (lines.capacity - 1);
  while (lines.line[at].address != 0 && lines.line[at].address != address)
    at = (at + 1) & (lines.capacity - 1);
  return &lines.line[at];
}

void sim_memory_forget(const void *memory, size_t bytes)
{
  const uintptr_t first = (uintptr_t)memory / 64 + 1;
  for (size_t i = 0; i < lines.capacity; i++)
    if (lines.line[i].address - first < bytes / 64)
      lines.line[i] = (line_t){.address = lines.line[i].address};
}

static void grow(void)
{
  line_t *old = lines.line;
  const size_t before = lines.capacity;
  lines.capacity = before > 0 ? 4 * before : 4096;
  lines.line = calloc(lines.capacity, sizeof(line_t));
  if (!lines.line) {
    fprintf(stderr, "simulate: no memory for %zu cache lines\n", lines.capacity);
    abort();
  }
  for (size_t i = 0; i < before; i++)
    if (old[i].address != 0)
      *slot_of(old[i].address) = old[i];
  free(old);
}

static line_t *line_of(const volatile void *word)
{
  const uintptr_t address = (uintptr_t)word / 64 + 1;
  if (2 * lines.count >= lines.capacity)
    grow();
  line_t *line = slot_of(address);
  if (line->address == 0) {
    line->address = address;
    lines.count++;
  }
  return line;
}

static bool has_copy(const line_t *line, uint32_t cpu)
{
  return (line->shared[cpu / 64] >> (cpu % 64)) & 1;
}

static bool is_alone(const line_t *line, uint32_t cpu)
{
  for (uint32_t word = 0; word < SIM_CPU_WORDS; word++)
    if (line->shared[word] & ~(word == cpu / 64 ? UINT64_C(1) << (cpu % 64) : 0))
      return false;
  return has_copy(line, cpu);
}

/// @return how far the farthest copy is
static double farthest_ns(const line_t *line, uint32_t cpu)
{
  double ns = line->owner ? sim_distance_ns(line->owner - 1, cpu) : 0;
  for (uint32_t word = 0; word < SIM_CPU_WORDS; word++)
    for (uint64_t copies = line->shared[word]; copies; copies &= copies - 1) {
      const double other_ns = sim_distance_ns(word * 64 + (uint32_t)__builtin_ctzll(copies), cpu);
      ns = other_ns > ns ? other_ns : ns;
    }
  return ns;
}

static sim_ps_t wait_for(const line_t *line)
{
  return line->busy_ps > sim_self->now_ps ? line->busy_ps - sim_self->now_ps : 0;
}

/// @return time until this CPU alone has the line
static sim_ps_t own(line_t *line)
{
  const uint32_t cpu = sim_self->cpu;
  if (is_alone(line, cpu) || (line->owner == 0 && !has_copy(line, cpu)))
    line->owner = cpu + 1;
  sim_ps_t ps = 0;
  if (line->owner != cpu + 1 || !is_alone(line, cpu))
    ps = line->owner == cpu + 1 && line->busy_ps == 0 ? 0 : wait_for(line) + sim_ps(farthest_ns(line, cpu));
  line->busy_ps = sim_self->now_ps + ps;
  memset(line->shared, 0, sizeof(line->shared));
  line->shared[cpu / 64] |= UINT64_C(1) << (cpu % 64);
  line->owner = cpu + 1;
  return ps;
}

static void step(sim_ps_t ps)
{
  sim_points++;
  sim_step(ps + sim_ps(sim_machine.local_ns) + sim_fault_delay_ps());
}

void sim_load(const volatile void *word)
{
  if (!sim_self)
    return;
  line_t *line = line_of(word);
  const uint32_t cpu = sim_self->cpu;
  sim_ps_t ps = 0;
  if (!has_copy(line, cpu) && line->owner)
    ps = wait_for(line) + sim_ps(sim_distance_ns(line->owner - 1, cpu));
  line->shared[cpu / 64] |= UINT64_C(1) << (cpu % 64);
  if (sim_self->fetched_ps > sim_self->now_ps + ps)
    ps = sim_self->fetched_ps - sim_self->now_ps;
  step(ps);
}

void sim_prefetch(const volatile void *word)
{
  if (!sim_self)
    return;
  line_t *line = line_of(word);
  const uint32_t cpu = sim_self->cpu;
  if (has_copy(line, cpu) || !line->owner)
    return;
  const sim_ps_t there_ps = sim_self->now_ps + wait_for(line) + sim_ps(sim_distance_ns(line->owner - 1, cpu));
  line->shared[cpu / 64] |= UINT64_C(1) << (cpu % 64);
  if (sim_self->fetched_ps < there_ps)
    sim_self->fetched_ps = there_ps;
}

void sim_store(const volatile void *word)
{
  if (!sim_self)
    return;
  const sim_ps_t done_ps = sim_self->now_ps + own(line_of(word));
  if (sim_self->stored_ps < done_ps)
    sim_self->stored_ps = done_ps;
  step(0);
}

static sim_ps_t drain(void)
{
  return sim_self->stored_ps > sim_self->now_ps ? sim_self->stored_ps - sim_self->now_ps : 0;
}

void sim_modify(const volatile void *word)
{
  if (!sim_self)
    return;
  sim_charge(drain());
  step(own(line_of(word)) + sim_ps(sim_machine.modify_ns));
}

void sim_fence(void)
{
  if (!sim_self)
    return;
  step(drain() + sim_ps(sim_machine.fence_ns));
}

void sim_pause(void)
{
  if (sim_self)
    step(sim_ps(sim_machine.pause_ns));
}

// Counts of compare-and-swaps, by place in the code.

static sim_swaps_t *first_swaps;

void sim_swapped(sim_swaps_t *site, int done)
{
  if (!sim_self)
    return;
  if (!site->is_linked) {
    site->is_linked = 1;
    site->next = first_swaps;
    first_swaps = site;
  }
  site->tries++;
  site->lost += !done;
}

const sim_swaps_t *sim_swaps_first(void)
{
  return first_swaps;
}

void sim_swaps_reset(void)
{
  for (sim_swaps_t *site = first_swaps; site; site = site->next)
    site->tries = site->lost = 0;
}
