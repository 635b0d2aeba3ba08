// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "etcd/cluster.h"
#include "etcd/messages.h"
#include "etcd/watch_messages.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/etcd/client.h"

namespace rest_fcgi::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// If a connection ends within this time after its start, the pause before the next connection grows.
constexpr std::chrono::seconds kLasting{5};

}  // namespace

/// A connection of a watch. If the member sends nothing for some time, it may hang or have no leader. The
/// WatchConnection then asks for the member's status on a separate connection. Not thread-safe.
class WatchConnection {
 public:
  /// REQUIRES: `cluster` has opened `stream`. `cluster` outlives this object.
  WatchConnection(Cluster& cluster, Cluster::Stream stream)
      : cluster_(cluster),
        stream_(std::move(stream)),
        lines_(Transport::kMaxReply),
        heard_at_(steady_clock::now()) {}

  /// Waits for replies until the deadline. After a failure, the connection cannot be used again.
  [[nodiscard]] Tried<std::vector<WatchReply>> read(Deadline deadline) {
    const SteadyTime suspicious_at = heard_at_ + 2 * cluster_.try_timeout();
    Result<std::string> bytes = stream_.bytes->read(std::min(deadline, suspicious_at));
    if (!bytes) return read_rest(transport_failure(std::move(bytes).error()));
    if (!bytes->empty()) {
      has_answered_ = true;
      heard_at_ = steady_clock::now();
      asked_ = {};
      return split(*bytes);
    }
    if (steady_clock::now() >= suspicious_at) {
      // A working member confirms a new watch without delay.
      if (!has_answered_) {
        return Failure{
            {ErrorKind::unavailable, format("etcd: {}: the watch got no answer in time", stream_.url)},
            RetryAction::next_member};
      }
      if (std::optional<Failure> failure = ask_member(deadline)) return *std::move(failure);
    }
    return std::vector<WatchReply>();
  }

  [[nodiscard]] const Cluster::Stream& stream() const noexcept { return stream_; }

 private:
  /// Reads the bytes after the stream's last newline, which may be an error message. If these bytes are not a
  /// complete message, returns `end`, the failure that ended the stream.
  [[nodiscard]] Tried<std::vector<WatchReply>> read_rest(Failure end) {
    const std::string rest = lines_.rest();
    if (rest.empty()) return end;
    Tried<std::vector<WatchReply>> replies = split(rest + "\n");
    const auto* failure = std::get_if<Failure>(&replies);
    const bool is_partial = failure != nullptr && failure->error.kind == ErrorKind::internal;
    if (is_partial && stream_.bytes->status() == 200) return end;
    return replies;
  }

  [[nodiscard]] Tried<std::vector<WatchReply>> split(std::string_view bytes) {
    const long status = stream_.bytes->status();
    lines_.append(bytes);
    std::vector<WatchReply> replies;
    for (;;) {
      const Result<std::optional<std::string>> line = lines_.next();
      if (!line) {
        return Failure{{ErrorKind::internal, format("etcd: {}: {}", stream_.url, line.error().message)},
                       RetryAction::next_member};
      }
      if (!*line) return replies;
      if (status != 200) return gateway_failure({status, **line}, stream_.url);
      Tried<WatchReply> reply = read_watch_reply(**line, stream_.url);
      if (auto* failure = std::get_if<Failure>(&reply)) return std::move(*failure);
      replies.push_back(std::get<WatchReply>(std::move(reply)));
    }
  }

  [[nodiscard]] std::optional<Failure> ask_member(Deadline deadline) {
    // One call may be too short to get the member's status, so several calls share the time limit
    // `try_timeout`.
    const SteadyTime start = steady_clock::now();
    const SteadyTime end = std::min(deadline, start + cluster_.try_timeout() - asked_);
    if (start >= end) return std::nullopt;
    std::optional<Failure> failure = cluster_.check(stream_, end);
    const SteadyTime now = steady_clock::now();
    if (!failure) {
      heard_at_ = now;
      asked_ = {};
      return std::nullopt;
    }
    asked_ += std::chrono::ceil<milliseconds>(now - start);
    if (now < end || asked_ >= cluster_.try_timeout()) return failure;
    return std::nullopt;
  }

  Cluster& cluster_;
  Cluster::Stream stream_;
  bool has_answered_ = false;
  LineReader lines_;
  SteadyTime heard_at_;
  milliseconds asked_{0};  // The time that status requests have taken since `heard_at_`.
};

class Watcher::Stream {
 public:
  Stream(Cluster& cluster, WatchRequest request)
      : cluster_(cluster), request_(std::move(request)), backlog_(request_.start_revision) {}

  Result<std::vector<WatchEvent>> next(Deadline deadline) {
    is_token_refused_ = false;
    for (bool is_late = false;; is_late = steady_clock::now() >= deadline) {
      if (std::optional<std::vector<WatchEvent>> events = backlog_.take()) return *std::move(events);
      if (final_error_) return *final_error_;
      if (is_late && !connection_ && last_error_) return *last_error_;
      if (is_late) return std::vector<WatchEvent>();
      if (Result<void> received = receive_some(deadline); !received) return std::move(received).error();
    }
  }

