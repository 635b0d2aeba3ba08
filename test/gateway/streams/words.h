// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway::test {

/// What a test says to all who listen, and what it heard from them. Thread-safe. Its feeds keep it alive.
class Words : public std::enable_shared_from_this<Words> {
 public:
  static std::shared_ptr<Words> make() { return std::make_shared<Words>(); }

  /// A listener that hears all that is said, from the first word on.
  std::unique_ptr<http::Feed> feed() { return std::make_unique<Listener>(shared_from_this()); }

  void say(std::string text) {
    const std::lock_guard lock(mutex_);
    said_.push_back(std::make_shared<const std::string>(std::move(text)));
    wake();
  }
  void end(std::uint16_t code = 1000, std::string reason = {}) {
    const std::lock_guard lock(mutex_);
    end_ = http::Feed::End{code, std::move(reason)};
    wake();
  }
  /// The next one who is asked throws.
  void fail() {
    const std::lock_guard lock(mutex_);
    fails_ = true;
    wake();
  }

  /// Messages that listeners heard from their peers, `text:` or `binary:` before each.
  [[nodiscard]] std::vector<std::string> heard() const {
    const std::lock_guard lock(mutex_);
    return heard_;
  }

  [[nodiscard]] std::size_t listeners() const noexcept { return listeners_; }
  [[nodiscard]] std::size_t asked() const noexcept { return asked_; }

  std::string keep_alive;
  bool answers = false;  ///< each message with `heard`

 private:
  class Listener final : public http::Feed {
   public:
    explicit Listener(std::shared_ptr<Words> words) : words_(std::move(words)) { ++words_->listeners_; }
    ~Listener() override { --words_->listeners_; }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    std::optional<End> take(std::vector<Part>& parts, std::size_t most, const http::Wake& wake) override {
      const std::lock_guard lock(words_->mutex_);
      ++words_->asked_;
      if (std::exchange(words_->fails_, false)) throw std::runtime_error("as the test wants it");
      std::size_t size = 0;
      for (; answers_ > 0; --answers_) parts.push_back({nullptr, "heard"});
      for (; at_ < words_->said_.size() && size < most; ++at_) {
        const auto& text = words_->said_[at_];
        parts.push_back({text, *text});
        size += text->size();
      }
      if (at_ == words_->said_.size() && words_->end_) return words_->end_;
      if (parts.empty()) words_->wake_ = wake;
      return std::nullopt;
    }
    void on_message(std::string_view message, bool is_text) override {
      const std::lock_guard lock(words_->mutex_);
      words_->heard_.push_back((is_text ? "text:" : "binary:") + std::string(message));
      if (words_->answers) ++answers_;
    }
    [[nodiscard]] std::string_view keep_alive() const noexcept override { return words_->keep_alive; }

   private:
    const std::shared_ptr<Words> words_;
    std::size_t at_ = 0;
    std::size_t answers_ = 0;
  };

  void wake() {
    if (const http::Wake wake = std::exchange(wake_, nullptr)) (*wake)();
  }

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const std::string>> said_;
  std::optional<http::Feed::End> end_;
  http::Wake wake_;  ///< which all listeners share
  bool fails_ = false;
  std::vector<std::string> heard_;
  std::atomic<std::size_t> listeners_ = 0;
  std::atomic<std::size_t> asked_ = 0;
};

}  // namespace rest_fcgi::gateway::test
