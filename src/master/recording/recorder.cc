// SPDX-License-Identifier: MIT
#include "master/recording/recorder.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <stop_token>
#include <utility>
#include <variant>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/waiting.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/master/jid.h"
#include "rest_fcgi/master/recording/recording.h"

namespace rest_fcgi::recording {
namespace {

/// The longest time for which a job waits for late returns.
constexpr std::chrono::hours kLongestJob{1};

constexpr std::size_t kMaxJobs = 4096;

using master::Permit;
using master::Publication;

returner::Load load_of(const Permit& permit, const Publication& publication, const master::Job& job) {
  const lowstate::LocalCall& call = permit.chunk().local();
  returner::Load load;
  load.jid = job.jid;
  load.fun = lowstate::published_functions(call);
  load.arg = lowstate::published_arguments(call);
  load.tgt = publication.only
                 ? written_json([&](JsonWriter& writer) { write_strings(writer, *publication.only); })
                 : call.target.as_sent.json();
  load.tgt_type = lowstate::name_of(publication.only ? lowstate::TargetType::list : call.target.type);
  load.user = permit.user();
  if (call.metadata) load.metadata = call.metadata->json();
  load.minions = job.minions;
  return load;
}

class RecordingMaster final : public master::Master {
 public:
  RecordingMaster(std::shared_ptr<master::Master> behind, std::shared_ptr<Recorder> recorder)
      : behind_(std::move(behind)), recorder_(std::move(recorder)) {}

  Result<Permit> admit(const lowstate::Chunk& chunk, SteadyTime deadline, const Permit* before) override {
    Result<Permit> permit = behind_->admit(chunk, deadline, before);
    if (!permit) return permit;
    if (auto checked = master::check_own_jid(chunk); !checked) return std::move(checked).error();
    return permit;
  }
  Result<void> prepare(Permit& permit) override { return behind_->prepare(permit); }
  Result<master::Job> publish(const Permit& permit, const Publication& publication,
                              std::shared_ptr<master::Addressee> returns) override {
    if (publication.what != Publication::What::call) return behind_->publish(permit, publication, returns);
    return record(permit, publication, returns, returner::Durability::committed);
  }
  /// Calls `publish` and not `publish_async` of the master, because only `publish` delivers the returns to
  /// record.
  Result<master::Job> publish_async(const Permit& permit) override {
    return record(permit, {}, nullptr, returner::Durability::durable);
  }
  Result<master::Started> runner(const Permit& permit,
                                 std::shared_ptr<master::RunnerReturns> returns) override {
    return behind_->runner(permit, std::move(returns));
  }
  Result<master::Started> runner_async(const Permit& permit) override {
    return behind_->runner_async(permit);
  }
  Result<master::WheelReply> wheel(const Permit& permit) override { return behind_->wheel(permit); }
  Result<master::Started> wheel_async(const Permit& permit) override { return behind_->wheel_async(permit); }
  Result<master::SshReply> ssh(const Permit& permit, std::size_t max_bytes) override {
    return behind_->ssh(permit, max_bytes);
  }
  Result<master::Session> login(const auth::Credentials& credentials, SteadyTime deadline) override {
    return behind_->login(credentials, deadline);
  }
  Result<master::Session> session(SecretView token, SteadyTime deadline) override {
    return behind_->session(token, deadline);
  }
  Result<void> logout(SecretView token, SteadyTime deadline) override {
    return behind_->logout(token, deadline);
  }
  Result<void> fire_event(std::string_view tag, Json data, const master::Session* caller,
                          SteadyTime deadline) override {
    return behind_->fire_event(tag, std::move(data), caller, deadline);
  }
  Result<std::unique_ptr<master::EventReader>> events(const master::EventPermit& permit,
                                                      std::string_view after) override {
    return behind_->events(permit, after);
  }

 private:
  Result<master::Job> record(const Permit& permit, const Publication& publication,
                             const std::shared_ptr<master::Addressee>& listener,
                             returner::Durability durability) {
    const auto recorded = std::make_shared<RecordedJob>(recorder_->caches(), listener);
    Result<master::Job> job = behind_->publish(permit, publication, recorded);
    if (!job || job->jid.empty()) return job;
    recorded->begin(load_of(permit, publication, *job), durability);
    for (master::Return& ret : std::exchange(job->returned, {})) recorded->put(std::move(ret));
    recorder_->keep(recorded);
    return job;
  }

  const std::shared_ptr<master::Master> behind_;
  const std::shared_ptr<Recorder> recorder_;
};

}  // namespace

struct Caches::State {
  explicit State(std::unique_ptr<returner::Returners> given) : returners(std::move(given)) {}

  void note(What what, std::string_view jid, const Result<void>& kept) {
    returners->writes().note(what, kept);
    if (kept) {
      if (failing.exchange(false)) log::warning("ext_job_cache: saving jobs and returns works again");
    } else if (!failing.exchange(true)) {
      log::error(format(
          "ext_job_cache: cannot save job {}: {}; further failures are not logged until saving works again",
          jid, kept.error().message));
    }
  }

  void call(What what, std::string_view jid, const Call& call) {
    for (returner::Returner* const cache : returners->ext_job_caches()) note(what, jid, call(*cache));
  }

