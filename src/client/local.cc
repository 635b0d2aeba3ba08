// SPDX-License-Identifier: MIT
#include "client/local.h"

#include <unistd.h>

#include <algorithm>
#include <random>
#include <utility>

#include "client/returns.h"

namespace rest_fcgi::client {
namespace {

using master::Publication;

Reply reply_of(Json item, std::string jid) {
  Reply reply;
  reply.items.push_back(std::move(item));
  reply.jid = std::move(jid);
  return reply;
}

/// What Salt gives where nobody matched.
Reply nobody() {
  return reply_of(Json::empty_object(), {});
}

/// Good enough for a choice among minions, and without std::random_device's 5 KB on the stack of a thread
/// that then waits.
std::minstd_rand dice() {
  std::minstd_rand::result_type seed = 0;
  [[maybe_unused]] const int failed = ::getentropy(&seed, sizeof seed);
  return std::minstd_rand(seed);
}

Result<Reply> cmd_on(const Call& call, const Publication& publication) {
  Gatherer gatherer(call);
  const auto published = gatherer.publish(publication);
  if (!published) return published.error();
  const master::Job& job = *published->job;
  if (job.jid.empty()) return nobody();
  ReturnMap map(job.jid, call.permit.chunk().local().full_return);
  std::vector<std::string> missing = job.missing;  // also what is known to a syndic alone
  std::vector<std::string> silent;
  std::optional<Error> failure;
  while (true) {
    Result<std::optional<Arrival>> next = gatherer.next();
    if (!next) {
      failure = std::move(next).error();
      break;
    }
    if (!next->has_value()) break;
    Arrival& arrival = **next;
    std::erase(missing, arrival.minion);
    if (arrival.ret) {
      map.add(*arrival.ret);
    } else {
      silent.push_back(std::move(arrival.minion));
    }
  }
  if (failure && map.empty()) return *std::move(failure);
  if (!failure) {
    for (const std::string& minion : silent) map.add_silent(minion);
    for (const std::string& minion : missing) map.add_silent(minion);
  }
  Reply reply = reply_of(map.take(), job.jid);
  reply.failure = std::move(failure);
  return reply;
}

}  // namespace

Result<Reply> cmd(const Call& call) {
  return cmd_on(call, {});
}

Result<Reply> run_job(const Call& call) {
  Result<master::Job> job = call.master.publish_async(call.permit);
  if (!job) return std::move(job).error();
  if (job->jid.empty()) return nobody();
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("jid").string(job->jid).key("minions").begin_array();
  for (const std::string& minion : job->minions) writer.string(minion);
  writer.end_array().end_object();
  return reply_of(Json::trusted(std::move(text)), std::move(job->jid));
}

Result<Reply> cmd_subset(const Call& call) {
  auto able = who_answers(call, Publication::What::has_function,
                          [](const master::Return& ret) { return ret.ret == Json::boolean(true); });
  if (!able) return std::move(able).error();
  if (able->empty()) return nobody();
  std::shuffle(able->begin(), able->end(), dice());
  able->resize(std::min(able->size(), call.permit.chunk().local().subset));
  Publication publication;
  publication.only = *std::move(able);
  return cmd_on(call, publication);
}

}  // namespace rest_fcgi::client
