// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway {

/// The application that answers now. Thread-safe.
class CurrentApplication {
 public:
  explicit CurrentApplication(http::Application application)
      : application_(std::make_shared<const http::Application>(std::move(application))) {}

  void replace(http::Application application) {
    auto made = std::make_shared<const http::Application>(std::move(application));
    const std::lock_guard lock(mutex_);
    application_.swap(made);
    generation_.fetch_add(1, std::memory_order_release);
  }

  /// One thread's view of it, so that a request costs one atomic load and no lock. Not synchronized.
  class View {
   public:
    explicit View(const CurrentApplication& current) : current_(current) { refresh(); }

    const http::Application& get() {
      if (generation_ != current_.generation_.load(std::memory_order_acquire)) refresh();
      return *application_;
    }

    /// Lets go of an application that was replaced.
    void refresh() {
      // The old one may end here, and with it much else: not under the lock.
      std::shared_ptr<const http::Application> latest;
      {
        const std::lock_guard lock(current_.mutex_);
        latest = current_.application_;
        generation_ = current_.generation_.load(std::memory_order_relaxed);
      }
      application_.swap(latest);
    }

   private:
    const CurrentApplication& current_;
    std::shared_ptr<const http::Application> application_;
    std::uint64_t generation_ = 0;
  };

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const http::Application> application_;  // guarded by mutex_
  std::atomic<std::uint64_t> generation_ = 0;             // changed under mutex_
};

}  // namespace rest_fcgi::gateway
