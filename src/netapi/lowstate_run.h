// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "netapi/audit.h"
#include "netapi/replies.h"
#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"

/// Runs a list of chunks, for all applications: all are admitted before the first one runs, each gets an
/// audit line, and results before a failure are kept.
namespace rest_fcgi::netapi {

/// Borrows the JSON document of this thread, whose buffers are reused by later requests, and clears it at the
/// end. A thread can have one at a time.
class BorrowedDocument {
 public:
  BorrowedDocument() = default;
  BorrowedDocument(const BorrowedDocument&) = delete;
  BorrowedDocument& operator=(const BorrowedDocument&) = delete;
  ~BorrowedDocument() { document().clear(); }

  JsonDocument& operator*() const { return document(); }

 private:
  static JsonDocument& document();
};

/// Returns what `call` returns. An exception becomes an Error, so that the audit line is written and the
/// results of other chunks are kept.
template <class Call>
auto guarded(const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& exception) {
    return error_of_exception(exception);
  }
}

struct AdmissionOptions {
  SteadyTime deadline;
  bool own = false;  ///< we chose client and function, so `netapi_enable_clients` does not apply
  /// Checks that this user may send requests from the client's address. Empty: all may.
  std::function<Result<void>(std::string_view user)> check_address{};
};

/// The permits of all chunks, or the chunk that was refused and why. Borrows the chunks.
struct Admission {
  std::vector<master::Permit> permits;
  std::optional<Error> refusal;
  const lowstate::Chunk* refused = nullptr;
};

/// Asks the master for permission to run each chunk. If one is refused, writes the audit lines of all.
[[nodiscard]] Admission admit(const client::NetapiClient& client, const std::vector<lowstate::Chunk>& chunks,
                              const AdmissionOptions& options, const AuditTrail& trail);

/// Results of the chunks up to the first failure.
struct RunResult {
  std::vector<Completed> completed;
  std::optional<Error> failure;
  const lowstate::Chunk* failed = nullptr;  ///< the chunk that failed; borrowed from its permit
};

/// Runs the admitted chunks one after the other, until one fails.
[[nodiscard]] RunResult run(const client::NetapiClient& client, const std::vector<master::Permit>& permits,
                            AuditTrail& trail);

/// Runs the admitted chunks in parallel. All run, even if one fails. `completed` has the results of the
/// others in order.
[[nodiscard]] RunResult run_in_parallel(const client::NetapiClient& client,
                                        const std::vector<master::Permit>& permits, AuditTrail& trail);

}  // namespace rest_fcgi::netapi
