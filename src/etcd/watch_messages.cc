// SPDX-License-Identifier: MIT
#include "etcd/watch_messages.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "etcd/messages.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::etcd {
namespace {

/// A reason why etcd cancels a watch. The client recognizes the reason by its text, because etcd uses one
/// gRPC code for several reasons.
struct Reason {
  // A part of the field `cancel_reason` in etcd's reply.
  std::string_view text;
  ErrorKind kind;
  RetryAction action;
};
constexpr std::array kReasons{
    Reason{"invalid auth token", ErrorKind::authentication, RetryAction::authenticate},
    Reason{"user name is empty", ErrorKind::authentication, RetryAction::authenticate},
    Reason{"revision of auth store is old", ErrorKind::authentication, RetryAction::authenticate},
    Reason{"permission denied", ErrorKind::authorization, RetryAction::none},
};

WatchEvent read_event(const MessageFields& fields) {
  WatchEvent event{.is_delete = fields.text("type") == "DELETE", .kv = {}, .prev_kv = read_prev_kv(fields)};
  if (const auto kv = fields.require("kv")) event.kv = read_key_value(*kv);
  return event;
}

WatchReply read_reply_fields(const MessageFields& root) {
  const std::optional<MessageFields> fields = root.require("result");
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

void LineReader::append(std::string_view bytes) {
  buffer_.erase(0, begin_);
  scanned_ -= begin_;
  begin_ = 0;
  buffer_ += bytes;
}

Result<std::optional<std::string>> LineReader::next() {
  for (;;) {
    const std::size_t end = buffer_.find('\n', scanned_);
    scanned_ = std::min(end, buffer_.size());
    if (scanned_ - begin_ > most_) {
      return Error{ErrorKind::internal,
                   format("malformed reply: found a message of more than {} bytes", most_)};
    }
    if (end == std::string::npos) return std::optional<std::string>();
    std::string line = buffer_.substr(begin_, end - begin_);
    begin_ = scanned_ = end + 1;
    if (!line.empty()) return std::optional(std::move(line));
  }
}

std::string LineReader::rest() {
  std::string line = buffer_.substr(begin_);
  begin_ = scanned_ = buffer_.size();
  return line;
}

std::string watch_body(const WatchRequest& request, std::int64_t start_revision, bool fragment) {
  return written_json([&](JsonWriter& writer) {
           writer.begin_object().key("create_request").begin_object();
           write_bytes(writer, "key", request.key);
           write_bytes(writer, "range_end", request.range_end);
           write_int64(writer, "start_revision", start_revision);
           write_flag(writer, "prev_kv", true);
           // With progress notifications, `next_revision_` grows even while no events come. Otherwise etcd
           // could compact the next revision.
           write_flag(writer, "progress_notify", true);
           write_flag(writer, "fragment", fragment);
           writer.end_object().end_object();
         })
      .text();
}

Tried<WatchReply> read_watch_reply(std::string_view message, std::string_view url) {
  JsonDocument document;
  if (Result<void> parsed = document.parse(message, JsonLimits::none()); !parsed) {
    return Failure{
        {ErrorKind::internal, format("etcd: {}: malformed reply: {}", url, parsed.error().message)},
        RetryAction::next_member};
  }
  if (const auto error = document.root().find("error")) return stream_failure(*error, url);
  Result<WatchReply> reply = read_reply(document, read_reply_fields);
  if (!reply) return Failure{std::move(reply).error(), RetryAction::next_member};
  return *std::move(reply);
}

Failure cancel_failure(const WatchReply& reply, std::string_view url) {
  if (reply.compact_revision != 0) {
    return {{ErrorKind::invocation,
             format("etcd: {}: revisions before {} are compacted", url, reply.compact_revision)}};
  }
  for (const Reason& reason : kReasons) {
    if (reply.cancel_reason.find(reason.text) == std::string::npos) continue;
    return {{reason.kind, format("etcd: {}: {}", url, reason.text)}, reason.action};
  }
  return {{ErrorKind::unavailable,
           format("etcd: {}: etcd canceled the watch: {}", url, excerpt(reply.cancel_reason, kMostQuoted))},
          RetryAction::next_member};
}

void WatchBacklog::add(WatchReply reply) {
  for (WatchEvent& event : reply.events) {
    const std::int64_t revision = event.kv.mod_revision;
    if (revision < next_revision_) continue;
    if (is_last_open_ && revisions_.back().front().kv.mod_revision != revision) close_last();
    if (!is_last_open_) revisions_.emplace_back();
    is_last_open_ = true;
    revisions_.back().push_back(std::move(event));
  }
  if (is_last_open_ && !reply.fragment) close_last();
  // A reply without events is a progress notification: all events up to its revision have arrived.
  const bool is_progress = reply.events.empty() && !reply.created;
  if (is_progress) next_revision_ = std::max(next_revision_, reply.header.revision + 1);
}

void WatchBacklog::close_last() {
  next_revision_ = revisions_.back().front().kv.mod_revision + 1;
  is_last_open_ = false;
}

std::optional<std::vector<WatchEvent>> WatchBacklog::take() {
  if (revisions_.empty() || (is_last_open_ && revisions_.size() == 1)) return std::nullopt;
  std::vector<WatchEvent> events = std::move(revisions_.front());
  revisions_.pop_front();
  return events;
}

void WatchBacklog::note_break() {
  if (is_last_open_) revisions_.pop_back();
  is_last_open_ = false;
}

}  // namespace rest_fcgi::etcd
