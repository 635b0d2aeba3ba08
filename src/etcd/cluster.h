// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "etcd/failure.h"
#include "etcd/members.h"
#include "etcd/transport.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/etcd/options.h"

namespace rest_fcgi::etcd {

/// The token of a login; empty if the cluster has no users. Never null.
using Token = std::shared_ptr<const Secret>;

/// Sends requests to a cluster: chooses the member, finds its prefix, logs in, and repeats. Thread-safe; a
/// call blocks its own thread. Errors: those of `Client`.
class Cluster {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Cluster>> make(Options options);

  /// Posts `body` to a path of API v3, such as `/kv/put`. Returns the answer.
  [[nodiscard]] Result<JsonDocument> call(std::string_view path, std::string_view body, Effect effect,
                                          Deadline deadline);

  /// Sends a request of API v2 whose URL is the escaped path alone. Returns the node of the answer.
  [[nodiscard]] Result<NodeV2> call_v2(HttpRequest request, Effect effect, Deadline deadline);

  struct Stream {
    std::unique_ptr<HttpStream> bytes;
    std::size_t member = 0;
    std::string url;  ///< the member's, with the prefix
    Token token;
  };

  /// Posts `body` to a path of API v3, without waiting for the reply. The stream must not outlive `this`.
  [[nodiscard]] Result<Stream> open(std::string_view path, std::string_view body, Deadline deadline);

  /// Asks the stream's member, on another connection, whether it sees a leader. Absent: it does.
  [[nodiscard]] std::optional<Failure> check(const Stream& stream, Deadline deadline);

  /// Has the next stream go to another member, or use another token.
  void note_failure(const Stream& stream, RetryAction action);

  [[nodiscard]] std::chrono::milliseconds try_timeout() const noexcept { return options_.try_timeout; }

 private:
  /// What an attempt at a member needs.
  struct Ready {
    std::string url;  ///< with the prefix
    Token token;
  };

  Cluster(Options options, std::unique_ptr<Transport> transport);

  [[nodiscard]] std::optional<Failure> ask(std::size_t member, std::string_view path, std::string_view body,
                                           Deadline deadline, JsonDocument& answer);
  [[nodiscard]] std::optional<Failure> post(std::size_t member, const Ready& ready, std::string_view path,
                                            std::string_view body, Deadline deadline, JsonDocument& answer);
  [[nodiscard]] Tried<Ready> prepare(std::size_t member, Deadline deadline);
  [[nodiscard]] Tried<std::string> find_prefix(std::size_t member, Deadline deadline);
  [[nodiscard]] std::optional<Failure> note_cluster(std::size_t member, std::uint64_t cluster_id);
  /// Returns the token of all calls. If it is missing, one thread logs in, and the others share the result.
  [[nodiscard]] Tried<Token> token(const std::string& url, Deadline deadline);
  [[nodiscard]] Tried<Token> log_in(const std::string& url, Deadline deadline);
  /// Forgets a token, unless there is a newer one.
  void forget(const Token& token);

  const Options options_;
  const Secret basic_authorization_;  // for API v2
  const std::unique_ptr<Transport> transport_;
  Members members_;

  std::mutex mutex_;
  Token token_;                             // guarded by mutex_
  std::shared_future<Tried<Token>> login_;  // guarded by mutex_; valid while a thread logs in
};

}  // namespace rest_fcgi::etcd
