// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <unordered_map>
#include <vector>

#include "master/embedded/calls.h"
#include "master/embedded/text.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::embedded {

namespace {

/// A program that a signal ended has a return code below 0: any code but 0 is worse than 0.
int worse_retcode(int a, int b) {
  if (a <= 0 && b <= 0) return std::min(a, b);
  return std::max(a, b);
}

}  // namespace

/// The functions of a local chunk with all that they need to run on any minion. Immutable; threads may share
/// it.
class LocalJob {
 public:
  /// Looks into the chunk, and must not outlive it.
  explicit LocalJob(const lowstate::LocalCall& call)
      : ret_(call.ret), compound_(call.compound), functions_(&call.functions) {}

  /// With arguments of its own: it may outlive the request. Errors: internal, where they cannot be copied.
  [[nodiscard]] static Result<std::shared_ptr<LocalJob>> owning(const lowstate::LocalCall& call) {
    auto job = std::make_shared<LocalJob>(call);
    if (Result<void> owned = job->own(call); !owned) return std::move(owned).error();
    return job;
  }

  [[nodiscard]] const std::string& ret() const noexcept { return ret_; }

  /// Runs all functions on one minion, for the job with this load.
  [[nodiscard]] master::Return run(const returner::Load& load, const Engine& engine, const Minion& minion,
                                   const std::stop_token& stop) const {
    return compound_ ? run_all(load, engine, minion, stop) : run_one(load, engine, minion, 0, stop);
  }

 private:
  /// Apart from `run`: what it has on the stack is not there while a single function takes its time.
  [[nodiscard, gnu::noinline]] master::Return run_all(const returner::Load& load, const Engine& engine,
                                                      const Minion& minion,
                                                      const std::stop_token& stop) const {
    std::vector<master::Return> returns;
    // Of functions that are called twice the later return counts.
    std::unordered_map<std::string_view, std::size_t> last;
    master::Return all{minion.id, {}, 0, true, ""};
    for (std::size_t i = 0; i < functions_->size(); ++i) {
      const master::Return& one = returns.emplace_back(run_one(load, engine, minion, i, stop));
      last[(*functions_)[i].name] = i;
      all.retcode = worse_retcode(all.retcode, one.retcode);
      all.success = all.success && one.success;
    }
    const auto by_function = [&](const auto& write) {
      return written_object([&](JsonWriter& writer) {
        for (std::size_t i = 0; i < returns.size(); ++i) {
          const std::string_view name = (*functions_)[i].name;
          if (last[name] == i) write(writer.key(name), returns[i]);
        }
      });
    };
    all.ret = by_function([](JsonWriter& writer, const master::Return& one) { writer.json(one.ret); });
    all.retcodes =
        by_function([](JsonWriter& writer, const master::Return& one) { writer.integer(one.retcode); });
    return all;
  }

  Result<void> own(const lowstate::LocalCall& call) {
    const Json copy = written_array([&call](JsonWriter& writer) {
      for (const lowstate::Function& function : call.functions) {
        writer.begin_object().key("fun").string(function.name);
        write_arguments(writer, "args", function.args, "kwargs", function.kwargs);
        writer.end_object();
      }
    });
    owned_ = std::make_unique<Owned>();
    if (const auto copied = owned_->arguments.parse(copy.text(), JsonLimits::none()); !copied) {
      return Error{ErrorKind::internal, format("The arguments cannot be copied: {}", copied.error().message)};
    }
    for (const JsonValue one : owned_->arguments.root().elements()) {
      auto& [name, args, kwargs] = owned_->functions.emplace_back();
      name = member_of(one, "fun").text();
      for (const JsonValue value : member_of(one, "args").elements()) args.push_back(value);
      for (const JsonMember member : member_of(one, "kwargs").members()) kwargs.push_back(member);
    }
    functions_ = &owned_->functions;
    return {};
  }

  [[nodiscard]] master::Return run_one(const returner::Load& load, const Engine& engine, const Minion& minion,
                                       std::size_t index, const std::stop_token& stop) const {
    const lowstate::Function& function = (*functions_)[index];
    const JobContext context{load.jid, function.name,   load.user, load.tgt_type,
                             ret_,     load.tgt.text(), function};
    return execute(engine, minion, function.name, function.args, function.kwargs, context, stop);
  }

  const std::string ret_;
  const bool compound_;
  struct Owned {
    JsonDocument arguments;
    std::vector<lowstate::Function> functions;  ///< look into `arguments`
  };
  std::unique_ptr<Owned> owned_;
  const std::vector<lowstate::Function>* functions_;  // the chunk's, or the owned ones
};

