// SPDX-License-Identifier: MIT
#include "rest_fcgi/etcd/watcher.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "etcd/gateway.h"
#include "etcd/watch_wire.h"
#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// A connection that lasted so long had nothing wrong with it from the start.
constexpr std::chrono::seconds kLasting{5};

/// Before the next connection is opened. A break at once after another one may be due to what is asked for.
milliseconds pause_after(unsigned breaks) {
  return breaks < 2 ? milliseconds(0) : milliseconds(100) * (1U << std::min(breaks - 2, 4U));
}

}  // namespace

/// One connection of a watch, and an eye on its member: one that is cut off from the others, or does not run
/// any more, says nothing, just as one with nothing to tell. Not synchronized.
class WatchConnection {
 public:
  /// `gateway`, which opened the stream, has to outlive it.
  WatchConnection(Gateway& gateway, Gateway::Stream stream)
      : gateway_(gateway),
        stream_(std::move(stream)),
        objects_(Transport::kMaxReply),
        heard_at_(steady_clock::now()) {}

  /// The replies that came since, or come first until `deadline`; none where nothing does. A failure: nothing
  /// will come any more.
  [[nodiscard]] Tried<std::vector<WatchReply>> read(Deadline deadline) {
    const SteadyTime suspicious_at = heard_at_ + 2 * gateway_.try_timeout();
    Result<std::string> bytes = stream_.bytes->read(std::min(deadline, suspicious_at));
    if (!bytes) return transport_failure(std::move(bytes).error());
    if (!bytes->empty()) {
      answered_ = true;
      heard_at_ = steady_clock::now();
      asked_ = {};
      return cut(*bytes);
    }
    if (steady_clock::now() >= suspicious_at) {
      // A member says at once that it watches: this request did not come to it.
      if (!answered_) {
        return Failure{{ErrorKind::unavailable, "etcd: " + stream_.url + ": no answer to a watch"},
                       Remedy::next_member};
      }
      if (std::optional<Failure> failure = ask_member(deadline)) return *std::move(failure);
    }
    return std::vector<WatchReply>();
  }

  [[nodiscard]] const Gateway::Stream& stream() const noexcept { return stream_; }

 private:
  [[nodiscard]] Tried<std::vector<WatchReply>> cut(std::string_view bytes) {
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

  [[nodiscard]] std::optional<Failure> ask_member(Deadline deadline) {
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

  Gateway& gateway_;
  Gateway::Stream stream_;
  bool answered_ = false;
  ObjectReader objects_;
  SteadyTime heard_at_;                 // of it, on whichever connection
  std::chrono::milliseconds asked_{0};  // for how long its answer has been waited for since
};

/// What is known of a watch, beyond its connections.
class Watcher::Stream {
 public:
  Stream(Gateway& gateway, WatchRequest request)
      : gateway_(gateway), request_(std::move(request)), backlog_(request_.start_revision) {}

  [[nodiscard]] Result<std::vector<WatchEvent>> next(Deadline deadline) {
    refused_ = false;
    // What has come already is told, however late it is.
    for (bool late = false;; late = steady_clock::now() >= deadline) {
      if (std::optional<std::vector<WatchEvent>> events = backlog_.take()) return *std::move(events);
      if (ended_) return *ended_;
      if (late && !connection_ && broken_) return *broken_;
      if (late) return std::vector<WatchEvent>();
      if (Result<void> went_on = go_on(deadline); !went_on) return std::move(went_on).error();
    }
  }

 private:
  /// Opens a connection where there is none, and takes what comes.
  [[nodiscard]] Result<void> go_on(Deadline deadline) {
    if (!connection_) {
      std::this_thread::sleep_until(std::min(deadline, opened_at_ + pause_after(breaks_)));
      if (steady_clock::now() >= deadline) return {};
      if (Result<void> opened = open(deadline); !opened) return opened;
    }
    std::optional<Failure> failure = receive(deadline);
    return failure ? mend(*std::move(failure)) : Result<void>();
  }

  [[nodiscard]] Result<void> open(Deadline deadline) {
    const std::string body = watch_body(request_, backlog_.next_revision(), fragment_);
    Result<Gateway::Stream> stream = gateway_.open("/watch", body, deadline);
    if (!stream) return std::move(stream).error();
    connection_.emplace(gateway_, *std::move(stream));
    opened_at_ = steady_clock::now();
    return {};
  }

  [[nodiscard]] std::optional<Failure> receive(Deadline deadline) {
    Tried<std::vector<WatchReply>> read = connection_->read(deadline);
    if (auto* failure = std::get_if<Failure>(&read)) return std::move(*failure);
    for (WatchReply& reply : std::get<std::vector<WatchReply>>(read)) {
      if (std::optional<Failure> failure = take(std::move(reply))) return failure;
      if (ended_) break;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Failure> take(WatchReply reply) {
    const std::uint64_t cluster_id = reply.header.cluster_id;
    if (cluster_id_ == 0) cluster_id_ = cluster_id;
    if (cluster_id != 0 && cluster_id != cluster_id_) {
      end({ErrorKind::invocation, "etcd: the cluster was made anew, and its revisions count from the start"});
      return std::nullopt;
    }
    if (reply.canceled) {
      Failure failure = cancel_failure(reply, connection_->stream().url);
      if (reply.compact_revision == 0) return failure;
      end(std::move(failure.error));
      return std::nullopt;
    }
    refused_ = false;
    if (!reply.events.empty()) breaks_ = 0;
    backlog_.add(std::move(reply));
    return std::nullopt;
  }

  /// Closes the connection. Errors: another one would not help.
  [[nodiscard]] Result<void> mend(Failure failure) {
    breaks_ = steady_clock::now() - opened_at_ < kLasting ? breaks_ + 1 : 0;
    const bool elsewhere = failure.remedy == Remedy::next_member || failure.remedy == Remedy::other_prefix;
    const bool anew = failure.remedy == Remedy::authenticate && !refused_;
    const bool plainly = fragment_ && failure.error.kind == ErrorKind::invocation &&
                         failure.error.message.find("fragment") != std::string::npos;
    if (elsewhere) gateway_.failed(connection_->stream());
    if (failure.remedy == Remedy::authenticate) {
      gateway_.refused(connection_->stream());
      refused_ = true;
    }
    if (plainly) fragment_ = false;
    connection_.reset();
    backlog_.broken();
    broken_ = std::move(failure.error);
    if (elsewhere || anew || plainly) return {};
    return *broken_;
  }

  void end(Error error) {
    ended_ = std::move(error);
    connection_.reset();
    backlog_.broken();
  }

  Gateway& gateway_;
  const WatchRequest request_;
  WatchBacklog backlog_;
  std::optional<WatchConnection> connection_;
  SteadyTime opened_at_{};
  unsigned breaks_ = 0;   // of connections that did not last, one after the other
  bool refused_ = false;  // so was the last token
  bool fragment_ = true;  // until a server says that it does not know the word
  std::uint64_t cluster_id_ = 0;
  std::optional<Error> broken_;  // why the last connection is gone
  std::optional<Error> ended_;   // for ever
};

Watcher::Watcher(Client& client, WatchRequest request)
    : stream_(std::make_unique<Stream>(*client.gateway_, std::move(request))) {}

Watcher::~Watcher() = default;

Result<std::vector<WatchEvent>> Watcher::next(Deadline deadline) {
  return stream_->next(deadline);
}

}  // namespace rest_fcgi::etcd
