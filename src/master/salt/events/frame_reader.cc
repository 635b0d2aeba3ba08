// SPDX-License-Identifier: MIT
#include "master/salt/events/frame_reader.h"

#include <algorithm>
#include <utility>

#include "master/salt/events/large_frame.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::salt {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kKeptBytes = 1 << 20;  // of room, after a frame that needed more

/// What says that it is longer is taken for a broken stream: to drop it would mean to hear nothing for long.
constexpr std::uint64_t kMostDropped = 1 << 30;

using Kind = ValueHeader::Kind;

Error wrong(std::string what) {
  return {ErrorKind::internal, std::move(what)};
}

/// Takes a `str` or `bin` off the front of a whole map. Absent where something else is there.
std::optional<std::string_view> take_text(std::string_view& bytes) {
  const auto header = header_of(bytes);
  if (!header || header->kind != Kind::text) return std::nullopt;
  const std::string_view text = bytes.substr(header->size, header->payload);
  bytes.remove_prefix(header->size + header->payload);
  return text;
}

/// Takes any value off the front of a whole map.
void skip_value(std::string_view& bytes) {
  ValueScanner scanner(bytes.size());
  if (const auto whole = scanner.scan(bytes); whole && *whole) bytes.remove_prefix(scanner.size());
}

/// The event in a frame. REQUIRES: the frame is one whole value.
Result<std::optional<Event>> event_in(std::string_view frame) {
  const auto map = header_of(frame);
  if (!map || map->kind != Kind::map)
    return wrong("a value that is no map; accepted is {\"head\": {}, \"body\": ...}");
  frame.remove_prefix(map->size);
  std::optional<std::string_view> body;
  for (std::uint64_t entries = map->values / 2; entries > 0; --entries) {
    const auto key = take_text(frame);
    if (!key) return wrong("a map with a key that is no text");
    if (*key != "body") {
      skip_value(frame);
    } else if (body = take_text(frame); !body) {
      return wrong("a map of which the `body` is neither `bin` nor `str`");
    }
  }
  if (!body) return wrong("a map without a `body`");
  const std::size_t end = body->find("\n\n");
  if (end == std::string_view::npos) return wrong("a `body` without two line feeds between tag and data");
  return std::optional(Event{body->substr(0, end), body->substr(end + 2)});
}

}  // namespace

FrameReader::FrameReader(std::size_t max_frame_bytes)
    : max_frame_bytes_(max_frame_bytes), scanner_(max_frame_bytes) {}

void FrameReader::feed(std::string_view bytes) {
  if (broken_) return;
  const std::uint64_t dropped = std::min<std::uint64_t>(drop_, bytes.size());
  drop_ -= dropped;
  buffer_.append(bytes.substr(dropped));
}

Result<std::optional<Event>> FrameReader::next() {
  if (broken_) return *broken_;
  auto event = take_event();
  if (!event) {
    broken_ = wrong(format("frame {} of the event stream: {}", frames_ + 1, event.error().message));
    std::string().swap(buffer_);
    return *broken_;
  }
  if (*event) {
    ++frames_;
  } else {
    let_go();
  }
  return event;
}

Result<std::optional<Event>> FrameReader::take_event() {
  if (start_ == buffer_.size()) return std::optional<Event>();
  if (!framing_) framing_ = framing_of(static_cast<unsigned char>(buffer_.front()));
  return *framing_ == Framing::bare ? bare_event() : event_with_length();
}

Result<std::optional<Event>> FrameReader::bare_event() {
  const std::string_view came = std::string_view(buffer_).substr(start_);
  const auto whole = scanner_.scan(came);
  if (whole && !*whole) return std::optional<Event>();
  const std::size_t size = scanner_.size();
  scanner_ = ValueScanner(max_frame_bytes_);
  if (!whole) return large_event(0, std::nullopt, whole.error());
  start_ += size;
  return event_in(came.substr(0, size));
}

Result<std::optional<Event>> FrameReader::event_with_length() {
  std::string_view came = std::string_view(buffer_).substr(start_);
  if (came.size() < kLengthBytes) return std::optional<Event>();
  const std::uint64_t length = big_endian(came.substr(0, kLengthBytes));
  if (length > max_frame_bytes_) {
    return large_event(
        kLengthBytes, length,
        wrong(format("a length of {} bytes; accepted are {} at most", length, max_frame_bytes_)));
  }
  came.remove_prefix(kLengthBytes);
  if (came.size() < length) return std::optional<Event>();
  const std::string_view frame = came.substr(0, length);
  ValueScanner scanner(max_frame_bytes_);
  const auto whole = scanner.scan(frame);
  if (!whole) return whole.error();
  if (!*whole || scanner.size() != length)
    return wrong(format("a length of {} bytes, where the value has not as many", length));
  start_ += kLengthBytes + frame.size();
  return event_in(frame);
}

/// The beginning of a frame that is not read for the reason `why`, which is the error where it is no event.
/// `before` bytes stand before it.
Result<std::optional<Event>> FrameReader::large_event(std::size_t before, std::optional<std::uint64_t> length,
                                                      Error why) {
  const std::size_t came = buffer_.size() - start_;
  const auto frame = LargeFrame::read(std::string_view(buffer_).substr(start_ + before));
  if (!frame) return why;
  if (!*frame) return std::optional<Event>();
  const auto& [size, tag, data] = **frame;
  if (size != length.value_or(size) || size > kMostDropped) return why;
  const std::uint64_t all = before + size;
  const std::uint64_t here = std::min<std::uint64_t>(all, came);
  start_ += here;
  drop_ = all - here;
  return std::optional(Event{tag, data, size});
}

void FrameReader::let_go() {
  if (start_ == 0) return;
  if (buffer_.capacity() > kKeptBytes) {
    std::string(buffer_, start_).swap(buffer_);  // an assignment may keep the room
  } else {
    buffer_.erase(0, start_);
  }
  start_ = 0;
}

}  // namespace rest_fcgi::salt
