// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_os.h
/// The operating system as the core sees it: futex, clocks, CPUs, memory. Tests replace these at link time
/// (--wrap).
#ifndef WS_OS_H
#define WS_OS_H

#include <pthread.h> // IWYU pragma: export
#include <stddef.h>

#include "../base/ws_atomic.h" // IWYU pragma: export
#include "../base/ws_base.h" // IWYU pragma: export

/// CPUs, or nodes, in a word of a mask.
#define WS_LONG_BITS (8 * sizeof(unsigned long))

/// CPUs, or nodes, that a set can have: as many CPUs as Linux can be built for.
#define WS_CPUSET_MAX 8192u

/// A set of CPUs, or of nodes: bit c of the mask = CPU c.
typedef struct {
  unsigned long mask[WS_CPUSET_MAX / WS_LONG_BITS];
} ws_cpuset_t;

/// Sleep while *word == expected. @return 0 = woken, not equal, or a signal came: look again;
/// -ETIMEDOUT after @p timeout_ns (0 = never)
int ws_os_futex_wait(ws_au32_t *word, uint32_t expected, uint64_t timeout_ns);
/// The same until @p deadline_ns, CLOCK_MONOTONIC (0 = never). @return 0 as ws_os_futex_wait(); -ETIMEDOUT
int ws_os_futex_wait_until(ws_au32_t *word, uint32_t expected, uint64_t deadline_ns);
/// @return the deadline of a public function, of which UINT64_MAX is none, for ws_os_futex_wait_until(), of
/// which 0 is none. 0, which is long past, becomes 1
static inline uint64_t ws_os_until(uint64_t deadline_ns)
{
  return deadline_ns == UINT64_MAX ? 0 : deadline_ns == 0 ? 1 : deadline_ns;
}
/// A count for ws_os_futex_wake(): all sleepers.
#define WS_SLEEPERS_ALL INT32_MAX
/// Wake up to @p count sleepers on @p word. Uses the address only: the memory may be gone.
void ws_os_futex_wake(ws_au32_t *word, uint32_t count);

/// Read a file, at most @p bytes - 1 of it, without memory from the heap; @p text ends with 0. @return
/// whether anything was read. A file that cannot be opened leaves @p text as it was
bool ws_os_read(const char *path, char *text, size_t bytes);

/// Read a list of the kernel, "0-3,8", without the numbers from WS_CPUSET_MAX on. @return false = it
/// cannot be read, and @p set is empty
bool ws_os_read_list(const char *path, ws_cpuset_t *set);

/// Monotonic time.
uint64_t ws_os_now_ns(void);
/// The wall clock, which may be set.
uint64_t ws_os_real_ns(void);
/// Read ws_os_now_ns() and ws_os_real_ns() at one time: of several tries the shortest counts, as other
/// threads may have the CPU in the middle.
void ws_os_clocks(uint64_t *now_ns, uint64_t *real_ns);
/// @return whether thread @p tid of this process sleeps in the kernel right now; false if unknown
bool ws_os_thread_sleeps(int32_t tid);
/// @return the CPU on which thread @p tid (0 = none) of this process runs, or ran last, + 1; 0 = not known
uint32_t ws_os_thread_last_cpu(int32_t tid);
/// @return false if thread @p tid of this process has ended, that is, has run all its code
bool ws_os_thread_exists(int32_t tid);
/// CPU time that thread @p tid of this process has used. @return 0 if unknown
uint64_t ws_os_thread_cpu_ns(int32_t tid);
/// Two system calls. @param sleeps  out: how often the caller has slept (its voluntary switches)
/// @return CPU time that the caller has used
uint64_t ws_os_used_ns(uint64_t *sleeps);
/// CPU that the caller runs on right now, a hint; -1 = not known. No system call where the C library has
/// rseq or the vDSO.
int32_t ws_os_cpu(void);
/// CPU that the caller runs on right now, and its NUMA node; -1 = not known. A system call.
void ws_os_place(int32_t *cpu, int32_t *node);
int32_t ws_os_tid(void);
/// @return the real-time priority of thread @p tid (0 = the caller); 0 = another class, or not known
uint32_t ws_os_priority(int32_t tid);
/// @brief The caller waits for the end of thread @p tid (0 = none), which needs a CPU though other threads
/// may hold all: give it the caller's class and priority, for good. Nothing happens unless the caller's go
/// first, or if the caller has no right to do so.
void ws_os_lend_class(int32_t tid);
/// Let another thread of the caller's class and priority that waits for this CPU run first.
void ws_os_yield(void);

