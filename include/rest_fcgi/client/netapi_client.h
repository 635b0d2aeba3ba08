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

/// The reply to a chunk.
struct Reply {
  /// For local_batch, one item for each return. For other clients, exactly one item.
  std::vector<Json> items;
  /// The job id. For local_batch, all job ids, joined by commas. Empty if no job was started.
  std::string jid;
  std::optional<Error> failure{};  ///< `failure` is the error that ended the chunk after the last of `items`.
                                   ///< Absent on success.
  master::StartGate gate{};        ///< The master starts an asynchronous job when the last copy of `gate` is
                                   ///< destroyed.
  bool is_accepted = true;         ///< `is_accepted` says whether the master has authorized the caller.
};

/// Salt's NetapiClient, which authorizes chunks and runs each with its client interface. Thread-safe.
/// REQUIRES: `clock` outlives the NetapiClient.
class NetapiClient {
 public:
  NetapiClient(Options options, std::shared_ptr<master::Master> master, const Clock& clock = system_clock());

  /// Returns the permit to run a chunk. Checks the chunk's client and credentials, and the master's rules.
  /// Calls with the permit end by `deadline`. `before` is the permit of another chunk of the same request, or
  /// null. Errors: invocation and authentication, with Salt's texts; the errors of `Master::admit`.
  Result<master::Permit> admit(const lowstate::Chunk& chunk, SteadyTime deadline,
                               const master::Permit* before = nullptr) const;

  /// Admits a chunk that this program made, without the check of `netapi_enable_clients`. REQUIRES: the HTTP
  /// client did not choose the chunk's client and function.
  Result<master::Permit> admit_own(const lowstate::Chunk& chunk, SteadyTime deadline,
                                   const master::Permit* before = nullptr) const;

  [[nodiscard]] master::Master& master() const noexcept { return *master_; }

  /// Returns the permit for a session's events. Errors: authorization, if the session may see no events.
  Result<master::EventPermit> admit_events(const master::Session& session) const;

  /// Returns the deadline of a request that begins now.
  [[nodiscard]] SteadyTime deadline() const;

  /// Runs an admitted chunk. `gathered` counts the bytes of the results of all chunks in the request.
  /// `max_reply_bytes` limits this count. If an error follows some results, `Reply::failure` has the error.
  /// Errors, with the jid of a started job: timeout; reply_too_large (the job continues); unavailable;
  /// internal; the errors of `Master`.
  Result<Reply> run(const master::Permit& permit, std::atomic<std::size_t>* gathered = nullptr) const;

  [[nodiscard]] const std::vector<lowstate::Client>& enabled() const noexcept { return options_.enabled; }

 private:
  Options options_;
  // The master never changes. A reload of the configuration makes a new master and a new NetapiClient.
  std::shared_ptr<master::Master> master_;
  const Clock& clock_;
};

}  // namespace rest_fcgi::client
