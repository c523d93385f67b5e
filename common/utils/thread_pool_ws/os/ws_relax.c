// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_relax.c
/// ws_relax.h. With ws_process.c the only file with state of the process: all pools have the same CPUs.
///
/// The instructions stand as bytes, because they are younger than some assemblers; ws_relax_choose() sees to
/// it that none is reached where it does not exist.
#include "ws_relax.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdio.h>

#include "../base/ws_base.h"
#include "ws_os.h"

#define PAUSES_NS 100u ///< length of an iteration made of pauses
#define LOW_POWER_NS 150u ///< length of a low-power wait, without the time to enter and leave it
#define CALIBRATE_NS 12000u ///< of three tries the shortest counts: an interruption makes a try longer
#define TRIES 3u
#define LOOKS_MAX 4096u ///< at a clock that stands
#define WAITS_MEASURED 9u
#define PAUSES_MEASURED 64u
#define PAUSES_MAX 1000u
#define PAUSES_UNKNOWN 4u
#define CPUID_7_ECX_WAITPKG (1u << 5)
#define CPUID_80000001_ECX_MONITORX (1u << 29)
#define HWCAP2_WITH_WFXT ((uint64_t)1 << 31)

static struct {
  /// S the kind in the upper half, in the lower half how many pauses or ticks
  ws_au64_t wait;
  pthread_once_t once;
  char name[16]; ///< I
  /// Watched by MWAITX and never written, so that the wait ends by its timer.
  alignas(WS_SPACING) char watched[WS_SPACING];
} relax = {.once = PTHREAD_ONCE_INIT, .name = "pause"};

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#include <sys/prctl.h>

#define PAUSE_NAME "pause"

static void read_machine(ws_relax_machine_t *machine)
{
  unsigned int a, b, c, d;
  machine->cpuid_7_ecx = __get_cpuid_count(7, 0, &a, &b, &c, &d) ? c : 0;
  machine->cpuid_80000001_ecx = __get_cpuid(0x80000001u, &a, &b, &c, &d) ? c : 0;
  int access = PR_TSC_ENABLE;
  machine->ticks_denied = prctl(PR_GET_TSC, &access) == 0 && access != PR_TSC_ENABLE;
}

static uint64_t now_ticks(void)
{
  return __builtin_ia32_rdtsc();
}

static void wait_low_power(uint32_t kind, uint32_t ticks)
{
  if (kind == WS_RELAX_TPAUSE) {
    const uint64_t end = now_ticks() + ticks;
    // tpause ecx; 1 = the lighter state C0.1: the deeper one takes longer to leave than an iteration lasts
    __asm__ volatile(".byte 0x66, 0x0f, 0xae, 0xf1"
                     :
                     : "c"(1), "a"((uint32_t)end), "d"((uint32_t)(end >> 32))
                     : "cc", "memory");
  } else {
    __asm__ volatile(".byte 0x0f, 0x01, 0xfa" : : "a"(relax.watched), "c"(0), "d"(0) : "memory"); // monitorx
    // mwaitx; ecx bit 1 = ebx holds a time limit; eax bits 7..4 all set = no C-state, which would be slow to
    // leave
    __asm__ volatile(".byte 0x0f, 0x01, 0xfb" : : "a"(0xf0), "b"(ticks), "c"(2) : "memory");
  }
}

#elif defined(__aarch64__)
#include <sys/auxv.h>

#define PAUSE_NAME "isb"

static void read_machine(ws_relax_machine_t *machine)
{
  machine->hwcap2 = getauxval(AT_HWCAP2);
}

static uint64_t now_ticks(void)
{
  uint64_t ticks;
  __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
  return ticks;
}

static void wait_low_power(uint32_t kind, uint32_t ticks)
{
  (void)kind;
  register uint64_t end __asm__("x0") = now_ticks() + ticks;
  __asm__ volatile(".inst 0xd5031000" : : "r"(end) : "memory"); // wfet x0; ends at any event, too
}

#else
#define PAUSE_NAME "loop"

static void read_machine(ws_relax_machine_t *machine)
{
  (void)machine;
}

static uint64_t now_ticks(void)
{
  return 0;
}

static void wait_low_power(uint32_t kind, uint32_t ticks)
{
  (void)kind;
  (void)ticks;
}
#endif

ws_relax_kind_t ws_relax_choose(const ws_relax_machine_t *machine)
{
  if (machine->ticks_denied)
    return WS_RELAX_PAUSE;
  if (machine->cpuid_7_ecx & CPUID_7_ECX_WAITPKG)
    return WS_RELAX_TPAUSE;
  if (machine->cpuid_80000001_ecx & CPUID_80000001_ECX_MONITORX)
    return WS_RELAX_MWAITX;
  return machine->hwcap2 & HWCAP2_WITH_WFXT ? WS_RELAX_WFET : WS_RELAX_PAUSE;
}

