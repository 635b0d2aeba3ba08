// SPDX-License-Identifier: MIT
#include "master/salt/events/event.h"

#include <utility>

#include "master/salt/packed/packed.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/jid.h"
#include "rest_fcgi/core/text.h"

// The byte stream of the event bus is a sequence of frames:
//   length  4 bytes, big-endian    the size of the map. Only with `Framing::with_length`.
//   map     msgpack                {"head": {}, "body": BODY}
// BODY is the tag, two line feeds, and the data as one msgpack map.
// Invariant of FrameReader until its first error: a frame begins at `start_`, and `buffer_` has from there on
// all received bytes that `next` has not yet returned.

namespace rest_fcgi::salt {
namespace {

/// Returns whether the text is as long as a job id. With `unique_jid`, a job id has also a process id. A
/// minion may send tags with longer ids.
bool fits_jid(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kMaxJidLength;
}

bool take(std::string_view& text, std::string_view prefix) noexcept {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<Topic> syndic_topic(std::string_view rest) noexcept {
  // A syndic's id may have slashes, but a jid has no slash. The last slash therefore precedes the jid.
  const std::size_t slash = rest.rfind('/');
  if (slash == std::string_view::npos || slash == 0 || !fits_jid(rest.substr(slash + 1))) return std::nullopt;
  return Topic{Topic::Kind::syndic, rest.substr(slash + 1), rest.substr(0, slash)};
}

using Frame = std::optional<std::string_view>;

constexpr std::size_t kLengthBytes = 4;
// When all complete frames have been read, the buffer keeps at most this capacity in bytes.
constexpr std::size_t kKeptBytes = 1 << 20;

Error wrong(std::string what) {
  return {ErrorKind::internal, std::move(what)};
}

Result<std::optional<Event>> event_in(std::string_view frame) {
  std::optional<PackedValue> body;
  bool all_texts = true;
  const Result<void> shown = each_member(frame, [&](const PackedValue& key, const PackedValue& value) {
    all_texts = all_texts && key.kind == PackedValue::Kind::text;
    if (key.text == "body") body = value;
  });
  if (!shown) return wrong("found a value that is not a map, expected {\"head\": {}, \"body\": ...}");
  if (!all_texts) return wrong("found a map with a key that is not a string");
  if (!body) return wrong("found a map without `body`");
  if (body->kind != PackedValue::Kind::text) {
    return wrong("found a map with a wrong `body`, expected `bin` or `str`");
  }
  const std::size_t end = body->text.find("\n\n");
  if (end == std::string_view::npos)
    return wrong("found a `body` without two line feeds between tag and data");
  return std::optional(Event{body->text.substr(0, end), body->text.substr(end + 2)});
}

}  // namespace

std::optional<JobTag> job_tag(std::string_view tag) noexcept {
  JobTag job{JobTag::Of::job, {}, {}};
  if (take(tag, "salt/run/")) {
    job.of = JobTag::Of::runner;
  } else if (take(tag, "salt/wheel/")) {
    job.of = JobTag::Of::wheel;
  } else if (!take(tag, "salt/job/")) {
    const bool bare =
        tag.size() >= kJidDigits && tag.find_first_not_of("0123456789_") == std::string_view::npos;
    if (!bare || !fits_jid(tag)) return std::nullopt;
    job.jid = tag;
    return job;
  }
  job.jid = next_token(tag, '/');
  job.rest = tag;
  if (!fits_jid(job.jid) || job.rest.empty()) return std::nullopt;
  return job;
}

std::optional<Topic> topic_of(std::string_view tag) noexcept {
  if (take(tag, "syndic/")) return syndic_topic(tag);
  const auto job = job_tag(tag);
  if (!job) return std::nullopt;
  std::string_view rest = job->rest;
  if (job->of == JobTag::Of::job && take(rest, "ret/") && !rest.empty()) {
    return Topic{Topic::Kind::job_return, job->jid, rest};
  }
  if (job->of != JobTag::Of::runner || (rest != "ret" && rest != "new")) return std::nullopt;
  return Topic{rest == "ret" ? Topic::Kind::runner_return : Topic::Kind::runner_new, job->jid, {}};
}

void FrameReader::feed(std::string_view bytes) {
  if (!broken_) buffer_.append(bytes);
}

Result<std::optional<Event>> FrameReader::next() {
  if (broken_) return *broken_;
  const auto frame = take_frame();
  if (frame && !*frame) {
    let_go();
    return std::optional<Event>();
  }
  auto event = frame ? event_in(**frame) : frame.error();
  if (event) {
    ++frames_;
    return event;
  }
  broken_ = wrong(format("frame {} of the event stream: {}", frames_ + 1, event.error().message));
  std::string().swap(buffer_);
  return *broken_;
}

Result<Frame> FrameReader::take_frame() {
  if (start_ == buffer_.size()) return Frame();
  if (!framing_) framing_ = framing_of(static_cast<unsigned char>(buffer_.front()));
  return *framing_ == Framing::bare ? take_bare_frame() : take_frame_with_length();
}

/// Takes the next frame of a stream without lengths. An incomplete frame is parsed again when more bytes
/// arrive. Parsing is fast because the parser skips `body`.
Result<Frame> FrameReader::take_bare_frame() {
  const std::string_view came = std::string_view(buffer_).substr(start_);
  const auto size = whole_value(came);
  if (!size) return size.error();
  if (size->value_or(came.size()) > max_frame_bytes_) {
    return wrong(format("found more than {} bytes", max_frame_bytes_));
  }
  if (!*size) return Frame();
  start_ += **size;
  return Frame(came.substr(0, **size));
}

Result<Frame> FrameReader::take_frame_with_length() {
  std::string_view came = std::string_view(buffer_).substr(start_);
  if (came.size() < kLengthBytes) return Frame();
  std::size_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) length = length << 8 | static_cast<unsigned char>(came[i]);
  if (length > max_frame_bytes_) {
    return wrong(format("found a length of {} bytes, expected at most {}", length, max_frame_bytes_));
  }
  came.remove_prefix(kLengthBytes);
  if (came.size() < length) return Frame();
  const std::string_view frame = came.substr(0, length);
  const auto size = whole_value(frame);
  if (!size) return size.error();
  if (*size != length)
    return wrong(format("found a length of {} bytes, expected the length of the value", length));
  start_ += kLengthBytes + length;
  return Frame(frame);
}

void FrameReader::let_go() {
  if (start_ == 0) return;
  if (buffer_.capacity() > kKeptBytes) {
    // Replaces the buffer, because `erase` would keep the memory of a large buffer.
    std::string(buffer_, start_).swap(buffer_);
  } else {
    buffer_.erase(0, start_);
  }
  start_ = 0;
}

}  // namespace rest_fcgi::salt