namespace {

/// Hands on a return of this job: to the job cache first, so that whoever got one can look its job up, then
/// to who waits.
using Deliver = std::function<void(const returner::Load& load, master::Return)>;

/// One job on worker threads, with all that its tasks share.
struct Work {
  std::shared_ptr<const Minions> minions;
  std::shared_ptr<const Modules> modules;
  std::vector<std::size_t> positions;  ///< of the job's minions
  std::shared_ptr<Jobs> jobs;
  std::shared_ptr<const LocalJob> job;
  Deliver deliver;
  std::shared_ptr<RunningJob> running;
  bool is_awaited = true;  ///< false: an asynchronous job

  void run(std::size_t call, const std::stop_token& stop) const {
    const Minion& minion = minions->all()[positions[call]];
    const std::stop_callback when_all_stop(stop, [this, call] { running->stop(call); });
    master::Return ret = run_on(minion, running->stop_token(call));
    if (!running->claim(call)) return;
    deliver(running->load(), std::move(ret));
    jobs->finish(*running, call);
  }

 private:
  /// A job that lost a return would be waited for in vain.
  [[nodiscard]] master::Return run_on(const Minion& minion, const std::stop_token& stop) const {
    if (stop.stop_requested()) return {minion.id, Json::string(kTerminated), 1, false, ""};
    try {
      return job->run(running->load(), {*modules, *jobs}, minion, stop);
    } catch (const std::exception& exception) {
      const std::string what = format("The minion function caused an exception: {}", exception.what());
      return {minion.id, Json::string(what), 1, false, ""};
    }
  }
};

void submit(master::Workers::Reservation& room, const std::shared_ptr<const Work>& work, bool in_one_task) {
  const std::size_t calls = work->positions.size();
  if (in_one_task) {
    room.submit([work, calls](const std::stop_token& stop) {
      if (!work->is_awaited) give_head_start(*work->jobs, stop);
      for (std::size_t call = 0; call < calls; ++call) work->run(call, stop);
    });
    return;
  }
  for (std::size_t call = 0; call < calls; ++call) {
    room.submit([work, call](const std::stop_token& stop) {
      if (!work->is_awaited) give_head_start(*work->jobs, stop);
      work->run(call, stop);
    });
  }
}

/// So many bytes of returns are held until their job is kept with them. Each that comes after them goes on
/// its way at once: together they may be larger than a reply may be, or than this host is.
constexpr std::size_t kMostGathered = std::size_t{1} << 20;

/// May a request's own thread run all of these functions?
bool all_quick(const Modules& modules, const std::vector<lowstate::Function>& functions) {
  return std::all_of(functions.begin(), functions.end(), [&modules](const lowstate::Function& function) {
    return modules.is_quick(function.name);
  });
}

}  // namespace

master::Job Publisher::job_for(const Order& order) const {
  master::Job job;
  job.minions.reserve(order.selection.positions.size());
  for (const std::size_t position : order.selection.positions) {
    job.minions.push_back(minions_->all()[position].id);
  }
  job.missing = order.selection.missing;
  return job;
}

Result<master::Job> Publisher::run(const Order& order, const Addressee& returns) {
  master::Job job = job_for(order);
  if (job.minions.empty()) return job;
  if (returns && all_quick(*modules_, order.call.functions)) return run_here(order, std::move(job), returns);
  return run_on_workers(order, LocalJob::owning(order.call), std::move(job), returns);
}

Result<returner::Load> Publisher::take_jid(const Order& order, master::Job& job) {
  Result<std::string> jid = jobs_->claim_jid(order.jid);
  if (!jid) return std::move(jid).error();
  returner::Load load;
  job.jid = load.jid = *std::move(jid);
  load.fun = lowstate::published_functions(order.call);
  load.arg = lowstate::published_arguments(order.call);
  load.tgt = order.narrowed ? written_json([&job](JsonWriter& writer) { write_strings(writer, job.minions); })
                            : order.call.target.as_sent.json();
  load.tgt_type = lowstate::name_of(order.narrowed ? lowstate::TargetType::list : order.call.target.type);
  load.user = order.user;
  if (order.call.metadata) load.metadata = order.call.metadata->json();
  load.minions = job.minions;
  return load;
}

