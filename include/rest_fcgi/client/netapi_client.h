// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rest_fcgi/client/options.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/master/master.h"

namespace rest_fcgi::client {

/// The results of a chunk. If the chunk failed while it ran, these are the results before the failure.
struct Reply {
  std::vector<Json> items;  ///< one item; for local_batch one item for each return
  /// The job id; for local_batch all job ids, joined by commas; empty if no job was started.
  std::string jid;
  std::optional<Error> failure{};  ///< the error after which further results are missing
  master::StartGate gate{};        ///< an asynchronous job starts when this gate is destroyed
  bool is_accepted = true;         ///< see `master::Started`
};

/// Salt's NetapiClient: authorizes chunks and runs each with the client interface that the chunk names.
/// Immutable; thread-safe. REQUIRES: `clock` outlives the NetapiClient.
class NetapiClient {
 public:
  NetapiClient(Options options, std::shared_ptr<master::Master> master, const Clock& clock = system_clock());

  /// Checks that the chunk's client is enabled, that the chunk has credentials, and that the master admits
  /// the chunk. All work with the permit ends by `deadline`. `before` is the permit of another chunk of the
  /// same request, or null. Errors, in the order of the checks: invocation and authentication, with Salt's
  /// texts; those of `Master::admit`.
  [[nodiscard]] Result<master::Permit> admit(const lowstate::Chunk& chunk, SteadyTime deadline,
                                             const master::Permit* before = nullptr) const;

  /// Works as `admit` for a chunk that this program made from a URL such as `GET /jobs`.
  /// `netapi_enable_clients` does not apply to such a chunk. REQUIRES: the HTTP client did not choose the
  /// chunk's client and function.
  [[nodiscard]] Result<master::Permit> admit_own(const lowstate::Chunk& chunk, SteadyTime deadline,
                                                 const master::Permit* before = nullptr) const;

  [[nodiscard]] master::Master& master() const noexcept { return *master_; }

  /// Returns which events a session may see. Errors: authorization, if the session may see no events.
  [[nodiscard]] Result<master::EventPermit> admit_events(const master::Session& session) const;

  /// Returns the deadline of a request that begins now.
  [[nodiscard]] SteadyTime deadline() const;

  /// Runs an admitted chunk and waits for its results. `gathered` counts the bytes of results of all chunks
  /// of the request. This function adds the bytes of this chunk, and `max_reply_bytes` limits the sum.
  /// Errors, with the jid if a job was started: timeout; reply_too_large, and the job continues; unavailable;
  /// internal; those of `Master`. If there are results before the error, the function returns a Reply with
  /// `failure` instead.
  [[nodiscard]] Result<Reply> run(const master::Permit& permit,
                                  std::atomic<std::size_t>* gathered = nullptr) const;

  [[nodiscard]] const std::vector<lowstate::Client>& enabled() const noexcept { return options_.enabled; }

 private:
  Options options_;
  // Each reload of the configuration makes a new master and a new NetapiClient.
  std::shared_ptr<master::Master> master_;
  const Clock& clock_;
};

}  // namespace rest_fcgi::client
