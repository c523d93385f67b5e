// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_parallel.hpp
/// Loops and reductions over a range of whole numbers, on the threads of a pool and the caller.
///
/// @code
///   ws::parallel_for(pool, 0, rows, [&](int row) { draw(row); });
///   double sum = ws::parallel_reduce(pool, 0, n, 0.0, [&](int i) { return x[i] * y[i]; }, std::plus<>());
/// @endcode
///
/// An exception of the program's functions is thrown to the caller. One that ends its thread (pthread_exit)
/// ends the process. During the call the caller cannot be cancelled; a request acts after it (ws_reduce.h).
#ifndef WS_PARALLEL_HPP
#define WS_PARALLEL_HPP

#include "ws_macros_off.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "ws_macros_on.hpp"

#include "ws_for.h" // IWYU pragma: export
#include "ws_pool_owner.hpp" // IWYU pragma: export
#include "ws_reduce.h" // IWYU pragma: export

namespace ws {
inline namespace WS_CXX_MODE {
namespace detail {

/// The first exception of a range, and whether the rest is to be skipped.
struct range_state {
  std::atomic<bool> over{false}, failed{false}, stopped{false};
  std::exception_ptr error; ///< written by the thread that sets failed; read after the join

  bool is_over() const noexcept { return over.load(std::memory_order_relaxed); } // relaxed: takes effect soon
  template <typename State>
  static bool ask(void *self) noexcept
  {
    return static_cast<State *>(self)->is_over();
  }
  void fail_with(std::exception_ptr thrown) noexcept
  {
    if (!thrown)
      return;
    if (!failed.exchange(true, std::memory_order_relaxed)) // relaxed: the first one wins
      error = std::move(thrown);
    over.store(true, std::memory_order_relaxed); // relaxed: the join orders it
  }
  void stop() noexcept
  {
    stopped.store(true, std::memory_order_relaxed); // relaxed: the join orders it
    over.store(true, std::memory_order_relaxed);
  }
  /// Call @p f(i) for each i of [first, end), until the range is over. A look at each i would keep short
  /// calls from being vectorised.
  template <typename F, typename Token>
  void each(std::uint64_t first, std::uint64_t end, const Token &token, F f)
  {
    while (first < end && !is_over())
      for (const std::uint64_t next = end - first < 64 ? end : first + 64; first < next; first++) {
        if (token.stop_requested())
          return stop();
        f(first);
      }
  }
};

/// The type of the numbers from a First to an End: int and size_t make size_t.
template <typename First, typename End>
using index_of = std::common_type_t<First, End>;

/// A range of Index as ws_reduce() counts it: from 0. Differences wrap, so the whole range of a type is fine.
template <typename Index>
struct range {
  static_assert(std::is_integral_v<Index> && sizeof(Index) <= sizeof(std::uint64_t),
                "ws: a range has whole numbers of at most 64 bits");
  Index first;
  std::uint64_t count;

  /// A bound below 0 is not converted to an unsigned number: the range is empty, or the process ends.
  template <typename First, typename End>
  range(First begin, End end) noexcept
      : first(static_cast<Index>(begin)), count(is_empty(begin, end) ? 0 : distance(begin, end))
  {
  }

 private:
  template <typename Bound>
  static constexpr bool is_below_zero(Bound bound) noexcept
  {
    if constexpr (std::is_signed_v<Bound> && std::is_unsigned_v<Index>)
      return bound < 0;
    else
      return false;
  }
  template <typename First, typename End>
  static bool is_empty(First begin, End end) noexcept
  {
    if (is_below_zero(end))
      return true;
    if (is_below_zero(begin))
      misused("ws: a range of unsigned numbers", "begins below 0; give both bounds the same signed type");
    return !(static_cast<Index>(begin) < static_cast<Index>(end));
  }
  template <typename First, typename End>
  static std::uint64_t distance(First begin, End end) noexcept
  {
    return static_cast<std::uint64_t>(static_cast<Index>(end))
           - static_cast<std::uint64_t>(static_cast<Index>(begin));
  }

 public:
  Index at(std::uint64_t offset) const noexcept
  {
    return static_cast<Index>(static_cast<std::uint64_t>(first) + offset);
  }
};

template <typename Index, typename F, typename Token>
struct loop : range_state {
  range<Index> over_range;
  F &f;
  const Token &token;

  loop(range<Index> of, F &body, const Token &stop) noexcept : over_range(of), f(body), token(stop) {}

  void run(std::uint64_t first, std::uint64_t end)
  {
    each(first, end, token, [this](std::uint64_t i) { f(over_range.at(i)); });
  }
  static void piece(void *self_arg, std::uint64_t first, std::uint64_t end, void *) noexcept
  {
    loop *self = static_cast<loop *>(self_arg);
    if (!self->is_over())
      self->fail_with(attempt([=] { self->run(first, end); }));
  }
  static void combine(void *, void *, const void *) noexcept {}
};

template <typename Index, typename F, typename Token>
bool run_loop(ws_pool_t *pool, range<Index> of, F &f, std::uint64_t grain, const Token &token)
{
  using Loop = loop<Index, F, Token>;
  Loop state(of, f, token);
  ws_reduce_t how = {};
  how.piece = Loop::piece;
  how.combine = Loop::combine;
  how.arg = &state;
  how.bytes = 1;
  how.grain = grain;
  how.over = range_state::ask<Loop>;
  char unused = 0;
  ws_reduce(pool, &how, 0, of.count, &unused);
  rethrow(state.error);
  return !state.stopped.load(std::memory_order_relaxed); // relaxed: after the join
}

template <typename Index, typename F>
struct piece_loop : range_state {
  range<Index> over_range;
  F &f;

  piece_loop(range<Index> of, F &body) noexcept : over_range(of), f(body) {}

  static void body(void *self_arg, std::uint64_t first, std::uint64_t end, std::uint32_t slot) noexcept
  {
    piece_loop *self = static_cast<piece_loop *>(self_arg);
    const range<Index> &of = self->over_range;
    if (!self->is_over())
      self->fail_with(attempt([&] { self->f(of.at(first), of.at(end), slot); }));
  }
};

/// The result of a piece in the memory of ws_reduce(), which begins as zeros: no value yet.
template <typename T>
struct partial {
  T *value;
  static constexpr bool is_inside = sizeof(T) + 2 * alignof(std::max_align_t) <= WS_REDUCE_BYTES_MAX
                                    && alignof(T) <= alignof(std::max_align_t);
  alignas(is_inside ? alignof(T) : 1) unsigned char memory[is_inside ? sizeof(T) : 1];

  void begin(const T &identity)
  {
    if constexpr (is_inside)
      value = ::new (static_cast<void *>(memory)) T(identity);
    else
      value = new T(identity);
  }
  void end() noexcept
  {
    if constexpr (is_inside) {
      if (value)
        value->~T();
    } else {
      delete value;
    }
    value = nullptr;
  }
};

template <typename Index, typename T, typename Map, typename Combine, typename Token>
struct reduction : range_state {
  range<Index> over_range;
  const T &identity;
  Map &map;
  Combine &combine_two;
  const Token &token;

  reduction(range<Index> of, const T &neutral, Map &of_one, Combine &of_two, const Token &stop) noexcept
      : over_range(of), identity(neutral), map(of_one), combine_two(of_two), token(stop)
  {
  }

  void run(std::uint64_t first, std::uint64_t end, partial<T> &into)
  {
    if (!into.value)
      into.begin(identity);
    each(first, end, token,
         [&](std::uint64_t i) { *into.value = combine_two(std::move(*into.value), map(over_range.at(i))); });
  }
  static void piece(void *self_arg, std::uint64_t first, std::uint64_t end, void *into) noexcept
  {
    reduction *self = static_cast<reduction *>(self_arg);
    if (!self->is_over())
      self->fail_with(attempt([=] { self->run(first, end, *static_cast<partial<T> *>(into)); }));
  }
  static void combine(void *self_arg, void *left_arg, const void *right_arg) noexcept
  {
    reduction *self = static_cast<reduction *>(self_arg);
    partial<T> *left = static_cast<partial<T> *>(left_arg);
    // ws_reduce() does not use the right half any more
    partial<T> *right = static_cast<partial<T> *>(const_cast<void *>(right_arg));
    if (left->value && right->value && !self->is_over())
      self->fail_with(attempt(
          [=] { *left->value = self->combine_two(std::move(*left->value), std::move(*right->value)); }));
    right->end();
  }
};

/// @return nothing: a stop was requested
template <typename Index, typename T, typename Map, typename Combine, typename Token>
std::optional<T> run_reduction(ws_pool_t *pool, range<Index> of, const T &identity, Map &map,
                               Combine &combine, std::uint64_t grain, const Token &token)
{
  using Reduction = reduction<Index, T, Map, Combine, Token>;
  using Partial = partial<T>;
  Reduction state(of, identity, map, combine, token);
  ws_reduce_t how = {};
  how.piece = Reduction::piece;
  how.combine = Reduction::combine;
  how.arg = &state;
  how.bytes = sizeof(Partial);
  how.grain = grain;
  how.over = range_state::ask<Reduction>;
  Partial result = {};
  ws_reduce(pool, &how, 0, of.count, &result);
  const bool all = !state.stopped.load(std::memory_order_relaxed); // relaxed: after the join
  std::optional<T> value;
  if (all && !state.error)
    state.fail_with(attempt([&] { value.emplace(result.value ? std::move(*result.value) : identity); }));
  result.end();
  rethrow(state.error);
  return value;
}

} // namespace detail

/// @brief Call @p f(i) once for each i of [first, end), on the threads of @p pool and the caller.
/// The first exception that leaves @p f is thrown to the caller, when all calls that had begun have ended;
/// the rest of the range is skipped, however long it is, but for up to 63 numbers of each thread.
/// @param f      called by several threads at once
/// @param grain  numbers that one task takes, about: between half of it and all of it. 0 = chosen from the
///               time that they take (ws_reduce_t.grain). A pool of 0 workers runs all in one piece
/// If the pool was stopped, the caller runs all.
/// If @p first and @p end have different types, the numbers have their common type. For example,
/// parallel_for(pool, 0, v.size(), f) calls f with a std::size_t. A @p first below 0 beside an unsigned
/// @p end ends the process with a message.
/// @threads   any, also inside a task, with one worker as well
/// @ordering  the caller sees what the calls wrote
template <typename First, typename End, typename F>
void parallel_for(pool &pool, First first, End end, F &&f, std::uint64_t grain = 0)
{
  using Index = detail::index_of<First, End>;
  detail::run_loop(pool.native(), detail::range<Index>(first, end), f, grain, detail::never_stops());
}

/// @brief The same, with a request to stop, which is looked at before each number.
/// @return true = @p f was called for all; false = a stop was requested, and at least one was skipped.
///         Nothing is thrown for a stop
template <typename First, typename End, typename F, typename Token, typename = detail::if_token<Token>>
[[nodiscard]] bool parallel_for(pool &pool, First first, End end, F &&f, const Token &token,
                                std::uint64_t grain = 0)
{
  using Index = detail::index_of<First, End>;
  return detail::run_loop(pool.native(), detail::range<Index>(first, end), f, grain, token);
}

/// @brief Call @p f(begin, end, slot) for pieces that make up [first, end), on the workers of @p pool and the
/// caller: ws_for(). @p slot is a std::uint32_t, 0 .. pool.size(). Calls that run at the same time have
/// different slots: memory[slot] belongs to the call. ws_for.h has the rule.
/// Otherwise as parallel_for().
template <typename First, typename End, typename F>
void parallel_pieces(pool &pool, First first, End end, F &&f, std::uint64_t grain = 0)
{
  using Index = detail::index_of<First, End>;
  using Loop = detail::piece_loop<Index, std::remove_reference_t<F>>;
  Loop state(detail::range<Index>(first, end), f);
  const ws_for_t how = {Loop::body, &state, grain, detail::range_state::ask<Loop>};
  ws_for(pool.native(), &how, 0, state.over_range.count);
  detail::rethrow(state.error);
}

/// @brief Combine map(first), map(first + 1), ... map(end - 1).
/// Each piece of the range begins with a copy of @p identity: value = combine(value, map(i)), i ascending.
/// Results of neighbouring pieces are combined, left before right, along a tree that halves the range. So @p
/// combine must be associative, and need not be commutative. With a @p grain above 0 the tree depends on the
/// range and the grain only: equal calls round equally, on any pool with workers. With 0 the pieces, and the
/// last digits of a floating-point sum, differ from call to call.
/// @param identity  combine(identity, x) is x
/// @param map       called by several threads at once, as is @p combine
/// @param combine   takes two T as rvalues, returns a T
/// @param grain     as for parallel_for()
/// @throws the first exception of @p map, @p combine or T, as parallel_for()
/// @threads   any, also inside a task, with one worker as well
template <typename First, typename End, typename T, typename Map, typename Combine>
[[nodiscard]] T parallel_reduce(pool &pool, First first, End end, T identity, Map &&map, Combine &&combine,
                                std::uint64_t grain = 0)
{
  using Index = detail::index_of<First, End>;
  return *detail::run_reduction(pool.native(), detail::range<Index>(first, end), identity, map, combine,
                                grain, detail::never_stops());
}

/// @brief The same, with a request to stop, which is looked at before each number.
/// @return the result; nothing if a stop was requested, and at least one number was skipped. Nothing is
///         thrown for a stop
template <typename First, typename End, typename T, typename Map, typename Combine, typename Token,
          typename = detail::if_token<Token>>
[[nodiscard]] std::optional<T> parallel_reduce(pool &pool, First first, End end, T identity, Map &&map,
                                               Combine &&combine, const Token &token, std::uint64_t grain = 0)
{
  using Index = detail::index_of<First, End>;
  return detail::run_reduction(pool.native(), detail::range<Index>(first, end), identity, map, combine, grain,
                               token);
}

/// @brief Call each of @p f once, on the threads of @p pool and the caller, and wait for all of them.
/// They are called where they are: not copied, not moved. What they return is ignored. The first exception is
/// thrown to the caller, when all calls that had begun have ended; the others are skipped.
/// If the pool was stopped, the caller runs all.
/// @threads   any, also inside a task, with one worker as well
/// @ordering  the caller sees what the calls wrote
template <typename... F>
void parallel_invoke(pool &pool, F &&...f)
{
  const auto call = [&](std::size_t number) {
    std::size_t i = 0;
    static_cast<void>(((i++ == number && (static_cast<void>(f()), true)) || ...));
  };
  parallel_for(pool, std::size_t{0}, sizeof...(F), call, 1);
}

} // namespace WS_CXX_MODE
} // namespace ws

#endif
