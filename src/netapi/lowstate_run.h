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

/// How every application runs a list of chunks: all are admitted before the first one runs, one audit line a
/// chunk, and what ran before a failure is kept.
namespace rest_fcgi::netapi {

/// A document of this thread, which keeps its buffers for the next request, and nothing that was in them. One
/// at a time in each thread.
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

/// What `call` gives; an exception is an error like any other, so that the audit line is written and what
/// other chunks returned is not lost.
template <class Call>
auto guarded(const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& exception) {
    return thrown(exception);
  }
}

/// On which terms chunks are admitted.
struct Terms {
  SteadyTime deadline;
  bool own =
      false;  ///< client and function are not the caller's choice: `netapi_enable_clients` does not count
  /// Checks that this user may come from where the request comes from. Empty: everybody may.
  std::function<Result<void>(std::string_view user)> may_come{};
};

/// Permits for all chunks, or which one was refused and why. Borrows the chunks.
struct Admission {
  std::vector<master::Permit> permits;
  std::optional<Error> refusal;
  const lowstate::Chunk* refused = nullptr;
};

/// Asks for leave to run each chunk. Where one is refused, the audit lines of all are written.
[[nodiscard]] Admission admit(const client::NetapiClient& client, const std::vector<lowstate::Chunk>& chunks,
                              const Terms& terms, const AuditTrail& trail);

/// What the chunks gave, up to the first failure.
struct Ran {
  std::vector<Completed> completed;
  std::optional<Error> failure;
  const lowstate::Chunk* failed = nullptr;  ///< of which chunk; borrowed from its permit
};

/// Runs what was admitted, one chunk after the other.
[[nodiscard]] Ran run(const client::NetapiClient& client, const std::vector<master::Permit>& permits,
                      AuditTrail& trail);

/// The same, several at a time: a failure keeps no other chunk from running, and what the others gave is
/// `completed` in their order.
[[nodiscard]] Ran run_at_once(const client::NetapiClient& client, const std::vector<master::Permit>& permits,
                              AuditTrail& trail);

}  // namespace rest_fcgi::netapi
