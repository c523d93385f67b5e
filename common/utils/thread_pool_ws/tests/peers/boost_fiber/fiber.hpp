// SPDX-License-Identifier: BSD-3-Clause
/// @file fiber.hpp
/// boost::fibers::fiber and boost::this_fiber on ws_fiber.h.
#ifndef WS_PEERS_BOOST_FIBER_FIBER_HPP
#define WS_PEERS_BOOST_FIBER_FIBER_HPP

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <tuple>

#include "ws_fiber.hpp"
#include "ws_pool.hpp"
#include "ws_sync.hpp"

#include "error.hpp"

namespace boost {
namespace fibers {

enum class launch { dispatch, post };

struct fixedsize_stack {
  std::size_t bytes = 1u << 20;
};

/// A fiber, or a thread outside fibers. Lasts as long as the fiber or a handle of it.
class context {
 public:
  static context *active() { return here().get(); }

  /// @brief Start a fiber of the caller's thread.
  static std::shared_ptr<context> start(launch policy, fixedsize_stack stack, ws::task &&call)
  {
    const auto made = std::make_shared<context>();
    made->pool_ = pool_here();
    made->call_ = std::move(call);
    made->self_ = made;
    ws_fiber_options_t options;
    ws_fiber_options_default(&options);
    options.stack_bytes = static_cast<std::uint32_t>(stack.bytes);
    if (const int error = ws_fiber_push(made->pool_, run, made.get(), nullptr, &options); error < 0) {
      made->self_.reset();
      throw fiber_error(static_cast<std::errc>(-error), "fiber");
    }
    if (policy == launch::dispatch)
      ws_yield();
    return made;
  }
  void join() { ended_.wait(); }

 private:
  static std::shared_ptr<context> &here()
  {
    static ws::fiber_local<std::shared_ptr<context>> mine;
    std::shared_ptr<context> &found = mine.get();
    if (!found)
      found = std::make_shared<context>();
    return found;
  }
  static ws_pool_t *pool_here()
  {
    context *const self = active();
    if (!self->pool_) { // a thread
      ws_settings_t settings;
      ws_settings_default(&settings);
      settings.workers = 1;
      settings.fifo = true;
      self->own_.emplace(settings);
      self->pool_ = self->own_->native();
    }
    return self->pool_;
  }
  static void run(void *context_arg) noexcept
  {
    const std::shared_ptr<context> self = std::move(static_cast<context *>(context_arg)->self_);
    here() = self;
    {
      ws::task call = std::move(self->call_);
      call();
    }
    self->ended_.count_down();
  }

  ws_pool_t *pool_ = nullptr; ///< of the fibers that it starts; null = none yet
  ws::task call_;
  std::shared_ptr<context> self_; ///< until it runs
  ws::latch ended_{1};
  std::optional<ws::pool> own_; ///< of a thread
};

class fiber {
 public:
  class id {
   public:
    id() noexcept = default;
    explicit id(const context *of) noexcept : of_(of) {}
    friend bool operator==(id left, id right) noexcept { return left.of_ == right.of_; }
    friend bool operator!=(id left, id right) noexcept { return left.of_ != right.of_; }
    friend bool operator<(id left, id right) noexcept
    {
      return std::less<const context *>()(left.of_, right.of_);
    }
    friend std::ostream &operator<<(std::ostream &to, id self) { return to << self.of_; }

   private:
    const context *of_ = nullptr;
  };

  fiber() noexcept = default;
  template <typename F, typename... Args>
  fiber(launch policy, std::allocator_arg_t, fixedsize_stack stack, F &&f, Args &&...args)
      : of_(context::start(policy, stack, bound(std::forward<F>(f), std::forward<Args>(args)...)))
  {
  }
  template <typename F, typename... Args>
  fiber(launch policy, F &&f, Args &&...args)
      : fiber(policy, std::allocator_arg, fixedsize_stack(), std::forward<F>(f), std::forward<Args>(args)...)
  {
  }
  template <typename F, typename... Args,
            typename = std::enable_if_t<std::is_invocable_v<std::decay_t<F> &&, std::decay_t<Args> &&...>>>
  explicit fiber(F &&f, Args &&...args) : fiber(launch::post, std::forward<F>(f), std::forward<Args>(args)...)
  {
  }
  fiber(fiber &&) noexcept = default;
  fiber &operator=(fiber &&other) noexcept
  {
    if (joinable())
      std::terminate();
    of_ = std::move(other.of_);
    return *this;
  }
  ~fiber()
  {
    if (joinable())
      std::terminate();
  }

  bool joinable() const noexcept { return of_ != nullptr; }
  id get_id() const noexcept { return id(of_.get()); }
  void join()
  {
    if (of_.get() == context::active())
      throw fiber_error(std::errc::resource_deadlock_would_occur, "join");
    claim("join")->join();
  }
  void detach() { claim("detach"); }

 private:
  template <typename F, typename... Args>
  static ws::task bound(F &&f, Args &&...args)
  {
    return ws::task([f = std::decay_t<F>(std::forward<F>(f)),
                     with = std::tuple<std::decay_t<Args>...>(std::forward<Args>(args)...)]() mutable {
      std::apply([&f](auto &...each) { std::invoke(std::move(f), std::move(each)...); }, with);
    });
  }
  std::shared_ptr<context> claim(const char *call)
  {
    if (!joinable())
      throw fiber_error(std::errc::invalid_argument, call);
    return std::move(of_);
  }

  std::shared_ptr<context> of_;
};

} // namespace fibers

namespace this_fiber {

using ws::this_fiber::sleep_for;
using ws::this_fiber::sleep_until;
using ws::this_fiber::yield;

inline fibers::fiber::id get_id()
{
  return fibers::fiber::id(fibers::context::active());
}

} // namespace this_fiber
} // namespace boost

#endif
