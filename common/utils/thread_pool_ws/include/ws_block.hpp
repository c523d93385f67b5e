// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_block.hpp
/// Memory for tasks and results: the library's blocks (ws_record.h). Internal to the C++ headers.
#ifndef WS_BLOCK_HPP
#define WS_BLOCK_HPP

#include "ws_macros_off.hpp"

#include <cstddef>
#include <new>
#include <utility>

#include "ws_macros_on.hpp"

#include "ws_except.hpp" // IWYU pragma: export

namespace ws {
inline namespace WS_CXX_MODE {
namespace detail {

inline void *block_take(std::size_t bytes)
{
  if (void *block = ws_block_take(bytes))
    return block;
#if WS_EXCEPTIONS
  throw std::bad_alloc();
#else
  fail(ENOMEM, "ws::pool");
#endif
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
    ws_block_give(memory);
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
  T *allocate(std::size_t count)
  {
#if defined(__GLIBCXX__) && defined(__ELF__) && !defined(__clang__)
    // libstdc++'s mark of shared_ptr's objects has one address in the process (STB_GNU_UNIQUE), for which the
    // dynamic linker would never unload a plugin. Only objects of old compilers ask for the address.
    __asm__ volatile(".weak _ZZNSt19_Sp_make_shared_tag5_S_tiEvE5__tag\n"
                     "\t.hidden _ZZNSt19_Sp_make_shared_tag5_S_tiEvE5__tag");
#endif
    return static_cast<T *>(memory_take<T>(count));
  }
  void deallocate(T *memory, std::size_t) noexcept
  {
    memory_give<T>(memory);
  }
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