// One iteration of a spin has a length that does not depend on the CPU: as many pauses as fill about 100 ns.

/// @brief Measure the pause, once in the process: some microseconds. Sets ws_relax_pauses. @threads any
void ws_relax_init(void);
/// @brief Wait for one iteration; no system call. @threads any, after ws_relax_init()
void ws_relax(void);
extern uint32_t ws_relax_pauses; ///< I in an iteration, at least 1; after ws_relax_init()

/// Set the caller's timer slack: how much later than set its timers may end. 50 us by default; affects normal
/// threads only. @return the slack before the call, also if the change is refused; @p slack_ns if it is not
/// known
uint64_t ws_os_timer_slack(uint64_t slack_ns);

/// @brief From here to ws_os_fork_let() every fork of the process waits, if ws_process_watch_forks() was
/// called before. Around a call that takes a lock of the C library: if another thread forked in its middle,
/// the lock would stay taken in the child. Also around what a child must not find half done, or hold as
/// well. Not nested. Not around dlopen() and dlsym(): a library's constructor, which runs under the same
/// lock, may fork.
WS_FOR_FIBERS void ws_os_fork_hold(void);
WS_FOR_FIBERS void ws_os_fork_let(void);

/// Set up a lock that lends its holder the priority of those who wait for it: a thread of high priority must
/// not wait for a holder of low priority that gets no CPU. Where the system has none, a plain one.
void ws_os_lock_init(pthread_mutex_t *lock);

/// Create a thread in which all signals are blocked but those that its own instructions cause (SIGSEGV,
/// SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT): no handler interrupts it.
/// @param stack_bytes  0 = the default
/// @param patience_ns  if the system refuses a thread for now, wait and try again, for so long; 0 = once
/// @return 0 or an error number
int ws_os_thread_create(pthread_t *thread, size_t stack_bytes, uint64_t patience_ns, void *(*func)(void *arg),
                        void *arg);
/// Patience where the caller can do without the thread. Named in ws_pool.h.
#define WS_PATIENCE_NS 127000000u
/// @return why the system has refused the caller a thread, for a message
const char *ws_os_refusal(int error);

