// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/record_filter.h"
#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::gateway {

/// What comes in on one connection, read for one request after the other. As long as it lives, libfcgi's
/// reads on the thread that made it go through it (see os_read.cc), for as long as a web server may take:
///
///   - the receive time-out for the first byte,
///   - from then on the same once more for the variables to be there whole,
///   - from then on the same for each further part of the body, and in all for the body, plus a second for
///     each `kBodyRate` bytes of it that came.
///
/// Does not own the connection, nor the clock. To be used and destroyed on the thread that made it.
class Incoming {
 public:
  static constexpr std::size_t kBodyRate = 4096;  ///< bytes a second; a modem does as much

  Incoming(int connection, std::chrono::milliseconds receive_timeout,
           const Clock& clock = system_clock()) noexcept;
  ~Incoming();
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;

  /// What libfcgi's reads on the calling thread go through; nullptr: nothing.
  static Incoming* of_this_thread() noexcept;

  /// What comes next is a request's first record.
  void begin_request() noexcept;

  /// As read(2). -1 with EPROTO: libfcgi must not see what came; with ETIMEDOUT: it did not come in time.
  int read(char* buffer, std::size_t size) noexcept;

  /// Why the last read failed, where the peer broke a rule. Empty: it did not, or never said a word.
  [[nodiscard]] std::string problem() const;

 private:
  bool accept(std::string_view bytes) noexcept;
  [[nodiscard]] std::optional<SteadyTime> deadline() const noexcept;
  [[nodiscard]] bool await_bytes(SteadyTime until) const noexcept;
  void give_up() noexcept;

  const int connection_;
  const std::chrono::milliseconds receive_timeout_;
  const Clock& clock_;
  Incoming* const outer_;  ///< what the thread's reads went through before

  RecordFilter filter_;
  std::optional<SteadyTime> begun_;       ///< when the first bytes had come, and more had to
  std::optional<SteadyTime> body_begun_;  ///< and when the variables had
  bool late_ = false;
};

}  // namespace rest_fcgi::gateway