uint32_t ws_relax_pauses(uint32_t count, uint64_t ns)
{
  if (ns == 0)
    return PAUSES_UNKNOWN;
  const uint64_t pauses = ((uint64_t)count * PAUSES_NS + ns / 2) / ns;
  return pauses < 1 ? 1 : pauses < PAUSES_MAX ? (uint32_t)pauses : PAUSES_MAX;
}

bool ws_relax_accepts(uint64_t ns)
{
  return ns >= LOW_POWER_NS / 3 && ns <= 4 * LOW_POWER_NS;
}

static void wait_once(uint32_t kind, uint32_t amount)
{
  if (kind != WS_RELAX_PAUSE) {
    wait_low_power(kind, amount);
    return;
  }
  uint32_t pauses = 0;
  do
    ws_pause();
  while (++pauses < amount);
}

void ws_relax(void)
{
  const uint64_t wait = ws_hint_load(&relax.wait); // one word, each value of it is valid
  wait_once((uint32_t)(wait >> 32), (uint32_t)wait);
}

/// @return pauses that fill an iteration
static uint32_t measure_pauses(void)
{
  uint64_t least_ns = UINT64_MAX;
  for (uint32_t try = 0; try < TRIES; try++) {
    const uint64_t start_ns = ws_os_now_ns();
    wait_once(WS_RELAX_PAUSE, PAUSES_MEASURED);
    const uint64_t ns = ws_os_now_ns() - start_ns;
    least_ns = ns < least_ns ? ns : least_ns;
  }
  return ws_relax_pauses(PAUSES_MEASURED, least_ns);
}

/// The counter is read before the clock at the start and after it at the end, so that an interruption can
/// make a result only too large.
/// @return ticks of the machine's counter in a low-power iteration; 0 = that could not be measured
static uint32_t measure_ticks(void)
{
  uint64_t least = UINT64_MAX;
  for (uint32_t try = 0; try < TRIES; try++) {
    const uint64_t start = now_ticks(), start_ns = ws_os_now_ns();
    uint64_t ns = 0;
    for (uint32_t look = 0; look < LOOKS_MAX && ns < CALIBRATE_NS; look++)
      ns = ws_os_now_ns() - start_ns;
    const uint64_t ticks = now_ticks() - start;
    if (ns >= CALIBRATE_NS && ticks * LOW_POWER_NS / ns < least)
      least = ticks * LOW_POWER_NS / ns;
  }
  return least <= UINT32_MAX ? (uint32_t)least : 0;
}

/// @return the median of several iterations: the first may end at once by an old event, one may be
///         interrupted
static uint64_t measure_wait_ns(uint32_t kind, uint32_t amount)
{
  uint64_t sorted_ns[WAITS_MEASURED];
  for (uint32_t i = 0; i < WAITS_MEASURED; i++) {
    const uint64_t start_ns = ws_os_now_ns();
    wait_once(kind, amount);
    const uint64_t ns = ws_os_now_ns() - start_ns;
    uint32_t place = i;
    for (; place > 0 && sorted_ns[place - 1] > ns; place--)
      sorted_ns[place] = sorted_ns[place - 1];
    sorted_ns[place] = ns;
  }
  return sorted_ns[WAITS_MEASURED / 2];
}

static void measure(void)
{
  static const char *const low_power[] = {
      [WS_RELAX_TPAUSE] = "tpause", [WS_RELAX_MWAITX] = "mwaitx", [WS_RELAX_WFET] = "wfet"};
  ws_relax_machine_t machine = {0};
  read_machine(&machine);
  uint32_t kind = ws_relax_choose(&machine);
  uint32_t amount = kind == WS_RELAX_PAUSE ? 0 : measure_ticks();
  if (amount == 0 || !ws_relax_accepts(measure_wait_ns(kind, amount))) {
    kind = WS_RELAX_PAUSE;
    amount = measure_pauses();
    snprintf(relax.name, sizeof(relax.name), PAUSE_NAME " x%u", amount);
  } else {
    snprintf(relax.name, sizeof(relax.name), "%s", low_power[kind]);
  }
  ws_hint_store(&relax.wait, (uint64_t)kind << 32 | amount);
}

void ws_relax_init(void)
{
  pthread_once(&relax.once, measure);
}

const char *ws_relax_name(void)
{
  return relax.name;
}
