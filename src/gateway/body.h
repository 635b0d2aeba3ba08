// SPDX-License-Identifier: MIT
#pragma once

#include <fcgiapp.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::gateway {

struct BodyLimits {
  std::size_t max_size = 0;                   ///< bytes; beyond it: too_large
  std::size_t max_discarded = 8u << 20;       ///< bytes of a refused body that are read all the same
  std::chrono::milliseconds discard_time{0};  ///< and for how long
};

/// Reads the body of one request after the other into one buffer, and wipes both that and libfcgi's, since a
/// body holds passwords. Owns the buffer. Not synchronized: one for each thread.
class Body {
 public:
  /// How far the stream was read.
  enum class End {
    complete,   ///< to its end
    abandoned,  ///< not to its end: what comes next on the connection is not the next request
    broken,     ///< the web server went away, fell silent or broke the protocol: nobody waits for an answer
  };

  explicit Body(BodyLimits limits) : limits_(limits) {}

  /// Reads the stream FCGI_STDIN. `content_length` is the variable CONTENT_LENGTH, empty where it was not
  /// sent. A body that is refused is read and thrown away, within limits: a web server that is still sending
  /// would not see our answer. May throw std::bad_alloc.
  End read(FCGX_Stream& stream, std::string_view content_length);

  /// What was read, valid until the next call of `read` or `wipe`; or too_large or malformed, as
  /// `http::Environ` says.
  [[nodiscard]] Result<std::string_view> content() const;

  /// Forgets and wipes what was read, and gives a large buffer back.
  void wipe() noexcept;

 private:
  void accept_length(std::string_view content_length);
  void take(std::string_view chunk);
  void check_length();
  void refuse(ErrorKind kind, std::string message);
  [[nodiscard]] bool tired_of_discarding(SteadyTime deadline) const;

  BodyLimits limits_;
  WipedBytes bytes_;
  std::optional<std::size_t> declared_;  ///< CONTENT_LENGTH
  std::size_t received_ = 0;
  std::size_t discarded_ = 0;
  std::optional<Error> error_;
};

}  // namespace rest_fcgi::gateway