/// CPUs that thread @p tid (0 = the caller) may use now. @return 0 or -errno
int ws_os_thread_cpus(int32_t tid, ws_cpuset_t *set);
/// CPUs that the process may use now: the caller's. @return 0, or an error number: the kernel refuses to name
/// them (a seccomp filter), @p set has the online CPUs, or CPU 0 if these are not known either
int ws_os_process_cpus(ws_cpuset_t *set);
/// @return the number of CPUs that the caller may use now; 0 = unknown
uint32_t ws_os_process_cpu_count(void);
bool ws_os_cpuset_has(const ws_cpuset_t *set, uint32_t cpu);
uint32_t ws_os_cpuset_count(const ws_cpuset_t *set);
/// Allow thread @p tid (0 = the caller) these CPUs. @return 0 or -errno
int ws_os_allow(int32_t tid, const ws_cpuset_t *cpus);
/// Restrict thread @p tid (0 = the caller) to one CPU. @return 0 or -errno
int ws_os_pin(int32_t tid, uint32_t cpu);
/// A thread that is kept off a CPU for a time.
typedef struct {
  ws_au32_t busy; ///< S nonzero = some thread uses the rest
  bool may; ///< I false = the thread is never confined
  bool on; ///< it is confined
  int32_t beside; ///< tid of a thread of the process that is never confined; 0 = none is known
  enum { WS_WIDENS_UNKNOWN, WS_WIDENS_ALL, WS_WIDENS_HAD } widens_by; ///< which mask restores its CPUs
  ws_cpuset_t beside_had; ///< its CPUs at the last look
  ws_cpuset_t had, narrow; ///< its CPUs while it is not confined; while it is
} ws_confine_t;
/// Take a CPU from those that thread @p tid (0 = the caller) may use now, and give back the one that was
/// taken before. If the thread runs there, the kernel moves it at once.
/// @param beside  tid of a thread of the process that is never confined: its CPUs show whether all threads
///                were given others from elsewhere. Only the first is used; 0 = none is known
/// @return false = the CPU is not taken, and one taken before is not given back: the thread has no other, is
///         never confined, or was given other CPUs from elsewhere while it was confined; another call for it
///         is under way; the system refuses
/// @threads  the thread itself; while it sleeps, the one that will wake it
bool ws_os_confine(ws_confine_t *confine, int32_t tid, int32_t beside, uint32_t cpu);
/// Undo ws_os_confine() for thread @p tid (0 = the caller), unless its affinity was changed from elsewhere
/// since (taskset). If a change of this thread alone comes between the check and the system call, it is lost.
/// A change of all threads of the process is found here, or at the next call. A change of its affinity or
/// cpuset that has come before is left to a call of the thread itself (@p tid 0), which tells the two apart.
/// @threads  the thread itself; one other. If another call for it is under way, that one does it, or the next
void ws_os_unconfine(ws_confine_t *confine, int32_t tid);
/// What the control groups grant.
typedef struct {
  uint32_t cpus; ///< CPUs' worth of time, rounded up, of the tightest group; UINT32_MAX without a limit
  /// Periods, since the groups were made, in which they stopped their processes because the quota was used
  /// up, summed
  uint64_t throttled;
} ws_grants_t;
/// Read them now, from files of the kernel. A file that cannot be read: no limit, and no such period.
ws_grants_t ws_os_grants(void);

/// Numbers of NUMA nodes that Linux can have.
#define WS_NODE_NUMBERS 1024u
/// Online NUMA nodes of the machine; 1 if not known.
uint32_t ws_os_node_count(void);
/// Set each node[i] to the NUMA node of the page at address[i]; to -ENOENT or -EFAULT if it has no memory
/// yet, or is not mapped.
/// @return 0 or -errno
int ws_os_nodes_of(uint32_t count, void *const *address, int32_t *node);
/// Never use huge pages for this memory, so that each small page comes from the node of the thread that
/// touches it first.
void ws_os_small_pages(void *memory, size_t bytes);
/// Have the pages of this memory that are not there yet come from a NUMA node, as long as it has any. Without
/// effect if the kernel refuses. @param node  its number, below WS_NODE_NUMBERS
void ws_os_prefer_node(void *memory, size_t bytes, uint32_t node);
size_t ws_os_page_bytes(void);

// Fences of which one side pays: membarrier(2); the pair is that of C++'s proposal P1202
// (asymmetric_thread_fence_light and _heavy).

/// @brief Ask the kernel for heavy fences. @return whether ws_fence_light(true) is a fence towards them from
/// now on; false = the kernel refuses (before Linux 4.14; a seccomp filter)
bool ws_os_fence_begin(void);
/// @brief A seq_cst fence, towards ws_fence_light(@p is_light) of all threads of the process as well. If
/// light, it takes a microsecond, because it interrupts the CPUs on which they run.
void ws_os_fence_heavy(bool is_light);

/// Memory from malloc() that shares no cache line. @return NULL if there is none
void *ws_os_lines(size_t bytes);
void ws_os_lines_free(void *memory);

/// Zeroed memory straight from the kernel, page-aligned. @return NULL if there is none
void *ws_os_map(size_t bytes);
void ws_os_unmap(void *memory, size_t bytes);
/// Give the pages back, keep the addresses: they read as zero from now on. @return 0 or -errno
int ws_os_release_pages(void *memory, size_t bytes);

#endif
