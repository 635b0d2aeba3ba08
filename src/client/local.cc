// SPDX-License-Identifier: MIT
#include "client/local.h"

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "rest_fcgi/core/json.h"

namespace rest_fcgi::client {
namespace {

using master::Publication;

Reply reply_of(Json item, std::string jid) {
  Reply reply;
  reply.items.push_back(std::move(item));
  reply.jid = std::move(jid);
  return reply;
}

Reply no_minions_reply() {
  return reply_of(Json::empty_object(), {});
}

constexpr std::string_view kNoResponse =
    "Minion did not return. [No response]\n"
    "The minions may not have all finished running and any remaining minions will return upon completion. "
    "To look up the return data for this job later, run the following command:\n\n"
    "salt-run jobs.lookup_jid ";

/// Writes the reply of `local`, a map from minion to return. Borrows the job. Used by one thread.
class ReturnMap {
 public:
  ReturnMap(const master::Job& job, bool full_return)
      : writer_(text_), jid_(job.jid), full_return_(full_return) {
    writer_.begin_object();
  }
  ReturnMap(const ReturnMap&) = delete;
  ReturnMap& operator=(const ReturnMap&) = delete;

  /// Reserves memory for all received returns, of the size `gathered`, in one step.
  void add(const master::Return& ret, std::size_t gathered) {
    if (text_.capacity() < gathered) text_.reserve(gathered + gathered / 8 + kBehind);
    writer_.key(ret.minion);
    if (!full_return_) {
      writer_.json(ret.ret);
      return;
    }
    writer_.begin_object().key("ret").json(ret.ret);
    if (!ret.out.empty()) writer_.key("out").string(ret.out);
    write_retcode(writer_.key("retcode"), ret);
    writer_.key("jid").string(jid_).end_object();
  }

  /// Adds a minion that has not returned or does not exist.
  void add_silent(std::string_view minion) {
    const std::string sentence = std::string(kNoResponse).append(jid_);
    writer_.key(minion);
    if (!full_return_) {
      writer_.string(sentence);
      return;
    }
    writer_.begin_object().key("out").string("no_return").key("ret").string(sentence);
    writer_.key("retcode").integer(1).end_object();
  }

  [[nodiscard]] bool empty() const noexcept { return text_.size() == 1; }

  /// Completes the map and moves it out of this object. May be called once.
  [[nodiscard]] Json take() {
    writer_.end_object();
    return Json::trusted(std::move(text_));
  }

 private:
  static constexpr std::size_t kBehind = 256;

  std::string text_;
  JsonWriter writer_;
  std::string_view jid_;
  bool full_return_;
};

Result<Reply> cmd_on(const ChunkCall& call, const Publication& publication) {
  Gatherer gatherer(call);
  const auto published = gatherer.publish(publication);
  if (!published) return published.error();
  const master::Job& job = **published;
  if (job.jid.empty()) return no_minions_reply();
  ReturnMap map(job, call.permit.chunk().local().full_return);
  // The master counts minions below its syndics as missing, although these minions can return.
  std::vector<std::string> missing = job.missing;
  std::vector<std::string_view> silent;
  std::optional<Error> failure;
  while (true) {
    Result<std::optional<Arrival>> next = gatherer.next();
    if (!next) {
      failure = std::move(next).error();
      break;
    }
    if (!next->has_value()) break;
    const Arrival& arrival = **next;
    std::erase(missing, arrival.minion);
    if (arrival.ret != nullptr) {
      map.add(*arrival.ret, gatherer.gathered());
    } else {
      silent.push_back(arrival.minion);
    }
  }
  if (failure && map.empty()) return *std::move(failure);
  if (!failure) {
    for (const std::string_view minion : silent) map.add_silent(minion);
    for (const std::string& minion : missing) map.add_silent(minion);
  }
  Reply reply = reply_of(map.take(), job.jid);
  reply.failure = std::move(failure);
  return reply;
}

}  // namespace

void write_retcode(JsonWriter& writer, const master::Return& ret) {
  if (ret.retcodes) {
    writer.json(*ret.retcodes);
  } else {
    writer.integer(ret.retcode);
  }
}

Result<Reply> cmd(const ChunkCall& call) {
  return cmd_on(call, {});
}

Result<Reply> run_job(const ChunkCall& call) {
  Result<master::Job> job = call.master.publish_async(call.permit);
  if (!job) return std::move(job).error();
  if (job->jid.empty()) return no_minions_reply();
  Json started = written_object([&job](JsonWriter& writer) {
    write_strings(writer.key("jid").string(job->jid).key("minions"), job->minions);
  });
  Reply reply = reply_of(std::move(started), std::move(job->jid));
  reply.gate = std::move(job->gate);
  return reply;
}

Result<Reply> cmd_subset(const ChunkCall& call) {
  auto able = find_answering(call, Publication::What::has_function,
                             [](const master::Return& ret) { return ret.ret == Json::boolean(true); });
  if (!able) return std::move(able).error();
  if (able->empty()) return no_minions_reply();
  std::minstd_rand::result_type seed = 0;
  // std::random_device would take 5 KB of each waiting thread's stack.
  [[maybe_unused]] const int failed = ::getentropy(&seed, sizeof seed);
  std::shuffle(able->begin(), able->end(), std::minstd_rand(seed));
  able->resize(std::min(able->size(), call.permit.chunk().local().subset));
  Publication publication;
  publication.only = *std::move(able);
  return cmd_on(call, publication);
}

}  // namespace rest_fcgi::client
