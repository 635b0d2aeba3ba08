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

/// The results of a chunk, also those before a failure.
struct Reply {
  std::vector<Json> items;         ///< one; for local_batch one for each return
  std::string jid;                 ///< for local_batch all jids, joined by commas; empty: no job
  std::optional<Error> failure{};  ///< why results are missing
  master::StartGate gate{};        ///< an asynchronous job starts when this is destroyed
  bool is_accepted = true;         ///< see `master::Started`
};

/// Salt's NetapiClient: authorizes chunks and runs them with the client that they name. Immutable;
/// thread-safe. REQUIRES: `clock` outlives it.
class NetapiClient {
 public:
  NetapiClient(Options options, std::shared_ptr<master::Master> master, const Clock& clock = system_clock());

  /// Checks that the client is enabled, that there are credentials, and that the master admits the chunk.
  /// Everything done with the permit ends by `deadline`. Errors, in that order: invocation and
  /// authentication, with Salt's texts; those of `Master::admit`.
  [[nodiscard]] Result<master::Permit> admit(const lowstate::Chunk& chunk, SteadyTime deadline,
                                             const master::Permit* before = nullptr) const;

  /// As `admit`, for a chunk made from a URL such as `GET /jobs`, which ignores `netapi_enable_clients`.
  /// REQUIRES: the caller did not choose the chunk's client and function.
  [[nodiscard]] Result<master::Permit> admit_own(const lowstate::Chunk& chunk, SteadyTime deadline,
                                                 const master::Permit* before = nullptr) const;

  [[nodiscard]] master::Master& master() const noexcept { return *master_; }

  /// Returns the permit for events of a session. Errors: authorization, if it may see none.
  [[nodiscard]] Result<master::EventPermit> admit_events(const master::Session& session) const;

  /// Returns the deadline of a request that begins now.
  [[nodiscard]] SteadyTime deadline() const;

  /// Runs an admitted chunk and waits for its results. `gathered`: bytes of the request's other chunks, which
  /// count for `max_reply_bytes`; those of this chunk are added. Errors, with the jid if a job was started:
  /// timeout; reply_too_large, while the job goes on; unavailable; internal; those of `Master`. After some
  /// results the error is in the Reply.
  [[nodiscard]] Result<Reply> run(const master::Permit& permit,
                                  std::atomic<std::size_t>* gathered = nullptr) const;

  [[nodiscard]] const std::vector<lowstate::Client>& enabled() const noexcept { return options_.enabled; }

 private:
  Options options_;
  std::shared_ptr<master::Master> master_;  // each reload makes a new master and client
  const Clock& clock_;
};

}  // namespace rest_fcgi::client