  const std::unique_ptr<returner::Returners> returners;
  std::atomic<std::size_t> calls{0};  // `calls` counts the calls that are queued or running.
  std::atomic<std::size_t> bytes{0};  // `bytes` is the size in bytes of the data of these calls.
  std::atomic<bool> failing{false};
};

Caches::Caches(std::unique_ptr<returner::Returners> returners, Limits limits)
    : limits_(limits),
      state_(std::make_shared<State>(std::move(returners))),
      workers_({.threads = 1, .queued = limits.calls + kFlushes}) {}

void Caches::call(std::string_view jid, const Call& call) {
  state_->call(What::job, jid, call);
}

const returner::WriteCounts& Caches::writes() const {
  return state_->returners->writes();
}

void Caches::call_later(std::string jid, std::size_t bytes, Call call) {
  const auto leave = [state = state_, bytes] {
    state->bytes -= bytes;
    --state->calls;
  };
  const std::size_t calls_before = state_->calls.fetch_add(1);
  const std::size_t bytes_before = state_->bytes.fetch_add(bytes);
  const bool fits = calls_before < limits_.calls && bytes_before + bytes <= limits_.bytes;
  auto room = fits ? workers_.reserve({}, 1)
                   : Error{ErrorKind::unavailable, "too many jobs and returns wait to be saved"};
  if (!room) {
    leave();
    return state_->note(What::one_return, jid, room.error());
  }
  room->submit([state = state_, leave, jid = std::move(jid), call = std::move(call)](const std::stop_token&) {
    state->call(What::one_return, jid, call);
    leave();
  });
}

Result<void> Caches::flush(SteadyTime deadline) {
  auto room = workers_.reserve({}, 1);
  if (!room) return std::move(room).error();
  const auto done = std::make_shared<std::promise<Result<void>>>();
  std::future<Result<void>> flushed = done->get_future();
  room->submit(
      [state = state_, done](const std::stop_token&) { done->set_value(state->returners->flush()); });
  const Waiting waiting;
  if (flushed.wait_until(deadline) == std::future_status::ready) return flushed.get();
  return Error{ErrorKind::unavailable, "ext_job_cache: not all waiting jobs and returns were saved in time"};
}

void RecordedJob::put(master::Delivery delivery) {
  {
    const MutexLock lock(mutex_);
    if (jid_.empty()) {
      early_.push_back(delivery);
    } else {
      record(delivery);
    }
  }
  if (const auto listener = listener_.lock()) listener->put(std::move(delivery));
}

void RecordedJob::begin(const returner::Load& load, returner::Durability durability) {
  // Saves the load before the caller gets the reply.
  caches_->call(load.jid, [&](returner::Returner& cache) { return cache.save_load(load, durability); });
  const MutexLock lock(mutex_);
  jid_ = load.jid;
  expected_.insert(load.minions.begin(), load.minions.end());
  for (const master::Delivery& delivery : std::exchange(early_, {})) record(delivery);
}

bool RecordedJob::done() const {
  const MutexLock lock(mutex_);
  return !jid_.empty() && expected_.empty();
}

void RecordedJob::record(const master::Delivery& delivery) {
  if (const auto* ret = std::get_if<master::Return>(&delivery)) {
    expected_.erase(ret->minion);
    returned_.insert(ret->minion);
    caches_->call_later(
        jid_, ret->ret.text().size(),
        [jid = jid_, kept = returner::JobReturn{ret->minion, ret->ret, ret->retcode, ret->success, ret->out}](
            returner::Returner& cache) { return cache.returner(jid, kept); });
  } else if (const auto* more = std::get_if<master::MoreMinions>(&delivery)) {
    for (const std::string& minion : more->minions) {
      if (returned_.count(minion) == 0) expected_.insert(minion);
    }
    for (const std::string& syndic : more->syndics) expected_.erase(syndic);
    caches_->call_later(jid_, 0, [jid = jid_, minions = more->minions](returner::Returner& cache) {
      return cache.save_minions(jid, minions);
    });
  }
}

void Recorder::keep(std::shared_ptr<const RecordedJob> job) {
  if (job->done()) return;
  const SteadyTime now = clock_.steady();
  Entry oldest;  // The job that is dropped. Its destructor runs after the lock is released.
  const MutexLock lock(mutex_);
  sweep(now);
  if (jobs_.size() >= max_jobs_) {
    oldest = std::move(jobs_.front());
    jobs_.pop_front();
    if (!std::exchange(has_warned_, true)) {
      log::warning(
          format("ext_job_cache: more than {} jobs wait for returns; later returns of the oldest jobs are "
                 "not saved. This warning is logged only once",
                 max_jobs_));
    }
  }
  jobs_.push_back({now + kLongestJob, std::move(job)});
}

const returner::WriteCounts& Recorder::writes() const {
  return caches_->writes();
}

Result<void> Recorder::flush(SteadyTime deadline) {
  return caches_->flush(deadline);
}

void Recorder::sweep(SteadyTime now) {
  while (!jobs_.empty() && jobs_.front().until <= now) jobs_.pop_front();
  // Removes finished jobs only when the number of jobs has doubled, because each removal looks at all jobs.
  if (jobs_.size() < std::max<std::size_t>(2 * swept_size_, 64) && jobs_.size() < max_jobs_) return;
  std::erase_if(jobs_, [](const Entry& held) { return held.job->done(); });
  swept_size_ = jobs_.size();
}

std::shared_ptr<Recorder> make_recorder(std::unique_ptr<returner::Returners> returners, const Clock& clock) {
  auto caches = std::make_shared<Caches>(std::move(returners), Caches::Limits{});
  return std::make_shared<Recorder>(std::move(caches), clock, kMaxJobs);
}

std::shared_ptr<master::Master> make_master(std::shared_ptr<master::Master> master,
                                            std::shared_ptr<Recorder> recorder) {
  return std::make_shared<RecordingMaster>(std::move(master), std::move(recorder));
}

}  // namespace rest_fcgi::recording
