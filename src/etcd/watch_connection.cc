// SPDX-License-Identifier: MIT
#include "etcd/watch_connection.h"

#include <algorithm>
#include <string>
#include <utility>

namespace rest_fcgi::etcd {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

WatchConnection::WatchConnection(Gateway& gateway, Gateway::Stream stream)
    : gateway_(gateway),
      stream_(std::move(stream)),
      objects_(Transport::kMaxReply),
      heard_at_(steady_clock::now()) {}

Tried<std::vector<WatchReply>> WatchConnection::read(Deadline deadline) {
  const SteadyTime suspicious_at = heard_at_ + 2 * gateway_.try_timeout();
  Result<std::string> bytes = stream_.bytes->read(std::min(deadline, suspicious_at));
  if (!bytes) return transport_failure(std::move(bytes).error());
  if (!bytes->empty()) {
    heard_at_ = steady_clock::now();
    asked_ = {};
    return cut(*bytes);
  }
  if (steady_clock::now() >= suspicious_at) {
    if (std::optional<Failure> failure = ask_member(deadline)) return *std::move(failure);
  }
  return std::vector<WatchReply>();
}

Tried<std::vector<WatchReply>> WatchConnection::cut(std::string_view bytes) {
  const long status = stream_.bytes->status();
  objects_.append(bytes);
  std::vector<WatchReply> replies;
  for (;;) {
    Result<std::optional<std::string>> object = objects_.next();
    if (!object && status == 200) {
      return Failure{{ErrorKind::internal, "etcd: " + stream_.url + ": " + object.error().message},
                     Remedy::next_member};
    }
    if (object && !*object) return replies;
    if (status != 200) return gateway_failure({status, object ? **object : std::string()}, stream_.url);
    Tried<WatchReply> reply = read_watch_reply(**object, stream_.url);
    if (auto* failure = std::get_if<Failure>(&reply)) return std::move(*failure);
    replies.push_back(std::get<WatchReply>(std::move(reply)));
  }
}

std::optional<Failure> WatchConnection::ask_member(Deadline deadline) {
  // Whoever calls with short deadlines again and again gives it its time in parts.
  const SteadyTime start = steady_clock::now();
  const SteadyTime end = std::min(deadline, start + gateway_.try_timeout() - asked_);
  if (start >= end) return std::nullopt;
  std::optional<Failure> failure = gateway_.check(stream_, end);
  const SteadyTime now = steady_clock::now();
  if (!failure) {
    heard_at_ = now;
    asked_ = {};
    return std::nullopt;
  }
  asked_ += std::chrono::ceil<milliseconds>(now - start);
  if (now < end || asked_ >= gateway_.try_timeout()) return failure;
  return std::nullopt;
}

}  // namespace rest_fcgi::etcd
