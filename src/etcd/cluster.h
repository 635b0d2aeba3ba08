// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "etcd/failure.h"
#include "etcd/members.h"
#include "etcd/transport.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/etcd/options.h"

namespace rest_fcgi::etcd {

/// The token that etcd returned for a login. The pointer is never null. The text is empty if the cluster
/// needs no login.
using Token = std::shared_ptr<const Secret>;

/// Sends requests to an etcd cluster: chooses a member, finds the prefix of the member's API, logs in, and
/// repeats failed requests. A Cluster is thread-safe, and its calls block. Errors: those of `Client`.
class Cluster {
 public:
  static Result<std::unique_ptr<Cluster>> make(Options options);

  Result<JsonDocument> call(std::string_view path, std::string_view body, Effect effect, Deadline deadline);

  /// Sends a request of API v2. `request.url` holds only the escaped path.
  Result<NodeV2> call_v2(HttpRequest request, Effect effect, Deadline deadline);

  struct Stream {
    std::unique_ptr<HttpStream> bytes;
    std::size_t member = 0;
    std::string url;  ///< The URL of the member with the API prefix, such as `http://HOST:PORT/v3`.
    Token token;
  };

  /// Posts `body` to a path of API v3 without waiting for the reply. The Cluster must outlive the stream.
  Result<Stream> open(std::string_view path, std::string_view body, Deadline deadline);

  /// Asks the member at the other end of the stream for its status, on a separate connection. Returns a
  /// failure if this member sees no leader or does not answer.
  [[nodiscard]] std::optional<Failure> check(const Stream& stream, Deadline deadline);

  /// Makes the next call of `open` use another member, another API prefix or a new token, as `action` says.
  void note_failure(const Stream& stream, RetryAction action);

  [[nodiscard]] std::chrono::milliseconds try_timeout() const noexcept { return options_.try_timeout; }

 private:
  struct Ready {
    std::string url;
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
  /// Returns the token that all calls share. If there is no token yet, one thread logs in and other threads
  /// wait for its login.
  [[nodiscard]] Tried<Token> token(const std::string& url, Deadline deadline);
  [[nodiscard]] Tried<Token> log_in(const std::string& url, Deadline deadline);
  /// Forgets the shared token if it is `token`. Keeps a newer token, which another thread may have got.
  void forget(const Token& token);

  const Options options_;
  const Secret basic_authorization_;  // The header `Authorization` for API v2.
  const std::unique_ptr<Transport> transport_;
  Members members_;

  Mutex mutex_;
  Token token_ GUARDED_BY(mutex_);
  // While no thread logs in, the future `login_` is not valid.
  std::shared_future<Tried<Token>> login_ GUARDED_BY(mutex_);
};

}  // namespace rest_fcgi::etcd
