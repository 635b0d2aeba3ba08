// SPDX-License-Identifier: MIT
#include "master/embedded/publisher.h"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "master/embedded/local_job.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::embedded {

namespace {

/// Where the returns of one job on worker threads go: the job cache first, so that whoever got a return can
/// look its job up, then who waits.
class Delivery {
 public:
  Delivery(std::string jid, Jobs::Also also, Publisher::Mailbox mailbox)
      : jid_(std::move(jid)), also_(std::move(also)), mailbox_(std::move(mailbox)) {}

  void deliver(Jobs& jobs, master::Return ret) const {
    jobs.record(jid_, ret, also_);
    if (mailbox_) mailbox_->put(std::move(ret));
  }

  void interrupt(Jobs& jobs, const std::string& minion) const {
    log::warning(format("job {} on {} was interrupted: the engine shuts down", jid_, minion));
    deliver(jobs, {minion, Json::string(kInterrupted), 1, false, ""});
  }

 private:
  const std::string jid_;
  const Jobs::Also also_;
  const Publisher::Mailbox mailbox_;  // null: nobody waits
};

/// One job on worker threads, with all that its tasks share.
struct Work {
  std::shared_ptr<const Minions> minions;
  std::shared_ptr<const Modules> modules;
  std::vector<std::size_t> positions;  ///< of the job's minions
  std::shared_ptr<Jobs> jobs;
  std::shared_ptr<const LocalJob> job;
  Delivery delivery;
  std::shared_ptr<RunningJob> running;

  void run(std::size_t call, const std::stop_token& stop) const {
    const Minion& minion = minions->all()[positions[call]];
    const std::stop_callback when_all_stop(stop, [this, call] { running->stop(call); });
    master::Return ret = run_on(minion, running->stop_token(call));
    if (!running->claim(call)) return;
    delivery.deliver(*jobs, std::move(ret));
    jobs->finish(*running, call);
  }

 private:
  /// A job that lost a return would be waited for in vain.
  [[nodiscard]] master::Return run_on(const Minion& minion, const std::stop_token& stop) const {
    if (stop.stop_requested()) return {minion.id, Json::string(kTerminated), 1, false, ""};
    try {
      return job->run({*modules, *jobs}, minion, stop);
    } catch (const std::exception& exception) {
      return {minion.id,
              Json::string(format("The minion function caused an exception: {}", exception.what())), 1, false,
              ""};
    }
  }
};

void submit(master::Workers::Reservation& room, const std::shared_ptr<const Work>& work, bool in_one_task) {
  const std::size_t calls = work->positions.size();
  if (in_one_task) {
    room.submit([work, calls](const std::stop_token& stop) {
      for (std::size_t call = 0; call < calls; ++call) work->run(call, stop);
    });
    return;
  }
  for (std::size_t call = 0; call < calls; ++call) {
    room.submit([work, call](const std::stop_token& stop) { work->run(call, stop); });
  }
}

}  // namespace

master::Job Publisher::job_for(const Order& order) const {
  master::Job job;
  job.minions.reserve(order.selection.positions.size());
  for (const std::size_t position : order.selection.positions)
    job.minions.push_back(minions_->all()[position].id);
  job.missing = order.selection.missing;
  return job;
}

Result<master::Job> Publisher::run(const Order& order, const Mailbox& returns) {
  master::Job job = job_for(order);
  if (job.minions.empty()) return job;
  if (all_quick(*modules_, order.call.functions)) return run_here(order, std::move(job), returns);
  return run_on_workers(order, std::move(job), returns);
}

Result<master::Job> Publisher::run_async(const Order& order) {
  master::Job job = job_for(order);
  if (job.minions.empty()) return job;
  return run_on_workers(order, std::move(job), nullptr);
}

