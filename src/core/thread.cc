// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/thread.h"

#include <pthread.h>
#include <signal.h>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

class Attributes {
 public:
  explicit Attributes(std::size_t stack_bytes) : error_(::pthread_attr_init(&attributes_)) {
    sigset_t all;
    ::sigfillset(&all);
    if (error_ == 0) error_ = ::pthread_attr_setsigmask_np(&attributes_, &all);
    if (error_ == 0 && stack_bytes != 0) error_ = ::pthread_attr_setstacksize(&attributes_, stack_bytes);
  }
  ~Attributes() { ::pthread_attr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] const pthread_attr_t* get() const noexcept { return &attributes_; }

 private:
  pthread_attr_t attributes_{};
  int error_;
};

}  // namespace

const std::size_t kSmallStack = (kSanitized ? 8192 : 512) * std::size_t{1024};

void* Thread::run(void* task) noexcept {
  const std::unique_ptr<Task> own(static_cast<Task*>(task));
  ::pthread_setname_np(::pthread_self(), own->name.substr(0, 15).c_str());
  own->run();
  return nullptr;
}

Result<Thread> Thread::start_task(std::unique_ptr<Task> task, std::size_t stack_bytes) {
  const Attributes attributes(stack_bytes);
  Thread thread;
  int error = attributes.error();
  if (error == 0) error = ::pthread_create(&thread.thread_, attributes.get(), run, task.get());
  if (error != 0) {
    return Error{ErrorKind::internal, format("cannot start a thread: {}", errno_text(error))};
  }
  static_cast<void>(task.release());  // The new thread destroys the task.
  thread.joinable_ = true;
  return thread;
}

void Thread::join() noexcept {
  if (std::exchange(joinable_, false)) ::pthread_join(thread_, nullptr);
}

void Thread::detach() noexcept {
  if (std::exchange(joinable_, false)) ::pthread_detach(thread_);
}

}  // namespace rest_fcgi
