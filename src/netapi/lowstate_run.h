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

/// Functions that run a list of chunks. All chunks are admitted before the first chunk runs.
namespace rest_fcgi::netapi {

/// This thread's JSON document, whose buffers later requests reuse. The destructor clears the document. A
/// thread has at most one such object at a time.
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

/// Returns the result of `call`, or the Error of an exception.
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
  bool own = false;  ///< this program chose the client, so `netapi_enable_clients` does not apply
  /// Checks that this user may send requests from the client's address. An empty function allows every user.
  std::function<Result<void>(std::string_view user)> check_address{};
};

/// The permits of all chunks, or the refused chunk and its error. Borrows the chunks.
struct Admission {
  std::vector<master::Permit> permits;
  std::optional<Error> refusal;
  const lowstate::Chunk* refused = nullptr;
};

/// Asks the master for permission to run each chunk. After a refusal, writes the audit lines of all chunks.
[[nodiscard]] Admission admit(const client::NetapiClient& client, const std::vector<lowstate::Chunk>& chunks,
                              const AdmissionOptions& options, const AuditTrail& trail);

/// The results of the chunks, and the error of the first failed chunk.
struct RunResult {
  std::vector<Completed> completed;
  std::optional<Error> failure;
  const lowstate::Chunk* failed = nullptr;  ///< the chunk that failed, borrowed from its permit
};

/// Runs the admitted chunks in order until a chunk fails.
[[nodiscard]] RunResult run(const client::NetapiClient& client, const std::vector<master::Permit>& permits,
                            AuditTrail& trail);

/// Runs the admitted chunks in parallel, even if a chunk fails. `completed` has results in the request's
/// order.
[[nodiscard]] RunResult run_in_parallel(const client::NetapiClient& client,
                                        const std::vector<master::Permit>& permits, AuditTrail& trail);

}  // namespace rest_fcgi::netapi
