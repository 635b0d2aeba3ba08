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

/// Finds the fields in a stream of Server-Sent Events. Used by one thread.
class FieldReader {
 public:
  /// The longest line of a stream in bytes.
  static constexpr std::size_t kMaxLine = std::size_t{64} << 20;

  /// `name` is empty for a comment.
  using Take = std::function<void(std::string_view name, std::string_view value)>;

  /// Takes the next bytes of the stream. Calls `take` for each complete field. Errors: internal, if a line is
  /// too long.
  Result<void> read(std::string_view bytes, const Take& take);

 private:
  std::string line_;  ///< The beginning of a line whose end has not arrived.
};

/// Returns the text for a terminal. Control characters get the form `\u001b`, which is also valid inside a
/// string of JSON.
[[nodiscard]] std::string escaped(std::string_view text);

/// Returns the line for an event, with its line feed. Returns an empty text if the tag does not match.
/// `event` is the JSON object with `tag` and `data`. Control characters are escaped. For a return that
/// failed, the line has the text of the failure.
[[nodiscard]] std::string line_of(std::string_view event, const Options& options);

/// Prints the service's events to standard output. If the stream ends, connects again after a pause. Standard
/// error gets a line for each start and each end of a stream. Returns only after an error. Errors:
/// authentication, if the service refuses the token; unavailable, if the first connection gets no stream;
/// internal.
[[nodiscard]] Error run(Options options, const Secret& token);

}  // namespace rest_fcgi::watch
