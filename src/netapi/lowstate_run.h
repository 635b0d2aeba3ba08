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

/// Functions that run a list of chunks. All chunks get permission before one of them runs.
namespace rest_fcgi::netapi {

/// Borrows the JSON document of the calling thread. Later requests on the thread reuse the document's
/// buffers. The destructor clears the document. A thread has at most one BorrowedDocument at a time.
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

/// If `call` throws, returns an Error for the exception.
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
  /// Whether this program, and not the request, chose Salt's client, such as `local`. `netapi_enable_clients`
  /// then does not apply.
  bool own = false;
  /// Checks that `user` may send requests from the client's address. If this function is empty, all addresses
  /// are allowed.
  std::function<Result<void>(std::string_view user)> check_address{};
};

/// The permits of all chunks, or the refused chunk with its error. Borrows the chunks.
struct Admission {
  std::vector<master::Permit> permits;
  std::optional<Error> refusal;
  const lowstate::Chunk* refused = nullptr;
};

/// Asks the master for permission to run each chunk. After a refusal, writes the audit lines of all chunks.
Admission admit(const client::NetapiClient& client, const std::vector<lowstate::Chunk>& chunks,
                const AdmissionOptions& options, const AuditTrail& trail);

/// The results of the chunks, and the error of the first failed chunk.
struct RunResult {
  std::vector<Completed> completed;
  std::optional<Error> failure;
  const lowstate::Chunk* failed = nullptr;  ///< The failed chunk, borrowed from its permit.
  bool may_have_run = false;                ///< Whether at least one chunk may have run.
  /// The reply to an earlier request with the same Idempotency-Key. No chunk ran.
  std::optional<http::Response> replay{};
};

/// Runs the admitted chunks in order. Stops after a failed chunk.
[[nodiscard]] RunResult run(const client::NetapiClient& client, const std::vector<master::Permit>& permits,
                            AuditTrail& trail);

/// Runs the admitted chunks in parallel. A failed chunk does not stop the other chunks. `completed` has the
/// results in the order of the request.
[[nodiscard]] RunResult run_in_parallel(const client::NetapiClient& client,
                                        const std::vector<master::Permit>& permits, AuditTrail& trail);

}  // namespace rest_fcgi::netapi
