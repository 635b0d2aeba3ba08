// SPDX-License-Identifier: MIT
#include "netapi/lowstate_run.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <semaphore>
#include <utility>

#include "netapi/keyed_run.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/core/waiting.h"

namespace rest_fcgi::netapi {

using auth::Credentials;
using lowstate::Chunk;
using master::Permit;

JsonDocument& BorrowedDocument::document() {
  thread_local JsonDocument document;
  return document;
}

namespace {

std::optional<Error> failure_of(const Result<client::Reply>& reply) {
  return reply ? reply->failure : reply.error();
}

Result<client::Reply> run_one(const client::NetapiClient& client, const Permit& permit,
                              std::atomic<std::size_t>& gathered, AuditTrail& trail) {
  trail.restart();
  Result<client::Reply> reply = guarded([&] { return client.run(permit, &gathered); });
  if (const auto failure = failure_of(reply)) {
    trail.write(permit, failure->jid, row_for(failure->kind).outcome);
  } else {
    trail.write(permit, reply->jid, reply->is_accepted ? "ok" : "sent");
  }
  return reply;
}

/// The client's address is checked before the password, so that a refusal does not depend on the password.
Result<Permit> admit_one(const client::NetapiClient& client, const Chunk& chunk,
                         const AdmissionOptions& options, const Permit* before) {
  const auto check = [&](std::string_view user, std::string_view eauth) -> Result<void> {
    Result<void> check_address = options.check_address ? options.check_address(user) : Result<void>();
    if (check_address) return check_address;
    Error error = std::move(check_address).error();
    error.user = user;
    error.eauth = eauth;
    return error;
  };
  const Credentials& credentials = chunk.credentials;
  if (options.check_address && credentials.kind == Credentials::Kind::eauth) {
    // The error has no user, because the login comes later.
    if (auto may = options.check_address(credentials.username); !may) return std::move(may).error();
  }
  const bool is_known = before != nullptr && credentials.same_as(before->chunk().credentials);
  if (options.check_address && credentials.kind == Credentials::Kind::token && !is_known) {
    const auto session = client.master().session(credentials.token, options.deadline);
    if (!session) return session.error();
    if (auto may = check(session->user, session->eauth); !may) return std::move(may).error();
  }
  Result<Permit> permit = options.own ? client.admit_own(chunk, options.deadline, before)
                                      : client.admit(chunk, options.deadline, before);
  if (!permit) return permit;
  // The back end may return another user name, so `api_acl` is checked for this name, too.
  if (auto may = check(permit->user(), permit->eauth()); !may) return std::move(may).error();
  return permit;
}

/// The largest number of additional threads for parallel chunks in the whole process.
constexpr std::ptrdiff_t kHelpers = 16;
using HelperPlaces = std::counting_semaphore<kHelpers>;
HelperPlaces helper_places(kHelpers);

struct GiveBack {
  void operator()(HelperPlaces* places) const noexcept { places->release(); }
};
using HelperPlace = std::unique_ptr<HelperPlaces, GiveBack>;

}  // namespace

Admission admit(const client::NetapiClient& client, const std::vector<Chunk>& chunks,
                const AdmissionOptions& options, const AuditTrail& trail) {
  Admission admission;
  std::vector<Permit>& permits = admission.permits;
  permits.reserve(chunks.size());
  for (const Chunk& chunk : chunks) {
    const Permit* const before = permits.empty() ? nullptr : &permits.back();
    Result<Permit> permit = guarded([&] { return admit_one(client, chunk, options, before); });
    if (permit) {
      permits.push_back(*std::move(permit));
      continue;
    }
    for (const Permit& admitted : permits) trail.write(admitted, {}, kNotRun);
    trail.write_refused(chunk, permit.error(), row_for(permit.error().kind).outcome);
    for (std::size_t later = permits.size() + 1; later < chunks.size(); ++later) {
      trail.write_refused(chunks[later], {}, kNotRun);
    }
    admission.refusal = std::move(permit).error();
    admission.refused = &chunk;
    break;
  }
  return admission;
}

RunResult run(const client::NetapiClient& client, const std::vector<Permit>& permits, AuditTrail& trail) {
  RunResult ran;
  ran.completed.reserve(permits.size());
  std::atomic<std::size_t> gathered = 0;
  for (const Permit& permit : permits) {
    if (ran.failure) {
      trail.write(permit, {}, kNotRun);
      continue;
    }
    Result<client::Reply> reply = run_one(client, permit, gathered, trail);
    ran.failure = failure_of(reply);
    ran.may_have_run = ran.may_have_run || reply || !surely_did_not_run(reply.error());
    if (ran.failure) {
      ran.failed = &permit.chunk();
      trail.restart();
    }
    if (reply) ran.completed.push_back({permit.chunk().client, *std::move(reply)});
  }
  return ran;
}

RunResult run_in_parallel(const client::NetapiClient& client, const std::vector<Permit>& permits,
                          AuditTrail& trail) {
  if (permits.size() < 2) return run(client, permits, trail);
  // The largest number of threads that run the chunks of one request, including the request's own thread.
  constexpr std::size_t kThreads = 8;
  std::vector<std::optional<Result<client::Reply>>> replies(permits.size());
  std::atomic<std::size_t> gathered = 0;
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < permits.size(); i = next++) {
      replies[i] = guarded([&] {
        AuditTrail own = trail;
        return run_one(client, permits[i], gathered, own);
      });
    }
  };
  std::vector<Thread> others;
  others.reserve(kThreads);
  while (others.size() + 1 < std::min(kThreads, permits.size())) {
    // Other requests use all additional threads, so fewer threads run these chunks.
    if (!helper_places.try_acquire()) break;
    auto thread = Thread::start(
        "lowstate", [&work, held = HelperPlace(&helper_places)] { work(); }, kSmallStack);
    if (!thread) break;
    others.push_back(*std::move(thread));
  }
  work();
  {
    const Waiting waiting;
    others.clear();  // The destructor of each Thread waits until the thread ends.
  }
  RunResult ran;
  std::optional<Completed> partial;  // The results that the failed chunk returned before its failure.
  for (std::size_t i = 0; i < permits.size(); ++i) {
    Result<client::Reply>& reply = *replies[i];
    std::optional<Error> failure = failure_of(reply);
    ran.may_have_run = ran.may_have_run || reply || !surely_did_not_run(reply.error());
    if (!failure) {
      ran.completed.push_back({permits[i].chunk().client, *std::move(reply)});
    } else if (!ran.failure) {
      ran.failure = std::move(failure);
      ran.failed = &permits[i].chunk();
      if (reply) partial = Completed{permits[i].chunk().client, *std::move(reply)};
    }
  }
  if (partial) ran.completed.push_back(*std::move(partial));
  return ran;
}

}  // namespace rest_fcgi::netapi
