// SPDX-License-Identifier: MIT
#include "client/local.h"

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

/// Of the engines that are good enough the one that takes least: each thread has one.
std::minstd_rand& dice() {
  thread_local std::minstd_rand engine{std::random_device()()};
  return engine;
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
  while (true) {
    Result<std::optional<Arrival>> next = gatherer.next();
    if (!next && map.empty()) return std::move(next).error();
    if (!next) {
      Reply partial = reply_of(map.take(), job.jid);
      partial.failure = std::move(next).error();
      return partial;
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
  for (const std::string& minion : silent) map.add_silent(minion);
  for (const std::string& minion : missing) map.add_silent(minion);
  return reply_of(map.take(), job.jid);
}

Result<std::vector<std::string>> who_has_function(const Call& call) {
  Gatherer gatherer(call);
  const auto published = gatherer.publish({Publication::What::has_function, std::nullopt, {}});
  if (!published) return published.error();
  std::vector<std::string> able;
  while (true) {
    Result<std::optional<Arrival>> next = gatherer.next();
    if (!next) return std::move(next).error();
    if (!next->has_value()) return able;
    Arrival& arrival = **next;
    if (arrival.ret && arrival.ret->ret == Json::boolean(true)) able.push_back(std::move(arrival.minion));
  }
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
  auto able = who_has_function(call);
  if (!able) return std::move(able).error();
  if (able->empty()) return nobody();
  std::shuffle(able->begin(), able->end(), dice());
  able->resize(std::min(able->size(), call.permit.chunk().local().subset));
  Publication publication;
  publication.only = *std::move(able);
  return cmd_on(call, publication);
}

}  // namespace rest_fcgi::client
