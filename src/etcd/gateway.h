// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "etcd/gateway_error.h"
#include "etcd/members.h"
#include "etcd/transport.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/etcd/options.h"

namespace rest_fcgi::etcd {

/// What a login gave; empty where the cluster has no users. Never null.
using Token = std::shared_ptr<const Secret>;

/// Keeps the token that all calls use, and has it fetched once however many ask for it. A login that failed
/// is told to all who wait for it, and not remembered. Thread-safe.
class Login {
 public:
  using Fetch = std::function<Tried<Token>()>;

  /// The token; `fetch` runs in this thread where there is none and no other thread fetches one. A failure
  /// whose remedy is another member: the other thread's fetch did not come back until `deadline`.
  [[nodiscard]] Tried<Token> token(const Fetch& fetch, Deadline deadline);

  /// It does not hold any more; nothing happens where there is a newer one.
  void refused(const Token& token);

  /// The cluster that gave it is gone.
  void forget();

 private:
  std::mutex mutex_;
  Token token_;                               // guarded by mutex_
  std::shared_future<Tried<Token>> pending_;  // guarded by mutex_
};

/// A cluster's JSON gateway: chooses the member, knows its prefix, logs in, tries again. Thread-safe; a call
/// blocks its own thread only. Errors as of `Client`.
class Gateway {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Gateway>> make(Options options);

  /// Posts `body` to `path` (`/kv/put`) and gives the answer.
  [[nodiscard]] Result<JsonDocument> call(std::string_view path, std::string_view body, Effect effect,
                                          Deadline deadline);

  /// A reply that goes on, and where it came from.
  struct Stream {
    std::unique_ptr<HttpStream> bytes;
    std::size_t member = 0;
    std::string url;  ///< the member's, with the prefix
    Token token;
  };

  /// Posts `body` to `path` at a member that is there, and does not wait for the reply. It must not outlive
  /// `this`.
  [[nodiscard]] Result<Stream> open(std::string_view path, std::string_view body, Deadline deadline);

  /// Asks the stream's member, on another connection, whether it is there and sees a leader.
  [[nodiscard]] std::optional<Failure> check(const Stream& stream, Deadline deadline);

  /// The stream broke: the next one goes to another member.
  void failed(const Stream& stream);

  /// The stream's token does not hold any more: the next one has another.
  void refused(const Stream& stream);

  /// How long a member may take for an answer.
  [[nodiscard]] std::chrono::milliseconds try_timeout() const noexcept { return options_.try_timeout; }

 private:
  /// All that a try at a member needs.
  struct Ready {
    std::string url;  ///< with the prefix
    Token token;
  };

  Gateway(Options options, std::unique_ptr<Transport> transport);

  [[nodiscard]] std::optional<Failure> ask(std::size_t member, std::string_view path, std::string_view body,
                                           Deadline deadline, JsonDocument& answer);
  [[nodiscard]] std::optional<Failure> post(std::size_t member, const Ready& ready, std::string_view path,
                                            std::string_view body, Deadline deadline, JsonDocument& answer);
  [[nodiscard]] Tried<Ready> prepare(std::size_t member, Deadline deadline);
  [[nodiscard]] Tried<std::string> prefix_of(std::size_t member, Deadline deadline);
  [[nodiscard]] std::optional<Failure> learn_cluster(std::size_t member, std::uint64_t cluster_id);
  [[nodiscard]] Tried<Token> authenticate(const std::string& url, Deadline deadline);

  const Options options_;
  const std::unique_ptr<Transport> transport_;
  Endpoints endpoints_;
  Login login_;
};

}  // namespace rest_fcgi::etcd
