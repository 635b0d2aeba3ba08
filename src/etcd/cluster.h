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

/// The token of a login. The token is empty if the cluster has no users. The pointer is never null.
using Token = std::shared_ptr<const Secret>;

/// Sends requests to an etcd cluster. It chooses a member, finds the path prefix of the member's API, logs
/// in, and repeats failed requests. Thread-safe. A call blocks the calling thread. Errors: those of `Client`.
class Cluster {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Cluster>> make(Options options);

  /// Posts `body` to a path of API v3, such as `/kv/put`. Returns the answer.
  [[nodiscard]] Result<JsonDocument> call(std::string_view path, std::string_view body, Effect effect,
                                          Deadline deadline);

  /// Sends a request of API v2. `request.url` holds only the escaped path. Returns the node of the answer.
  [[nodiscard]] Result<NodeV2> call_v2(HttpRequest request, Effect effect, Deadline deadline);

  struct Stream {
    std::unique_ptr<HttpStream> bytes;
    std::size_t member = 0;
    std::string url;  ///< the URL of the member with the API prefix
    Token token;
  };

  /// Posts `body` to a path of API v3 without waiting for the reply. The returned stream must not outlive
  /// this object.
  [[nodiscard]] Result<Stream> open(std::string_view path, std::string_view body, Deadline deadline);

  /// Asks the stream's member on another connection whether the member sees a leader. Returns a failure if it
  /// sees no leader or does not answer.
  [[nodiscard]] std::optional<Failure> check(const Stream& stream, Deadline deadline);

  /// Makes the next stream go to another member or use another token, as `action` says.
  void note_failure(const Stream& stream, RetryAction action);

  [[nodiscard]] std::chrono::milliseconds try_timeout() const noexcept { return options_.try_timeout; }

 private:
  /// The URL and the token that an attempt at a member needs.
  struct Ready {
    std::string url;  ///< the URL of the member with the API prefix
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
  /// Returns the token that all calls use. If the token is missing, one thread logs in, and other threads
  /// wait for the same result.
  [[nodiscard]] Tried<Token> token(const std::string& url, Deadline deadline);
  [[nodiscard]] Tried<Token> log_in(const std::string& url, Deadline deadline);
  /// Forgets `token`, unless a newer token has replaced it.
  void forget(const Token& token);

  const Options options_;
  const Secret basic_authorization_;  // used by API v2 only
  const std::unique_ptr<Transport> transport_;
  Members members_;

  std::mutex mutex_;
  Token token_;                             // guarded by mutex_
  std::shared_future<Tried<Token>> login_;  // guarded by mutex_; valid only while a thread logs in
};

}  // namespace rest_fcgi::etcd
