// SPDX-License-Identifier: MIT
#include "etcd/watch_wire.h"

#include <array>
#include <optional>
#include <utility>

#include "etcd/fields.h"
#include "etcd/kv_reply.h"
#include "etcd/kv_request.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::etcd {
namespace {

constexpr std::size_t kMostOfReason = 200;

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
           format("etcd: {}: the watch was canceled: {}", url, excerpt(reply.cancel_reason, kMostOfReason))},
          Remedy::next_member};
}

}  // namespace rest_fcgi::etcd
