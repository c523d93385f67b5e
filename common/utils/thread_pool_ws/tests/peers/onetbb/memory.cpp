// SPDX-License-Identifier: BSD-3-Clause
/// @file memory.cpp
/// Memory, and reports of errors.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include "oneapi/tbb/cache_aligned_allocator.h"
#include "oneapi/tbb/detail/_exception.h"
#include "oneapi/tbb/detail/_small_object_pool.h"
#include "oneapi/tbb/tbb_allocator.h"

namespace tbb {
namespace detail {
namespace r1 {
namespace {

constexpr std::align_val_t cache_line{64};

struct heap : d1::small_object_pool {
  heap() = default;
} everything;

} // namespace

void *allocate(d1::small_object_pool *&from, std::size_t bytes)
{
  from = &everything;
  return ::operator new(bytes, cache_line);
}
void *allocate(d1::small_object_pool *&from, std::size_t bytes, const d1::execution_data &)
{
  return allocate(from, bytes);
}
void deallocate(d1::small_object_pool &, void *memory, std::size_t)
{
  ::operator delete(memory, cache_line);
}
void deallocate(d1::small_object_pool &, void *memory, std::size_t, const d1::execution_data &)
{
  ::operator delete(memory, cache_line);
}
void *cache_aligned_allocate(std::size_t bytes)
{
  return ::operator new(bytes, cache_line);
}
void cache_aligned_deallocate(void *memory)
{
  ::operator delete(memory, cache_line);
}
std::size_t cache_line_size()
{
  return static_cast<std::size_t>(cache_line);
}
void *allocate_memory(std::size_t bytes)
{
  return ::operator new(bytes, cache_line);
}
void deallocate_memory(void *memory)
{
  ::operator delete(memory, cache_line);
}
bool is_tbbmalloc_used()
{
  return false;
}

void assertion_failure(const char *location, int line, const char *expression, const char *comment)
{
  std::fprintf(stderr, "%s:%d: %s: %s\n", location, line, expression, comment ? comment : "");
  std::abort();
}

const char *bad_last_alloc::what() const noexcept
{
  return "no memory in an earlier call";
}
const char *user_abort::what() const noexcept
{
  return "aborted by the user";
}
const char *missing_wait::what() const noexcept
{
  return "a task_group has ended without wait()";
}

void throw_exception(exception_id id)
{
  switch (id) {
    case exception_id::bad_alloc:
      throw std::bad_alloc();
    case exception_id::bad_last_alloc:
      throw bad_last_alloc();
    case exception_id::user_abort:
      throw user_abort();
    case exception_id::missing_wait:
      throw missing_wait();
    case exception_id::nonpositive_step:
      throw std::invalid_argument("the step is not above 0");
    case exception_id::out_of_range:
    case exception_id::invalid_key:
      throw std::out_of_range("no such index or key");
    case exception_id::reservation_length_error:
      throw std::length_error("reserved too much");
    default:
      throw std::runtime_error("oneTBB");
  }
}

} // namespace r1
} // namespace detail
} // namespace tbb
