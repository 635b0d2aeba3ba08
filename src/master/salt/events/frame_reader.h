// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "master/salt/events/event.h"
#include "master/salt/lines.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::salt {

/// Takes the byte stream of a master's event bus apart. Does no input or output. Not synchronized.
///
///     with_length:  | length, 4 bytes | {"head": {}, "body": bin} | length | ...
///     bare:                           | {"head": {}, "body": bin} | {"head": ...
///                                                             |
///                                     body:  tag, "\n\n", one msgpack map
///
/// Source: the frames of all living lines. The first byte tells the framing. `body` may be a `str` as well,
/// and other entries of the map are ignored.
class FrameReader {
 public:
  explicit FrameReader(std::size_t max_frame_bytes) : max_frame_bytes_(max_frame_bytes) {}

  /// Takes what came, which may end anywhere. To be followed by calls of `next` until one gives nothing: what
  /// it holds grows with what came, never with a length that was announced.
  void feed(std::string_view bytes);

  /// The next whole event, absent until more was fed. It borrows from this until the next call. Errors:
  /// internal, for what is no such stream, or a frame that is too large; then it gives no more events, but
  /// the same error again.
  [[nodiscard]] Result<std::optional<Event>> next();

 private:
  /// The next whole frame, taken out of the buffer.
  [[nodiscard]] Result<std::optional<std::string_view>> take_frame();
  [[nodiscard]] Result<std::optional<std::string_view>> take_bare_frame();
  [[nodiscard]] Result<std::optional<std::string_view>> take_frame_with_length();
  void let_go();

  const std::size_t max_frame_bytes_;
  std::string buffer_;
  std::size_t start_ = 0;  // of the frame that comes, in buffer_
  std::optional<Framing> framing_;
  std::uint64_t frames_ = 0;
  std::optional<Error> broken_;
};

}  // namespace rest_fcgi::salt
