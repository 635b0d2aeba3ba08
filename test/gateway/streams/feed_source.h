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

/// Makes feeds (the bodies of event streams). Each text that a test publishes goes to all feeds. The source
/// collects the messages of the feeds' clients. Thread-safe. The feeds keep the source alive.
class FeedSource : public std::enable_shared_from_this<FeedSource> {
 public:
  static std::shared_ptr<FeedSource> make() { return std::make_shared<FeedSource>(); }

  std::unique_ptr<http::Feed> feed() { return std::make_unique<SourceFeed>(shared_from_this()); }

  void publish(std::string text) {
    const std::lock_guard lock(mutex_);
    parts_.push_back(std::make_shared<const std::string>(std::move(text)));
    wake();
  }
  void end(std::uint16_t code = 1000, std::string reason = {}, bool is_slow = false) {
    const std::lock_guard lock(mutex_);
    end_ = http::Feed::End{code, std::move(reason), is_slow};
    wake();
  }
  void fail_next_take() {
    const std::lock_guard lock(mutex_);
    fails_next_take_ = true;
    wake();
  }

  /// Each message from a client has the prefix `text:` or `binary:`.
  [[nodiscard]] std::vector<std::string> messages() const {
    const std::lock_guard lock(mutex_);
    return messages_;
  }

  [[nodiscard]] std::size_t open_feeds() const noexcept { return open_feeds_; }

  [[nodiscard]] std::size_t takes() const noexcept { return takes_; }

  std::string keep_alive;
  std::string last_part;  ///< `last_part` is sent with the end of a feed.
  /// Whether a feed answers each message of a client with the text `heard`.
  bool answers_messages = false;

 private:
  class SourceFeed final : public http::Feed {
   public:
    explicit SourceFeed(std::shared_ptr<FeedSource> source) : source_(std::move(source)) {
      ++source_->open_feeds_;
    }
    ~SourceFeed() override { --source_->open_feeds_; }
    SourceFeed(const SourceFeed&) = delete;
    SourceFeed& operator=(const SourceFeed&) = delete;

    std::optional<End> take(std::vector<Part>& parts, std::size_t most, const http::Wake& wake) override {
      const std::lock_guard lock(source_->mutex_);
      ++source_->takes_;
      if (std::exchange(source_->fails_next_take_, false))
        throw std::runtime_error("a failure that the test wants");
      std::size_t size = 0;
      for (; answers_ > 0; --answers_) parts.push_back({nullptr, "heard"});
      for (; at_ < source_->parts_.size() && size < most; ++at_) {
        const auto& text = source_->parts_[at_];
        parts.push_back({text, *text});
        size += text->size();
      }
      if (at_ == source_->parts_.size() && source_->end_) {
        if (!source_->last_part.empty()) parts.push_back({nullptr, source_->last_part});
        return source_->end_;
      }
      if (parts.empty()) source_->wake_ = wake;
      return std::nullopt;
    }
    void on_message(std::string_view message, bool is_text) override {
      const std::lock_guard lock(source_->mutex_);
      source_->messages_.push_back((is_text ? "text:" : "binary:") + std::string(message));
      if (source_->answers_messages) ++answers_;
    }
    [[nodiscard]] std::string_view keep_alive() const noexcept override { return source_->keep_alive; }

   private:
    const std::shared_ptr<FeedSource> source_;
    std::size_t at_ = 0;
    std::size_t answers_ = 0;
  };

  void wake() {
    if (const http::Wake wake = std::exchange(wake_, nullptr)) (*wake)();
  }

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const std::string>> parts_;
  std::optional<http::Feed::End> end_;
  http::Wake wake_;
  bool fails_next_take_ = false;
  std::vector<std::string> messages_;
  std::atomic<std::size_t> open_feeds_ = 0;
  std::atomic<std::size_t> takes_ = 0;
};

}  // namespace rest_fcgi::gateway::test
