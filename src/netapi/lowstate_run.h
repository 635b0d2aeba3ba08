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

/// Runs a list of chunks. All chunks are admitted before the first chunk runs. Each chunk gets an audit line.
/// If a chunk fails, the results before it are kept.
namespace rest_fcgi::netapi {

/// Borrows the JSON document of this thread. Later requests reuse the document's buffers. The destructor
/// clears the document. A thread can have one such object at a time.
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

/// Returns the result of `call`. Turns an exception into an Error, so that the caller can write the audit
/// line and keep the results of other chunks.
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
  bool own = false;  ///< This program chose the client and the function, so `netapi_enable_clients` does not
                     ///< apply.
  /// Checks that this user may send requests from the client's address. Without a function, every user may.
  std::function<Result<void>(std::string_view user)> check_address{};
};

/// The permits of all chunks. If a chunk was refused, `refused` and `refusal` hold that chunk and the error.
/// Borrows the chunks.
struct Admission {
  std::vector<master::Permit> permits;
  std::optional<Error> refusal;
  const lowstate::Chunk* refused = nullptr;
};

/// Asks the master for permission to run each chunk. If a chunk is refused, writes the audit lines of all
/// chunks.
[[nodiscard]] Admission admit(const client::NetapiClient& client, const std::vector<lowstate::Chunk>& chunks,
                              const AdmissionOptions& options, const AuditTrail& trail);

/// The results of the chunks. `failure` is the error of the first chunk that failed.
struct RunResult {
  std::vector<Completed> completed;
  std::optional<Error> failure;
  const lowstate::Chunk* failed = nullptr;  ///< The chunk that failed. It is borrowed from its permit.
};

/// Runs the admitted chunks one after the other, until one fails.
[[nodiscard]] RunResult run(const client::NetapiClient& client, const std::vector<master::Permit>& permits,
                            AuditTrail& trail);

/// Runs the admitted chunks in parallel. All chunks run, even if one fails. `completed` has the results of
/// the other chunks in the order of the request.
[[nodiscard]] RunResult run_in_parallel(const client::NetapiClient& client,
                                        const std::vector<master::Permit>& permits, AuditTrail& trail);

}  // namespace rest_fcgi::netapi
