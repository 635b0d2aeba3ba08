// SPDX-License-Identifier: MIT
#include "client/local_client.h"

#include <algorithm>
#include <random>
#include <utility>

#include "client/gatherer.h"
#include "client/return_map.h"

namespace rest_fcgi::client {
namespace {

using master::Publication;

Reply reply(Json item, std::string jid) {
  Reply reply;
  reply.items.push_back(std::move(item));
  reply.jid = std::move(jid);
  return reply;
}

/// What Salt gives where nobody matched.
Reply nobody() {
  return reply(Json::empty_object(), {});
}

std::mt19937& dice() {
  thread_local std::mt19937 engine{std::random_device()()};
  return engine;
}

}  // namespace

Result<Reply> LocalClient::cmd(const master::Permit& permit) {
  return cmd_on(permit, {});
}

Result<Reply> LocalClient::cmd_on(const master::Permit& permit, const Publication& publication) {
  Gatherer gatherer(master_, permit, options_);
  const Result<const master::Job*> published = gatherer.publish(publication);
  if (!published) return published.error();
  const master::Job& job = **published;
  if (job.jid.empty()) return nobody();
  ReturnMap map(job.jid, permit.chunk().local().full_return);
  std::vector<std::string> missing = job.missing;  // also what is known to a syndic alone
  std::vector<std::string> silent;
  while (true) {
    Result<std::optional<Arrival>> next = gatherer.next();
    if (!next && map.empty()) return std::move(next).error();
    if (!next) {
      Reply partial = reply(map.take(), job.jid);
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
  return reply(map.take(), job.jid);
}

Result<Reply> LocalClient::run_job(const master::Permit& permit) {
  Result<master::Job> job = master_.publish_async(permit);
  if (!job) return std::move(job).error();
  if (job->jid.empty()) return nobody();
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("jid").string(job->jid).key("minions").begin_array();
  for (const std::string& minion : job->minions) writer.string(minion);
  writer.end_array().end_object();
  return reply(Json::trusted(std::move(text)), std::move(job->jid));
}

Result<Reply> LocalClient::cmd_subset(const master::Permit& permit) {
  auto able = who_has_function(permit);
  if (!able) return std::move(able).error();
  if (able->empty()) return nobody();
  std::shuffle(able->begin(), able->end(), dice());
  able->resize(std::min(able->size(), permit.chunk().local().subset));
  Publication publication;
  publication.only = *std::move(able);
  return cmd_on(permit, publication);
}

Result<std::vector<std::string>> LocalClient::who_has_function(const master::Permit& permit) {
  Gatherer gatherer(master_, permit, options_);
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

}  // namespace rest_fcgi::client
