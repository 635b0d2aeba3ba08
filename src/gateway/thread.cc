// SPDX-License-Identifier: MIT
#include <pthread.h>

#include <memory>
#include <utility>

#include "gateway/worker.h"

namespace rest_fcgi::gateway {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

/// Sanitizers make frames many times as large.
constexpr std::size_t kStackSize = kSanitized ? 8u << 20 : 512u << 10;

class Attributes {
 public:
  Attributes() {
    ::pthread_attr_init(&attributes_);
    ::pthread_attr_setstacksize(&attributes_, kStackSize);
    ::pthread_attr_setdetachstate(&attributes_, PTHREAD_CREATE_DETACHED);
  }
  ~Attributes() { ::pthread_attr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  [[nodiscard]] const pthread_attr_t* get() const noexcept { return &attributes_; }

 private:
  pthread_attr_t attributes_;
};

struct Start {
  std::unique_ptr<Worker> worker;
  std::string name;
};

void* run(void* argument) {
  const std::unique_ptr<Start> start(static_cast<Start*>(argument));
  ::pthread_setname_np(::pthread_self(), start->name.c_str());
  const std::shared_ptr<Pool> pool = start->worker->pool();
  start->worker->run();
  // What the thread holds, the application too, is gone before anybody hears that it ended.
  start->worker.reset();
  pool->thread_ends();
  return nullptr;
}

}  // namespace

Result<void> start_thread(std::unique_ptr<Worker> worker, const std::string& name) {
  auto start = std::make_unique<Start>(Start{std::move(worker), name});
  const Attributes attributes;
  pthread_t thread = {};
  const int error = ::pthread_create(&thread, attributes.get(), run, start.get());
  if (error != 0) return Error{ErrorKind::internal, errno_text(error), {}};
  static_cast<void>(start.release());  // the thread's now
  return {};
}

}  // namespace rest_fcgi::gateway
