// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/watch/options.h"

/// `rest_fcgi --watch`: shows the events of a running service in the terminal.
namespace rest_fcgi::watch {

/// Finds the values of the field `data` in a stream of Server-Sent Events. Used by one thread.
class DataReader {
 public:
  /// The longest line of a stream in bytes.
  static constexpr std::size_t kMaxLine = std::size_t{64} << 20;

  /// Takes the next bytes of the stream. Calls `take` for each value that is complete. Errors: internal, if a
  /// line is too long.
  Result<void> read(std::string_view bytes, const std::function<void(std::string_view)>& take);

 private:
  std::string line_;  ///< The beginning of a line whose end has not arrived.
};

/// Returns the text for a terminal. Control characters get the form `\u001b`, which is also valid inside a
/// string of JSON.
[[nodiscard]] std::string escaped(std::string_view text);

/// Returns the line for an event, with its line feed. Returns an empty text if the tag does not match.
/// `event` is the JSON object with `tag` and `data`. Control characters are escaped.
[[nodiscard]] std::string line_of(std::string_view event, const Options& options);

/// Prints the service's events to standard output until the service ends the stream. Always returns an error,
/// whose message says why the stream ended. Errors: authentication, if the service refuses the token;
/// unavailable, if the service does not answer or ended the stream; internal.
[[nodiscard]] Error run(const Options& options, const Secret& token);

}  // namespace rest_fcgi::watch
