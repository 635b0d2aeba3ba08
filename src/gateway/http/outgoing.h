// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/http/channel.h"
#include "gateway/http/reader.h"
#include "gateway/streams/gathered.h"
#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway {

/// What a reply has to fit.
struct Asked {
  bool http_1_0 = false;
  bool is_head = false;           ///< the body is left out
  bool keeps_connection = false;  ///< another request may follow
  std::string_view websocket_key{};
};

/// What goes out in answer to one request: a head, and a text, a stream as it is made, or, for whoever takes
/// it over, a feed. Used by one thread at a time.
class Outgoing {
 public:
  Outgoing() = default;
  ~Outgoing() { drop(); }
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  /// Begins a reply. REQUIRES: the last one is dropped.
  void begin(http::Response response, const Asked& asked);

  /// Begins a reply after which the connection ends, in place of what was to go out.
  void refuse(const Refusal& refusal);

  /// Adds the next parts of the stream, and forgets those that were sent. REQUIRES: `has_stream()`.
  void go_on();

  /// What is left is of no use to anybody.
  void break_off() noexcept { broken_off_ = true; }

  /// Sends what there is. moved: all of it.
  Progress flush(Channel& channel) noexcept;

  /// Wipes and forgets all.
  void drop() noexcept;

  [[nodiscard]] bool has_stream() const noexcept { return stream_ != nullptr; }
  [[nodiscard]] bool has_feed() const noexcept { return feed_ != nullptr; }
  [[nodiscard]] bool broken_off() const noexcept { return broken_off_; }

  /// Is it the last on its connection?
  [[nodiscard]] bool closes() const noexcept { return closes_; }

  /// Bytes since `begin`, or `go_on`.
  [[nodiscard]] std::size_t sent() const noexcept { return sent_all_; }

  // For who takes a feed over.
  [[nodiscard]] std::unique_ptr<http::Feed> release_feed() noexcept { return std::move(feed_); }
  [[nodiscard]] Framing feed_framing() const noexcept { return feed_framing_; }
  [[nodiscard]] std::string unsent_head() const { return output_.substr(sent_); }

 private:
  void begin_head(const http::Response& response, const Asked& asked);
  void begin_body(http::Response response, const Asked& asked);
  void pull();
  void cut_off(std::string_view why);
  void forget_sent() noexcept;

  std::string output_;    ///< what goes out next
  std::string text_;      ///< and then this: a large body
  std::size_t sent_ = 0;  ///< bytes of output_
  std::size_t sent_all_ = 0;
  std::unique_ptr<http::Stream> stream_;
  std::unique_ptr<http::Feed> feed_;
  Framing feed_framing_{Framing::Form::bare};
  bool chunked_ = false;                   ///< stream_ goes out in chunks
  std::optional<std::uint64_t> promised_;  ///< bytes of stream_ that are still to come, where that is known
  bool broken_off_ = false;
  bool closes_ = false;
  std::vector<std::shared_ptr<const void>> held_;  ///< until all is sent
};

}  // namespace rest_fcgi::gateway