 private:
  Result<void> receive_some(Deadline deadline) {
    if (!connection_) {
      const milliseconds pause =
          early_breaks_ < 2 ? milliseconds(0) : milliseconds(100) * (1U << std::min(early_breaks_ - 2, 4U));
      std::this_thread::sleep_until(std::min(deadline, opened_at_ + pause));
      if (steady_clock::now() >= deadline) return {};
      if (Result<void> opened = open(deadline); !opened) return opened;
    }
    std::optional<Failure> failure = receive(deadline);
    return failure ? handle(*std::move(failure)) : Result<void>();
  }

  Result<void> open(Deadline deadline) {
    const std::string body = watch_body(request_, backlog_.next_revision(), uses_fragments_);
    Result<Cluster::Stream> stream = cluster_.open("/watch", body, deadline);
    if (!stream) return std::move(stream).error();
    connection_.emplace(cluster_, *std::move(stream));
    opened_at_ = steady_clock::now();
    return {};
  }

  [[nodiscard]] std::optional<Failure> receive(Deadline deadline) {
    Tried<std::vector<WatchReply>> read = connection_->read(deadline);
    if (auto* failure = std::get_if<Failure>(&read)) return std::move(*failure);
    for (WatchReply& reply : std::get<std::vector<WatchReply>>(read)) {
      if (std::optional<Failure> failure = take(std::move(reply))) return failure;
      if (final_error_) break;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Failure> take(WatchReply reply) {
    const std::uint64_t cluster_id = reply.header.cluster_id;
    if (cluster_id_ == 0) cluster_id_ = cluster_id;
    if (cluster_id != 0 && cluster_id != cluster_id_) {
      end({ErrorKind::invocation,
           "etcd: the watch got events of another cluster (another cluster_id); the cluster was replaced"});
      return std::nullopt;
    }
    if (reply.created && went_back(reply.header)) {
      if (std::optional<Failure> failure = check_history()) return failure;
      if (final_error_) return std::nullopt;
    }
    raft_term_ = std::max(raft_term_, reply.header.raft_term);
    if (reply.canceled) {
      Failure failure = cancel_failure(reply, connection_->stream().url);
      if (reply.compact_revision == 0) return failure;
      end(std::move(failure.error));
      return std::nullopt;
    }
    is_token_refused_ = false;
    if (!reply.events.empty()) early_breaks_ = 0;
    backlog_.add(std::move(reply));
    return std::nullopt;
  }

  /// Returns whether a header is older than those before. Then the member is behind the others, or the
  /// cluster was restored from a backup.
  [[nodiscard]] bool went_back(const Header& header) const {
    return header.revision + 1 < backlog_.next_revision() || header.raft_term < raft_term_;
  }

  /// Ends the watch if the newest state of the cluster is older than the events that the watch has passed on.
  /// etcd would send nothing until its revision is greater again. Reads a key, because such a read is never
  /// behind.
  [[nodiscard]] std::optional<Failure> check_history() {
    const std::string body = to_json(RangeRequest{.key = request_.key, .limit = 1});
    const auto deadline = steady_clock::now() + 2 * cluster_.try_timeout();
    Result<JsonDocument> answer = cluster_.call("/kv/range", body, Effect::reads, deadline);
    if (!answer) return Failure{std::move(answer).error(), RetryAction::next_member};
    const Result<RangeReply> range = read_reply(*answer, read_range);
    if (!range) return Failure{range.error(), RetryAction::next_member};
    const Header& header = range->header;
    if (!went_back(header)) return std::nullopt;
    end({ErrorKind::invocation,
         format("etcd: found the revision {} (raft term {}), expected at least {} ({}); the cluster was "
                "restored "
                "from a backup",
                header.revision, header.raft_term, backlog_.next_revision() - 1, raft_term_)});
    return std::nullopt;
  }

  /// Closes the failed connection. Returns an error if a new connection would also fail.
  Result<void> handle(Failure failure) {
    early_breaks_ = steady_clock::now() - opened_at_ < kLasting ? early_breaks_ + 1 : 0;
    const bool lacks_fragments = uses_fragments_ && failure.action == RetryAction::without_fragments;
    const bool may_help = lacks_fragments || failure.action == RetryAction::next_member ||
                          failure.action == RetryAction::other_prefix ||
                          (failure.action == RetryAction::authenticate && !is_token_refused_);
    if (lacks_fragments) uses_fragments_ = false;
    if (failure.action == RetryAction::authenticate) is_token_refused_ = true;
    cluster_.note_failure(connection_->stream(), failure.action);
    connection_.reset();
    backlog_.note_break();
    last_error_ = std::move(failure.error);
    return may_help ? Result<void>() : *last_error_;
  }

  void end(Error error) {
    final_error_ = std::move(error);
    connection_.reset();
    backlog_.note_break();
  }

  Cluster& cluster_;
  const WatchRequest request_;
  WatchBacklog backlog_;
  std::optional<WatchConnection> connection_;
  SteadyTime opened_at_{};
  unsigned early_breaks_ = 0;  ///< The number of connections in a row that ended early.
  bool is_token_refused_ = false;
  bool uses_fragments_ = true;
  std::uint64_t cluster_id_ = 0;
  std::uint64_t raft_term_ = 0;
  std::optional<Error> last_error_;
  std::optional<Error> final_error_;
};

Watcher::Watcher(Client& client, WatchRequest request)
    : stream_(std::make_unique<Stream>(*client.cluster_, std::move(request))) {}

Watcher::~Watcher() = default;

Result<std::vector<WatchEvent>> Watcher::next(Deadline deadline) {
  return stream_->next(deadline);
}

}  // namespace rest_fcgi::etcd
