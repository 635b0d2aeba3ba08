// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <exception>

#include "master/embedded/calls.h"
#include "master/embedded/text.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::embedded {

/// The functions of a local chunk, ready to run on any minion. Immutable; thread-safe.
class LocalJob {
 public:
  explicit LocalJob(const lowstate::LocalCall& call)
      : ret_(call.ret), compound_(call.compound), functions_(&call.functions) {}

  /// Makes a job with a copy of the functions, so that the job may outlive the request.
  static Result<std::shared_ptr<LocalJob>> owning(const lowstate::LocalCall& call) {
    auto job = std::make_shared<LocalJob>(call);
    if (Result<void> copied = job->copy(call); !copied) return std::move(copied).error();
    return job;
  }

  [[nodiscard]] const std::string& ret() const noexcept { return ret_; }

  [[nodiscard]] master::Return run(const returner::Load& load, const Engine& engine, const Minion& minion,
                                   const std::stop_token& stop) const {
    return compound_ ? run_all(load, engine, minion, stop) : run_one(load, engine, minion, 0, stop);
  }

 private:
  /// This function is not inlined, so that `run` needs little stack.
  [[nodiscard, gnu::noinline]] master::Return run_all(const returner::Load& load, const Engine& engine,
                                                      const Minion& minion,
                                                      const std::stop_token& stop) const {
    std::vector<master::Return> returns;
    // A call may name a function twice. The return then shows only the last call, whose index `last` has.
    std::unordered_map<std::string_view, std::size_t> last;
    master::Return all{minion.id, {}, 0, true, ""};
    for (std::size_t i = 0; i < functions_->size(); ++i) {
      const master::Return& one = returns.emplace_back(run_one(load, engine, minion, i, stop));
      last[(*functions_)[i].name] = i;
      const bool is_positive = all.retcode > 0 || one.retcode > 0;
      all.retcode = is_positive ? std::max(all.retcode, one.retcode) : std::min(all.retcode, one.retcode);
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

  Result<void> copy(const lowstate::LocalCall& call) {
    const Json text = written_array([&call](JsonWriter& writer) {
      for (const lowstate::Function& function : call.functions) {
        writer.begin_object().key("fun").string(function.name);
        write_arguments(writer, "args", function.args, "kwargs", function.kwargs);
        writer.end_object();
      }
    });
    if (const auto parsed = document_.parse(text.text(), JsonLimits::none()); !parsed) {
      return Error{ErrorKind::internal,
                   format("Internal error: the arguments of the function cannot be copied: {}",
                          parsed.error().message)};
    }
    for (const JsonValue one : document_.root().elements()) {
      auto& [name, args, kwargs] = copies_.emplace_back();
      name = member_of(one, "fun").text();
      for (const JsonValue value : member_of(one, "args").elements()) args.push_back(value);
      for (const JsonMember member : member_of(one, "kwargs").members()) kwargs.push_back(member);
    }
    functions_ = &copies_;
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
  JsonDocument document_;
  // Copies of the chunk's functions. The arguments in the copies borrow from `document_`.
  std::vector<lowstate::Function> copies_;
  const std::vector<lowstate::Function>* functions_;
};

namespace {

/// The data of a job on worker threads. All tasks of the job share it.
struct Work {
  std::shared_ptr<const Minions> minions;
  std::shared_ptr<const Modules> modules;
  std::vector<std::size_t> positions;
  std::shared_ptr<Jobs> jobs;
  Jobs::ExtraReturners extra;
  std::shared_ptr<const LocalJob> job;
  LocalCaller::Addressee returns;  ///< `returns` is null for an asynchronous job.
  std::shared_ptr<RunningJob> running{};

  /// Saves a return before its delivery, so that the caller can find it in the job cache.
  void deliver(const returner::Load& load, master::Return ret) const {
    jobs->add_return(load, ret, extra);
    if (returns) returns->put(std::move(ret));
  }

  void run(std::size_t call, const std::stop_token& stop) const {
    const Minion& minion = minions->all()[positions[call]];
    const std::stop_callback when_all_stop(stop, [this, call] { running->stop(call); });
    master::Return ret = run_on(minion, running->stop_token(call));
    if (!running->claim(call)) return;
    deliver(running->load(), std::move(ret));
    jobs->finish(*running, call);
  }

 private:
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

void submit(master::Workers::Reservation& reservation, const std::shared_ptr<const Work>& work,
            bool in_one_task) {
  const std::size_t calls = work->positions.size();
  const std::size_t calls_of_task = in_one_task ? calls : 1;
  for (std::size_t first = 0; first < calls; first += calls_of_task) {
    reservation.submit([work, first, end = first + calls_of_task](const std::stop_token& stop) {
      if (!work->returns) delay_for_listeners(*work->jobs, stop);
      for (std::size_t call = first; call < end; ++call) work->run(call, stop);
    });
  }
}

bool all_quick(const Modules& modules, const std::vector<lowstate::Function>& functions) {
  return std::all_of(functions.begin(), functions.end(), [&modules](const lowstate::Function& function) {
    return modules.is_quick(function.name);
  });
}

}  // namespace

master::Job LocalCaller::make_job(const Request& request) const {
  master::Job job;
  job.minions.reserve(request.selection.positions.size());
  for (const std::size_t position : request.selection.positions) {
    job.minions.push_back(minions_->all()[position].id);
  }
  job.missing = request.selection.missing;
  return job;
}

Result<master::Job> LocalCaller::run(const Request& request, const Addressee& returns) {
  master::Job job = make_job(request);
  if (job.minions.empty()) return job;
  if (returns && all_quick(*modules_, request.call.functions))
    return run_here(request, std::move(job), returns);
  return run_on_workers(request, std::move(job), returns);
}

Result<returner::Load> LocalCaller::make_load(const Request& request, master::Job& job) {
  const bool is_prepared = request.jid.empty() && !request.prepared.empty();
  Result<std::string> jid = is_prepared ? std::string(request.prepared) : jobs_->claim_jid(request.jid);
  if (!jid) return std::move(jid).error();
  const lowstate::LocalCall& call = request.call;
  returner::Load load;
  job.jid = load.jid = *std::move(jid);
  load.fun = lowstate::published_functions(call);
  load.arg = lowstate::published_arguments(call);
  load.tgt = request.is_narrowed
                 ? written_json([&job](JsonWriter& writer) { write_strings(writer, job.minions); })
                 : call.target.as_sent.json();
  load.tgt_type = lowstate::name_of(request.is_narrowed ? lowstate::TargetType::list : call.target.type);
  load.user = request.user;
  if (call.metadata) load.metadata = call.metadata->json();
  load.minions = job.minions;
  return load;
}

Result<master::Job> LocalCaller::run_here(const Request& request, master::Job job, const Addressee& returns) {
  // The Job keeps returns up to this total size in bytes. Each further return goes to the Addressee as soon
  // as it is saved.
  constexpr std::size_t kMaxHeldBytes = std::size_t{1} << 20;
  const LocalJob local(request.call);
  const Result<returner::Load> load = make_load(request, job);
  if (!load) return load.error();
  const auto run_on = [&](std::size_t position) {
    return local.run(*load, {*modules_, *jobs_}, minions_->all()[position], {});
  };
  const Jobs::ExtraReturners extra = jobs_->extra_returners(request.call.ret);
  const std::vector<std::size_t>& positions = request.selection.positions;
  job.returned.reserve(positions.size());
  auto next = positions.begin();
  for (std::size_t held = 0; next != positions.end() && held < kMaxHeldBytes; ++next) {
    job.returned.push_back(run_on(*next));
    held += job.returned.back().ret.text().size();
  }
  jobs_->add_job(*load, job.returned, extra, job.missing);
  for (; next != positions.end(); ++next) {
    master::Return ret = run_on(*next);
    jobs_->add_return(*load, ret, extra);
    returns->put(std::move(ret));
  }
  return job;
}

Result<master::Job> LocalCaller::run_on_workers(const Request& request, master::Job job,
                                                const Addressee& returns) {
  Result<std::shared_ptr<LocalJob>> local = LocalJob::owning(request.call);
  if (!local) return std::move(local).error();
  const bool in_one_task = all_quick(*modules_, request.call.functions);
  Result<master::Workers::Reservation> reservation =
      workers_.reserve(request.user, in_one_task ? 1 : job.minions.size());
  if (!reservation) return std::move(reservation).error();
  Result<returner::Load> load = make_load(request, job);
  if (!load) return std::move(load).error();

  const auto work =
      std::make_shared<Work>(Work{minions_, modules_, request.selection.positions, jobs_,
                                  jobs_->extra_returners(request.call.ret), *std::move(local), returns});
  // `work` owns the running job. The running job holds only a weak pointer to `work`. With two owning
  // pointers, the two objects would keep each other alive forever.
  auto interrupt = [weak = std::weak_ptr(work)](const returner::Load& of, std::size_t call) {
    log::warning(format("job {} on {} was interrupted: the engine shuts down", of.jid, of.minions[call]));
    const auto interrupted = weak.lock();
    if (!interrupted) return;
    interrupted->jobs->add_return(of, {of.minions[call], Json::string(kInterrupted), 1, false, ""},
                                  interrupted->extra);
    if (interrupted->returns)
      interrupted->returns->put(Error{ErrorKind::unavailable, std::string(kInterrupted)});
  };
  work->running = std::make_shared<RunningJob>(*std::move(load), work->job->ret(), std::move(interrupt));
  const auto durability = returns ? returner::Durability::committed : returner::Durability::durable;
  if (Result<void> started = jobs_->start(work->running, durability, work->extra); !started) {
    return std::move(started).error();
  }
  job.gate = start_or_gate(returns != nullptr, [work, room = *std::move(reservation), missing = job.missing,
                                                in_one_task]() mutable {
    work->jobs->announce(work->running->load(), missing);
    submit(room, work, in_one_task);
  });
  return job;
}

master::Job LocalCaller::answer(const Request& request, const master::Publication& publication) {
  master::Job job = make_job(request);
  if (job.minions.empty()) return job;
  const std::vector<lowstate::Function>& functions = request.call.functions;
  const bool has_functions =
      publication.what == master::Publication::What::has_function &&
      std::all_of(functions.begin(), functions.end(), [this](const lowstate::Function& function) {
        return modules_->find(function.name) != nullptr;
      });
  const std::shared_ptr<const RunningJob> found = jobs_->find_running(publication.jid);
  const auto return_of = [&](const std::string& minion) {
    if (publication.what == master::Publication::What::ping) return Json::boolean(true);
    if (publication.what == master::Publication::What::has_function) return Json::boolean(has_functions);
    if (!found || !found->runs_on(minion)) return Json::empty_object();
    return describe_running(::getpid(), found->load(), found->ret());
  };
  job.jid = jobs_->new_jid();
  for (const std::string& minion : job.minions) {
    job.returned.push_back({minion, return_of(minion), 0, true, ""});
  }
  return job;
}

}  // namespace rest_fcgi::embedded
