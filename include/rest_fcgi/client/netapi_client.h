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

/// What one chunk gave, or what had come of it when it failed.
struct Reply {
  std::vector<Json> items;  ///< one, but for local_batch, which has one for each return, or none
  std::string jid;          ///< the job's id; of local_batch all of them, with commas; empty: there was none
  std::optional<Error> failure{};  ///< why that is not all; absent: it is
  master::StartGate gate{};        ///< of an asynchronous job, which starts when this is destroyed
  bool is_accepted = true;         ///< see `master::Started`
};

/// Salt's NetapiClient: checks a chunk and hands it to the client that it names. Immutable; thread-safe.
/// `clock` outlives it.
class NetapiClient {
 public:
  NetapiClient(Options options, std::shared_ptr<master::Master> master, const Clock& clock = system_clock());

  /// The checks that come before running: the client is enabled, there are credentials, and the master admits
  /// the chunk. What is done under the permit ends by `deadline`. Errors, in that order: invocation and
  /// authentication, in Salt's sentences; those of `Master::admit`.
  [[nodiscard]] Result<master::Permit> admit(const lowstate::Chunk& chunk, SteadyTime deadline,
                                             const master::Permit* before = nullptr) const;

  /// As `admit`, for a chunk that the URL of a request stands for, such as `GET /jobs`, whatever
  /// `netapi_enable_clients` says: that is about the clients that callers choose. REQUIRES: the chunk's
  /// client and function are not the caller's choice.
  [[nodiscard]] Result<master::Permit> admit_own(const lowstate::Chunk& chunk, SteadyTime deadline,
                                                 const master::Permit* before = nullptr) const;

  /// Whom sessions and events are asked of.
  [[nodiscard]] master::Master& master() const noexcept { return *master_; }

  /// Which events whoever has this session may see. Errors: authorization, where that is none.
  [[nodiscard]] Result<master::EventPermit> admit_events(const master::Session& session) const;

  /// When a request that begins now has to end: after `request_timeout`.
  [[nodiscard]] SteadyTime deadline() const;

  /// Runs a chunk that was admitted, and waits for what it gives, up to its deadline. `gathered`: bytes that
  /// other chunks of the request gave, which count for `max_reply_bytes`; those of this one are added.
  /// Errors, with the jid where a job was started: timeout, reply_too_large (the job goes on), unavailable,
  /// internal, and what `Master` says; where something had returned by then, it is a Reply with that and the
  /// failure.
  [[nodiscard]] Result<Reply> run(const master::Permit& permit,
                                  std::atomic<std::size_t>* gathered = nullptr) const;

  [[nodiscard]] const std::vector<lowstate::Client>& enabled() const noexcept { return options_.enabled; }

 private:
  Options options_;
  std::shared_ptr<master::Master> master_;  // used by nobody else: each reload makes one of each
  const Clock& clock_;
};

}  // namespace rest_fcgi::client
