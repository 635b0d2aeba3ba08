// SPDX-License-Identifier: MIT
#include "etcd/watch_wire.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "etcd/kv.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::etcd {
namespace {

/// What a reason contains. The code of gRPC that stands in it is less telling: without a user's name it is
/// InvalidArgument, as for much else.
struct Reason {
  std::string_view text;
  ErrorKind kind;
  Remedy remedy;
};
constexpr std::array kReasons{
    Reason{"invalid auth token", ErrorKind::authentication, Remedy::authenticate},
    Reason{"user name is empty", ErrorKind::authentication, Remedy::authenticate},
    Reason{"revision of auth store is old", ErrorKind::authentication, Remedy::authenticate},
    Reason{"permission denied", ErrorKind::authorization, Remedy::none},
};

WatchEvent read_event(const Fields& fields) {
  WatchEvent event;
  if (fields.text("type") == "DELETE") event.type = WatchEvent::Type::deleted;
  if (const auto kv = fields.require("kv")) event.kv = read_key_value(*kv);
  if (const auto prev_kv = fields.message("prev_kv")) event.prev_kv = read_key_value(*prev_kv);
  return event;
}

WatchReply read_reply_fields(const Fields& root) {
  const std::optional<Fields> fields = root.require("result");
  if (!fields) return {};
  return {.header = read_header(*fields),
          .created = fields->boolean("created"),
          .canceled = fields->boolean("canceled"),
          .fragment = fields->boolean("fragment"),
          .compact_revision = fields->int64("compact_revision"),
          .cancel_reason = fields->text("cancel_reason"),
          .events = fields->each("events", read_event)};
}

}  // namespace

void ObjectReader::append(std::string_view bytes) {
  buffer_.erase(0, begin_);
  at_ -= begin_;
  begin_ = 0;
  buffer_ += bytes;
}

Result<std::optional<std::string>> ObjectReader::next() {
  if (depth_ == 0) {
    at_ = std::min(buffer_.find_first_not_of(" \t\r\n", at_), buffer_.size());
    begin_ = at_;
    if (at_ == buffer_.size()) return std::optional<std::string>();
    if (buffer_[at_] != '{') {
      return Error{ErrorKind::internal, format("the reply goes on with the byte 0x{:02x}, not with an object",
                                               static_cast<unsigned char>(buffer_[at_]))};
    }
  }
  const bool ended = find_end();
  if (at_ - begin_ > most_) {
    return Error{ErrorKind::internal, format("the reply has an object of more than {} bytes", most_)};
  }
  if (!ended) return std::optional<std::string>();
  std::string object = buffer_.substr(begin_, at_ - begin_);
  begin_ = at_;
  return std::optional<std::string>(std::move(object));
}

bool ObjectReader::find_end() {
  for (; at_ < buffer_.size(); ++at_) {
    const char c = buffer_[at_];
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
      }
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && --depth_ == 0) {
      ++at_;
      return true;
    }
  }
  return false;
}

std::string watch_body(const WatchRequest& request, std::int64_t start_revision, bool fragment) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("create_request").begin_object();
  write_bytes(writer, "key", request.key);
  write_bytes(writer, "range_end", request.range_end);
  write_int64(writer, "start_revision", start_revision);
  write_flag(writer, "prev_kv", request.prev_kv);
  // While nothing happens it moves the revision on from which a break is mended, away from what is compacted.
  write_flag(writer, "progress_notify", true);
  write_flag(writer, "fragment", fragment);
  writer.end_object().end_object();
  return text;
}

Tried<WatchReply> read_watch_reply(std::string_view object, std::string_view url) {
  JsonDocument document;
  if (Result<void> parsed = document.parse(object, JsonLimits::none()); !parsed) {
    return Failure{{ErrorKind::internal, format("etcd: {}: {}", url, parsed.error().message)},
                   Remedy::next_member};
  }
  if (const auto error = document.root().find("error")) return stream_failure(*error, url);
  Result<WatchReply> reply = read_reply(document, read_reply_fields);
  if (!reply) return Failure{std::move(reply).error(), Remedy::next_member};
  return *std::move(reply);
}

Failure cancel_failure(const WatchReply& reply, std::string_view url) {
  if (reply.compact_revision != 0) {
    return {{ErrorKind::invocation,
             format("etcd: all before revision {} is compacted away", reply.compact_revision)}};
  }
  for (const Reason& reason : kReasons) {
    if (reply.cancel_reason.find(reason.text) == std::string::npos) continue;
    return {{reason.kind, format("etcd: {}: {}", url, reason.text)}, reason.remedy};
  }
  return {{ErrorKind::unavailable,
           format("etcd: {}: the watch was canceled: {}", url, excerpt(reply.cancel_reason, kMostOfText))},
          Remedy::next_member};
}

void WatchBacklog::add(WatchReply reply) {
  for (WatchEvent& event : reply.events) {
    const std::int64_t revision = event.kv.mod_revision;
    if (revision < next_revision_) continue;
    if (last_is_open_ && revisions_.back().front().kv.mod_revision != revision) close_last();
    if (!last_is_open_) revisions_.emplace_back();
    last_is_open_ = true;
    revisions_.back().push_back(std::move(event));
  }
  if (last_is_open_ && !reply.fragment) close_last();
  // A reply with events tells in its header the newest revision of the store, of which it may be far behind.
  // One that creates a watch in the past does, too.
  const bool tells_progress = reply.events.empty() && (!reply.created || next_revision_ == 0);
  if (tells_progress) next_revision_ = std::max(next_revision_, reply.header.revision + 1);
}

void WatchBacklog::close_last() {
  next_revision_ = revisions_.back().front().kv.mod_revision + 1;
  last_is_open_ = false;
}

std::optional<std::vector<WatchEvent>> WatchBacklog::take() {
  if (revisions_.empty() || (last_is_open_ && revisions_.size() == 1)) return std::nullopt;
  std::vector<WatchEvent> events = std::move(revisions_.front());
  revisions_.pop_front();
  return events;
}

void WatchBacklog::broken() {
  if (last_is_open_) revisions_.pop_back();
  last_is_open_ = false;
}

}  // namespace rest_fcgi::etcd
