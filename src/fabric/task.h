// SPDX-License-Identifier: BSD-3-Clause
// The coroutine that an algorithm is. It starts at once and runs until it must wait; over a fabric
// whose waits block it is done when the call returns. Frames come from a free list of the thread.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdlib>
#include <utility>

namespace tutti::fabric {

namespace frames {
void* allocate(std::size_t bytes);
void release(void* frame, std::size_t bytes);
}  // namespace frames

class [[nodiscard]] Task {
 public:
  struct promise_type {
    std::coroutine_handle<> continuation = std::noop_coroutine();

    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
        return self.promise().continuation;
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::abort(); }

    static void* operator new(std::size_t bytes) { return frames::allocate(bytes); }
    static void operator delete(void* frame, std::size_t bytes) { frames::release(frame, bytes); }
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  [[nodiscard]] bool done() const { return handle_.done(); }

  // One algorithm may await another.
  bool await_ready() const noexcept { return handle_.done(); }
  void await_suspend(std::coroutine_handle<> continuation) noexcept {
    handle_.promise().continuation = continuation;
  }
  void await_resume() const noexcept {}

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace tutti::fabric