Result<master::Job> Publisher::run_here(const Order& order, master::Job job, const Mailbox& returns) {
  Jobs& jobs = *runtime_->jobs();
  Result<std::string> jid = jobs.claim_jid(order.jid);
  if (!jid) return std::move(jid).error();
  LocalJob local = LocalJob::borrowing(order.call, order.user);
  if (order.narrowed) local.narrow(job.minions);
  returner::Load load = local.load(order.call);
  load.minions = job.minions;
  job.jid = load.jid = *jid;
  local.set_jid(*std::move(jid));
  const Jobs::Also also = jobs.also_for(order.call.ret);
  if (Result<void> saved = jobs.save(load, returner::Durability::grouped, also); !saved) {
    return std::move(saved).error();
  }
  for (const std::size_t position : order.selection.positions) {
    master::Return ret = local.run({*modules_, jobs}, minions_->all()[position], {});
    jobs.record(job.jid, ret, also);
    returns->put(std::move(ret));
  }
  return job;
}

Result<master::Job> Publisher::run_on_workers(const Order& order, master::Job job, const Mailbox& returns) {
  // Functions that end at once are not worth a thread for each minion.
  const bool in_one_task = all_quick(*modules_, order.call.functions);
  Result<master::Workers::Reservation> room =
      runtime_->workers().reserve(in_one_task ? 1 : job.minions.size());
  if (!room) return std::move(room).error();
  Result<std::shared_ptr<LocalJob>> local = LocalJob::owning(order.call, order.user);
  if (!local) return std::move(local).error();
  const std::shared_ptr<Jobs>& jobs = runtime_->jobs();
  Result<std::string> jid = jobs->claim_jid(order.jid);
  if (!jid) return std::move(jid).error();
  if (order.narrowed) (*local)->narrow(job.minions);
  returner::Load load = (*local)->load(order.call);
  load.minions = job.minions;
  job.jid = load.jid = *jid;
  (*local)->set_jid(*jid);

  const Jobs::Also also = jobs->also_for(order.call.ret);
  const Delivery delivery(*std::move(jid), also, returns);
  // The table that interrupts is the Jobs' own: a shared_ptr here would keep it alive for ever.
  auto interrupt = [delivery, owner = jobs.get(), minions = job.minions](std::size_t call) {
    delivery.interrupt(*owner, minions[call]);
  };
  auto running = std::make_shared<RunningJob>(std::move(load), (*local)->ret(), std::move(interrupt));
  const auto durability = returns ? returner::Durability::grouped : returner::Durability::durable;
  if (Result<void> started = jobs->start(running, durability, also); !started) {
    return std::move(started).error();
  }
  const auto work = std::make_shared<const Work>(Work{minions_, modules_, order.selection.positions, jobs,
                                                      *std::move(local), delivery, std::move(running)});
  submit(*room, work, in_one_task);
  return job;
}

template <class ReturnOf>
master::Job Publisher::answer(const Order& order, const Mailbox& returns, const ReturnOf& return_of) {
  master::Job job = job_for(order);
  if (job.minions.empty()) return job;
  job.jid = runtime_->jobs()->new_jid();
  for (const std::string& minion : job.minions)
    returns->put(master::Return{minion, return_of(minion), 0, true, ""});
  return job;
}

master::Job Publisher::ping(const Order& order, const Mailbox& returns) {
  return answer(order, returns, [](const std::string&) { return Json::boolean(true); });
}

master::Job Publisher::has_function(const Order& order, const Mailbox& returns) {
  const std::vector<lowstate::Function>& functions = order.call.functions;
  const bool all = std::all_of(
      functions.begin(), functions.end(),
      [this](const lowstate::Function& function) { return modules_->find(function.name) != nullptr; });
  return answer(order, returns, [all](const std::string&) { return Json::boolean(all); });
}

master::Job Publisher::find_job(const Order& order, std::string_view jid, const Mailbox& returns) {
  const std::shared_ptr<const RunningJob> job = runtime_->jobs()->running().find(jid);
  const Json description = job ? describe_running(::getpid(), job->load(), job->ret()) : Json::empty_object();
  return answer(order, returns, [&](const std::string& minion) {
    return job && job->runs_on(minion) ? description : Json::empty_object();
  });
}

}  // namespace rest_fcgi::embedded
