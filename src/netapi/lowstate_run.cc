// SPDX-License-Identifier: MIT
#include "netapi/lowstate_run.h"

#include <utility>

namespace rest_fcgi::netapi {

using lowstate::Chunk;
using master::Permit;

JsonDocument& BorrowedDocument::document() {
  thread_local JsonDocument document;
  return document;
}

Admission admit(const client::NetapiClient& client, const std::vector<Chunk>& chunks, const Terms& terms,
                const AuditTrail& trail) {
  Admission admission;
  std::vector<Permit>& permits = admission.permits;
  permits.reserve(chunks.size());
  for (const Chunk& chunk : chunks) {
    Result<Permit> permit = guarded([&] {
      return terms.own ? client.admit_own(chunk, terms.deadline) : client.admit(chunk, terms.deadline);
    });
    if (permit && terms.may_come && !terms.may_come(permit->user())) {
      permit = Error{ErrorKind::authentication, "Authentication error occurred."};
    }
    if (permit) {
      permits.push_back(*std::move(permit));
      continue;
    }
    for (const Permit& admitted : permits) trail.write(admitted, {}, kNotRun);
    trail.write_refused(chunk, permit.error(), row_for(permit.error().kind).outcome);
    for (std::size_t later = permits.size() + 1; later < chunks.size(); ++later) {
      trail.write_not_run(chunks[later]);
    }
    admission.refusal = std::move(permit).error();
    admission.refused = &chunk;
    break;
  }
  return admission;
}

Ran run(const client::NetapiClient& client, const std::vector<Permit>& permits, AuditTrail& trail) {
  Ran ran;
  ran.completed.reserve(permits.size());
  std::size_t gathered = 0;  // bytes, by all chunks so far
  for (const Permit& permit : permits) {
    if (ran.failure) {
      trail.write(permit, {}, kNotRun);
      continue;
    }
    trail.restart();
    Result<client::Reply> reply = guarded([&] { return client.run(permit, gathered); });
    ran.failure = reply ? reply->failure : reply.error();
    if (ran.failure) {
      trail.write(permit, ran.failure->jid, row_for(ran.failure->kind).outcome);
      trail.restart();
    } else {
      trail.write(permit, reply->jid, "ok");
      for (const Json& item : reply->items) gathered += item.text().size();
    }
    if (reply) ran.completed.push_back({permit.chunk().client, *std::move(reply)});
  }
  return ran;
}

}  // namespace rest_fcgi::netapi
