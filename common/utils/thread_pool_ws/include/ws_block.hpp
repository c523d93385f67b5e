// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_block.hpp
/// Memory for tasks and results: small blocks that each thread uses again, so that a submit in the steady
/// state calls neither malloc nor a lock. Internal to the C++ headers.
///
/// A thread has a shelf of free blocks for each of three sizes. A block goes back to the shelf that it came
/// from: at once if its own thread frees it, else to the shelf's list of returned blocks, which the owner
/// takes over as a whole when it has no other block. So a list has no ABA problem. A shelf holds as many
/// blocks as were in use at once; they are freed when its thread ends.
///
/// returned:  empty or a chain --exchange--> empty (the owner takes all)
///            any --exchange, the owner ends--> CLOSED; blocks that come later are freed one by one, and the
///            one that makes the sum of `out` 0 frees the shelf
#ifndef WS_BLOCK_HPP
#define WS_BLOCK_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "ws_except.hpp"

namespace ws {
inline namespace WS_CXX_MODE {
namespace detail {

constexpr std::size_t LINE_BYTES = 64;
constexpr unsigned SHELVES = 3; // blocks of 64, 128 and 256 bytes

struct alignas(LINE_BYTES) shelf {
  explicit shelf(unsigned its_index) : index(its_index) {}

  void *mine = nullptr; ///< owner's thread only: chain of free blocks
  std::int64_t made = 0; ///< owner's thread only: blocks
  const unsigned index;
  alignas(LINE_BYTES) std::atomic<void *> returned{nullptr}; ///< chain of blocks that other threads freed
  std::atomic<std::int64_t> out{0}; ///< after the owner's end: blocks that are still in use
};

// A block: the address of its shelf (null = none), then the payload. A free block's payload begins with the
// next one's address.
inline shelf *&home_of(void *payload) noexcept
{
  return *(static_cast<shelf **>(payload) - 1);
}
inline void *next_of(void *payload) noexcept
{
  return *static_cast<void **>(payload);
}
inline void link(void *payload, void *next) noexcept
{
  ::new (payload) void *(next);
}

inline void *block_make(shelf *home, std::size_t bytes)
{
  void *raw = ::operator new (bytes, std::align_val_t{LINE_BYTES});
  return ::new (raw) shelf *(home) + 1;
}

inline void block_free(void *payload) noexcept
{
  ::operator delete (static_cast<void *>(&home_of(payload)), std::align_val_t{LINE_BYTES});
}

inline std::int64_t free_chain(void *payload) noexcept
{
  std::int64_t count = 0;
  for (; payload; count++) {
    void *next = next_of(payload);
    block_free(payload);
    payload = next;
  }
  return count;
}

/// The mark of a shelf without an owner. Of the shelf, not of the process: shared libraries that hide their
/// symbols have variables of their own.
inline void *closed_mark(shelf *of) noexcept
{
  return of;
}

/// Called once for each block that is still in use when the shelf's owner has ended, and with all by the
/// owner.
inline void shelf_settle(shelf *of, std::int64_t blocks) noexcept
{
  // acq_rel: each use of the shelf comes before its end
  if (of->out.fetch_add(blocks, std::memory_order_acq_rel) + blocks == 0)
    delete of;
}

inline void shelf_close(shelf *of) noexcept
{
  // acquire: what the threads wrote that returned the blocks. release: the shelf's own fields
  void *back = of->returned.exchange(closed_mark(of), std::memory_order_acq_rel);
  const std::int64_t freed = free_chain(of->mine) + free_chain(back);
  shelf_settle(of, of->made - freed);
}

/// The shelves of a thread. Without a destructor, so that they can be used after ender has run.
struct shelves {
  shelf *of[SHELVES];
  bool ended; ///< thread-local objects are being destroyed: blocks have no shelf any more
};
inline thread_local shelves here = {{nullptr, nullptr, nullptr}, false};

struct shelves_ender {
  bool begun = false;
  ~shelves_ender()
  {
    here.ended = true;
    for (shelf *&of : here.of)
      if (of)
        shelf_close(std::exchange(of, nullptr));
  }
};
inline thread_local shelves_ender ender;

inline shelf *shelf_open(unsigned index)
{
  ender.begun = true; // its destructor is registered by the first use
  here.of[index] = new shelf(index);
  return here.of[index];
}

// A fiber may have moved to another thread between two calls, and a compiler may keep the address of
// thread-local data within a function: these functions are not inlined.

/// @return a block's payload of at least @p bytes, aligned as a pointer
[[gnu::noinline]] inline void *block_take(std::size_t bytes)
{
  bytes += sizeof(shelf *);
  const unsigned index = bytes <= LINE_BYTES ? 0 : bytes <= 2 * LINE_BYTES ? 1 : 2;
  if (bytes > 4 * LINE_BYTES || here.ended)
    return block_make(nullptr, bytes);
  shelf *from = here.of[index] ? here.of[index] : shelf_open(index);
  if (!from->mine && from->returned.load(std::memory_order_relaxed)) // relaxed: the exchange looks again
    // acquire: what the threads wrote that returned the blocks
    from->mine = from->returned.exchange(nullptr, std::memory_order_acquire);
  if (!from->mine) {
    void *payload = block_make(from, LINE_BYTES << index);
    from->made++;
    return payload;
  }
  return std::exchange(from->mine, next_of(from->mine));
}

/// @threads   any
[[gnu::noinline]] inline void block_give(void *payload) noexcept
{
  shelf *home = home_of(payload);
  if (!home) {
    block_free(payload);
    return;
  }
  if (home == here.of[home->index]) {
    link(payload, home->mine);
    home->mine = payload;
    return;
  }
  void *head = home->returned.load(std::memory_order_relaxed); // relaxed: the exchange below checks it
  do {
    if (head == closed_mark(home)) {
      block_free(payload);
      shelf_settle(home, -1);
      return;
    }
    link(payload, head);
    // release: link, and the end of the block's use. Afterwards the shelf may be gone
  } while (!home->returned.compare_exchange_weak(head, payload, std::memory_order_release,
                                                 std::memory_order_acquire));
}

template <typename T>
constexpr bool fits_block = alignof(T) <= alignof(void *);

/// @return memory for @p count objects; block_take() unless they must be aligned more strictly
template <typename T>
void *memory_take(std::size_t count = 1)
{
  if constexpr (fits_block<T>)
    return block_take(count * sizeof(T));
  else
    return ::operator new (count * sizeof(T), std::align_val_t{alignof(T)});
}

template <typename T>
void memory_give(void *memory) noexcept
{
  if constexpr (fits_block<T>)
    block_give(memory);
  else
    ::operator delete (memory, std::align_val_t{alignof(T)});
}

/// Memory that is given back unless it is released.
template <typename T>
class memory_owner {
 public:
  memory_owner() : memory_(memory_take<T>()) {}
  memory_owner(const memory_owner &) = delete;
  memory_owner &operator=(const memory_owner &) = delete;
  ~memory_owner()
  {
    if (memory_)
      memory_give<T>(memory_);
  }
  void *get() const noexcept { return memory_; }
  void release() noexcept { memory_ = nullptr; }

 private:
  void *memory_;
};

/// As new T(arguments...), in a block.
template <typename T, typename... Arguments>
T *make(Arguments &&...arguments)
{
  memory_owner<T> memory;
  T *made = ::new (memory.get()) T(std::forward<Arguments>(arguments)...);
  memory.release();
  return made;
}

/// As delete @p made.
template <typename T>
void unmake(T *made) noexcept
{
  made->~T();
  memory_give<T>(made);
}

/// For the state that std::promise and std::future share.
template <typename T>
struct block_allocator {
  using value_type = T;
  block_allocator() = default;
  template <typename U>
  block_allocator(const block_allocator<U> &) noexcept
  {
  }
  T *allocate(std::size_t count) { return static_cast<T *>(memory_take<T>(count)); }
  void deallocate(T *memory, std::size_t) noexcept { memory_give<T>(memory); }
  template <typename U>
  bool operator==(const block_allocator<U> &) const noexcept
  {
    return true;
  }
  template <typename U>
  bool operator!=(const block_allocator<U> &) const noexcept
  {
    return false;
  }
};

} // namespace detail
} // namespace WS_CXX_MODE
} // namespace ws

#endif