Result<master::Job> Publisher::run_here(const Order& order, master::Job job, const Addressee& returns) {
  const LocalJob local(order.call);
  const Result<returner::Load> load = take_jid(order, job);
  if (!load) return load.error();
  const auto run_on = [&](std::size_t position) {
    return local.run(*load, {*modules_, *jobs_}, minions_->all()[position], {});
  };
  const Jobs::Also also = jobs_->also_for(order.call.ret);
  const std::vector<std::size_t>& positions = order.selection.positions;
  job.returned.reserve(positions.size());
  auto next = positions.begin();
  for (std::size_t gathered = 0; next != positions.end() && gathered < kMostGathered; ++next) {
    job.returned.push_back(run_on(*next));
    gathered += job.returned.back().ret.text().size();
  }
  jobs_->keep(*load, job.returned, also, job.missing);
  for (; next != positions.end(); ++next) {
    master::Return ret = run_on(*next);
    jobs_->returned(*load, ret, also);
    returns->put(std::move(ret));
  }
  return job;
}

/// `local` comes from outside because to copy it takes much stack: of the threads that wait for workers there
/// may be thousands, each with as many pages as it ever took.
Result<master::Job> Publisher::run_on_workers(const Order& order, Result<std::shared_ptr<LocalJob>> local,
                                              master::Job job, const Addressee& returns) {
  if (!local) return std::move(local).error();
  // Functions that end at once are not worth a thread for each minion.
  const bool in_one_task = all_quick(*modules_, order.call.functions);
  Result<master::Workers::Reservation> room =
      workers_.reserve(order.user, in_one_task ? 1 : job.minions.size());
  if (!room) return std::move(room).error();
  Result<returner::Load> load = take_jid(order, job);
  if (!load) return std::move(load).error();

  const Jobs::Also also = jobs_->also_for(order.call.ret);
  // Jobs holds the RunningJob, which holds this function: a shared_ptr to Jobs in it would be a cycle.
  const Deliver deliver = [owner = jobs_.get(), also, returns](const returner::Load& of, master::Return ret) {
    owner->returned(of, ret, also);
    if (returns) returns->put(std::move(ret));
  };
  auto interrupt = [deliver](const returner::Load& of, std::size_t call) {
    log::warning(format("job {} on {} was interrupted: the engine shuts down", of.jid, of.minions[call]));
    deliver(of, {of.minions[call], Json::string(kInterrupted), 1, false, ""});
  };
  auto running = std::make_shared<RunningJob>(*std::move(load), (*local)->ret(), std::move(interrupt));
  const auto durability = returns ? returner::Durability::committed : returner::Durability::durable;
  if (Result<void> started = jobs_->start(running, durability, also); !started) {
    return std::move(started).error();
  }
  const auto work =
      std::make_shared<const Work>(Work{minions_, modules_, order.selection.positions, jobs_,
                                        *std::move(local), deliver, std::move(running), returns != nullptr});
  auto begin = [work, room = *std::move(room), missing = job.missing, in_one_task]() mutable {
    work->jobs->announce(work->running->load(), missing);
    submit(room, work, in_one_task);
  };
  if (returns) {
    begin();
  } else {
    job.gate = run_when_destroyed(std::move(begin));
  }
  return job;
}

template <class ReturnOf>
master::Job Publisher::answer(const Order& order, const ReturnOf& return_of) {
  master::Job job = job_for(order);
  if (job.minions.empty()) return job;
  job.jid = jobs_->new_jid();
  job.returned.reserve(job.minions.size());
  for (const std::string& minion : job.minions) {
    job.returned.push_back({minion, return_of(minion), 0, true, ""});
  }
  return job;
}

master::Job Publisher::ping(const Order& order) {
  return answer(order, [](const std::string&) { return Json::boolean(true); });
}

master::Job Publisher::has_function(const Order& order) {
  const std::vector<lowstate::Function>& functions = order.call.functions;
  const bool all = std::all_of(
      functions.begin(), functions.end(),
      [this](const lowstate::Function& function) { return modules_->find(function.name) != nullptr; });
  return answer(order, [all](const std::string&) { return Json::boolean(all); });
}

master::Job Publisher::find_job(const Order& order, std::string_view jid) {
  const std::shared_ptr<const RunningJob> job = jobs_->find_running(jid);
  const Json description = job ? describe_running(::getpid(), job->load(), job->ret()) : Json::empty_object();
  return answer(order, [&](const std::string& minion) {
    return job && job->runs_on(minion) ? description : Json::empty_object();
  });
}

}  // namespace rest_fcgi::embedded
