// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>

#include "master/embedded/calls.h"
#include "master/embedded/modules/native.h"
#include "master/embedded/rule_reports.h"
#include "rest_fcgi/auth/authenticator.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/master/embedded/embedded.h"

namespace rest_fcgi::embedded {

namespace {

struct Admitted final : master::Admitted {
  Admitted(auth::Identity its_caller, Selection its_selection,
           std::shared_ptr<const lowstate::MasterArguments> its_arguments,
           std::shared_ptr<target::Work> its_work)
      : caller(std::move(its_caller)),
        selection(std::move(its_selection)),
        arguments(std::move(its_arguments)),
        work(std::move(its_work)) {}
  auth::Identity caller;
  Selection selection;
  /// `arguments` belong to a runner or wheel. The rules of `external_auth` were checked with these arguments.
  std::shared_ptr<const lowstate::MasterArguments> arguments;
  std::shared_ptr<target::Work> work;  ///< The work that the targets of the request may still take.
};

const Admitted& admitted(const master::Permit& permit) {
  return static_cast<const Admitted&>(permit.admitted());
}

Error not_authorized() {
  return {ErrorKind::authorization, "Authorization error occurred."};
}

Error no_ssh() {
  return {ErrorKind::invocation,
          "The client 'ssh' needs a Salt master on this host (engine: salt); this server runs the embedded "
          "engine."};
}

/// Returns whether `name` is MODULE.FUNCTION, the form of the name of every runner and wheel.
bool has_module_and_function(std::string_view name) {
  const std::size_t dot = name.find('.');
  return dot != std::string_view::npos && dot != 0 && dot + 1 != name.size() && name.rfind('.') == dot;
}

auth::Form form_of(lowstate::Client client) {
  const bool wheel = client == lowstate::Client::wheel || client == lowstate::Client::wheel_async;
  return wheel ? auth::Form::wheel : auth::Form::runner;
}

MasterCaller::Request request_of(const master::Permit& permit) {
  return {form_of(permit.chunk().client), permit.chunk().master().function.name, permit.user(),
          admitted(permit).arguments, permit.jid()};
}

class EmbeddedMaster : public master::Master {
 public:
  EmbeddedMaster(const std::shared_ptr<const MasterData>& data,
                 std::unique_ptr<auth::Authenticator> authenticator,
                 std::unique_ptr<auth::Permissions> permissions, RuleTargets targets,
                 std::shared_ptr<Runtime> runtime)
      : minions_(data->minions),
        authenticator_(std::move(authenticator)),
        permissions_(std::move(permissions)),
        targets_(std::move(targets)),
        runtime_(std::move(runtime)),
        local_caller_(minions_, data->modules, runtime_->jobs(), runtime_->workers()),
        master_caller_(data, runtime_->jobs(), runtime_->workers()) {}

  [[nodiscard]] bool has(lowstate::Client client) const noexcept override {
    return client != lowstate::Client::ssh;
  }

  [[nodiscard]] bool takes_login_token() const noexcept override { return false; }
  [[nodiscard]] bool lists_job_status() const noexcept override { return true; }

  Result<master::Permit> admit(const lowstate::Chunk& chunk, SteadyTime deadline,
                               const master::Permit* before) override {
    // The credentials are checked first, so that the error for wrong credentials reveals nothing about
    // targets and functions.
    const bool is_known = before != nullptr && chunk.credentials.same_as(before->chunk().credentials);
    const auth::Identity* const holder = is_known ? &admitted(*before).caller : chunk.credentials.holder;
    Result<auth::Identity> identity =
        holder != nullptr ? *holder : authenticator_->authenticate(chunk.credentials, deadline);
    if (!identity) return std::move(identity).error();
    if (!has(chunk.client)) return no_ssh();
    if (auto checked = master::check_own_jid(chunk); !checked) return std::move(checked).error();
    const auto work = before == nullptr ? std::make_shared<target::Work>(target::Work::kMost, deadline)
                                        : admitted(*before).work;
    Admission admission =
        chunk.is_local() ? admit_local(*identity, chunk, work) : admit_master(*identity, chunk, work);
    if (admission) {
      return permit(chunk, identity->name(), identity->eauth(), deadline, *std::move(admission));
    }
    Error refused = std::move(admission).error();
    refused.user = identity->name();
    refused.eauth = identity->eauth();
    return refused;
  }

  Result<void> prepare(master::Permit& permit) override {
    const lowstate::Chunk& chunk = permit.chunk();
    const bool has_own = chunk.is_local() && !chunk.local().jid.empty();
    permit.set_jid(has_own ? std::string(chunk.local().jid) : runtime_->jobs()->new_jid());
    return {};
  }

  Result<master::Job> publish(const master::Permit& permit, const master::Publication& publication,
                              std::shared_ptr<master::Addressee> returns) override {
    const LocalCaller::Request request = local_request(permit, publication.only);
    if (publication.what == master::Publication::What::call) return local_caller_.run(request, returns);
    return local_caller_.answer(request, publication);
  }

  Result<master::Job> publish_async(const master::Permit& permit) override {
    return local_caller_.run(local_request(permit, std::nullopt), nullptr);
  }

  Result<master::Started> runner(const master::Permit& permit,
                                 std::shared_ptr<master::RunnerReturns> returns) override {
    return master_caller_.run(request_of(permit), returns);
  }

  Result<master::Started> runner_async(const master::Permit& permit) override {
    return master_caller_.run(request_of(permit), nullptr);
  }

  Result<master::WheelReply> wheel(const master::Permit& permit) override {
    return master_caller_.wheel(request_of(permit));
  }

  Result<master::Started> wheel_async(const master::Permit& permit) override {
    return master_caller_.run(request_of(permit), nullptr);
  }

  Result<master::SshReply> ssh(const master::Permit&, std::size_t) override { return no_ssh(); }

  Result<master::Session> login(const auth::Credentials& credentials, SteadyTime deadline) override {
    const Result<auth::Identity> identity = authenticator_->authenticate(credentials, deadline);
    if (!identity) return identity.error();
    return session_of(authenticator_->make_token(*identity, credentials.token_life));
  }

  Result<master::Session> session(SecretView token, SteadyTime) override {
    return session_of(authenticator_->holder(token));
  }

  Result<void> logout(SecretView token, SteadyTime) override { return authenticator_->revoke_token(token); }

  Result<void> fire_event(std::string_view tag, Json data, const master::Session*, SteadyTime) override {
    const auto checked = master::check_event(tag, data);
    if (!checked) return checked.error();
    runtime_->jobs()->announcer().fire(tag, checked->root());
    return {};
  }

  Result<std::unique_ptr<master::EventReader>> events(const master::EventPermit& permit,
                                                      std::string_view after) override {
    return runtime_->jobs()->announcer().reader(permit, after);
  }

 private:
  Result<master::Session> session_of(Result<auth::TokenLogin> login) const {
    if (!login) return std::move(login).error();
    auth::Identity& identity = login->identity;
    const auth::Subject subject{identity.eauth(), identity.name(), identity.groups()};
    return master::Session{std::move(login->token),
                           login->start,
                           login->expire,
                           identity.name(),
                           identity.eauth(),
                           permissions_->shown(subject),
                           permissions_->event_scope(subject),
                           permissions_->can_read_metrics(subject),
                           std::move(identity)};
  }

  using Admission = Result<std::shared_ptr<const master::Admitted>>;
  Admission admit_local(const auth::Identity& identity, const lowstate::Chunk& chunk,
                        const std::shared_ptr<target::Work>& work) const {
    const lowstate::LocalCall& call = chunk.local();
    // Resolves the target only if a rule needs the minions, so that a refused caller costs little time.
    std::optional<Result<Selection>> selection;
    const auto selected = [&]() -> Result<Selection>& {
      if (!selection) {
        selection.emplace(select_visible(*minions_, call.target, pillar_check(identity), *work));
      }
      return *selection;
    };
    const auto within = [&](std::string_view compound) {
      return selected().ok() && targets_.match_all(compound, *minions_, *selected());
    };
    std::vector<lowstate::Arguments> received;
    std::vector<auth::FunctionCall> calls;
    received.reserve(call.functions.size());
    for (const lowstate::Function& function : call.functions) {
      const auto& [args, kwargs, derived, refused] =
          received.emplace_back(lowstate::sort_arguments(function.args, function.kwargs));
      calls.push_back({function.name, {function.args, function.kwargs}, auth::CallArguments{args, kwargs}});
    }
    if (!permissions_->allow_local(identity, calls, within)) {
      return work->is_spent() ? target::Work::error() : not_authorized();
    }
    for (const lowstate::Arguments& arguments : received) {
      if (!arguments.refused) continue;
      return Error{arguments.refused->kind,
                   format("Lowstate chunk {}: {}", chunk.index, arguments.refused->message)};
    }
    if (!selected()) return selected().error();
    if (Result<void> checked = runtime_->jobs()->check_returners(call.ret); !checked)
      return std::move(checked).error();
    return Admission(std::make_shared<Admitted>(identity, *std::move(selected()), nullptr, work));
  }

  [[nodiscard]] CanReadPillar pillar_check(const auth::Identity& identity) const {
    return make_pillar_check(
        *minions_, targets_, pillar_functions_,
        [this, &identity](const auth::FunctionCall& call, const auth::TargetsWithin& within) {
          return permissions_->allow_local(identity, std::span(&call, 1), within);
        });
  }

  /// Checks whether the caller may use the target of a runner. The runner's return shows which minions match,
  /// so the caller must be allowed to read all pillar data that the target compares.
  Result<void> check_runner_target(const auth::Identity& identity, const MasterFunction& runner,
                                   const lowstate::MasterArguments& arguments, target::Work& work) const {
    const Result<BoundArguments> bound = runner.bind(arguments);
    // This check accepts wrong arguments, because the runner itself refuses them.
    if (!bound || !takes_target(*bound)) return {};
    const Result<lowstate::Target> target = target_of(*bound);
    if (!target) return {};
    const Result<Selection> visible = select_visible(*minions_, *target, pillar_check(identity), work);
    if (work.is_spent()) return target::Work::error();
    if (!visible && visible.error().kind == ErrorKind::authorization) return not_authorized();
    if (visible && visible->has_hidden) return not_authorized();
    return {};
  }

  /// Returns whether some rule lets the caller run at least one of the runners, or one of the wheels.
  [[nodiscard]] bool may_run_some(const auth::Identity& identity, auth::Form form) const {
    const auth::Subject subject{identity.eauth(), identity.name(), identity.groups()};
    const auto may_run = [&](const MasterFunction& function) {
      return !permissions_->explain_master(subject, form, {function.name(), {}}).empty();
    };
    const auto any_of = [&](MasterFunctions functions) {
      return std::any_of(functions.begin(), functions.end(), may_run);
    };
    return form == auth::Form::wheel ? any_of(wheels()) : any_of(jobs_runners()) || any_of(other_runners());
  }

  Admission admit_master(const auth::Identity& identity, const lowstate::Chunk& chunk,
                         const std::shared_ptr<target::Work>& work) const {
    const lowstate::Client client = chunk.client;
    const lowstate::MasterCall& call = chunk.master();
    const auth::Form form = form_of(client);
    const bool is_runner = form == auth::Form::runner;
    if (!has_module_and_function(call.function.name)) {
      if (!may_run_some(identity, form)) return not_authorized();
      return Error{ErrorKind::invocation,
                   format("Lowstate chunk {}: 'fun' is {}; the name of a {} has the form MODULE.FUNCTION.",
                          chunk.index, quoted_excerpt(call.function.name), is_runner ? "runner" : "wheel")};
    }
    const MasterFunction* const function =
        is_runner ? find_runner(call.function.name) : find_wheel(call.function.name);
    const lowstate::KeywordFilter keeps = [function, is_runner](std::string_view key) {
      return function == nullptr || function->gets_keyword(key, is_runner);
    };
    std::vector<JsonMember> sent = call.function.kwargs;
    std::erase_if(sent, [&keeps](const JsonMember& member) { return !keeps(member.key); });
    auto arguments = lowstate::MasterArguments::copy_of(call.function, is_runner, keeps);
    if (!arguments) return std::move(arguments).error();
    const auth::FunctionCall asked{call.function.name,
                                   {call.function.args, sent},
                                   auth::CallArguments{(*arguments)->args, (*arguments)->kwargs}};
    if (!permissions_->allow_master(identity, form, asked)) return not_authorized();
    if (is_runner && function == nullptr) {
      return Error{ErrorKind::unknown_runner, format("'{}' is not available.", call.function.name)};
    }
    if (is_runner) {
      if (auto checked = check_runner_target(identity, *function, **arguments, *work); !checked)
        return std::move(checked).error();
    }
    if (client == lowstate::Client::wheel_async && function != nullptr && function->is_secret) {
      return Error{ErrorKind::invocation,
                   format("'{}' returns a secret, which must not be in a job cache: use the client wheel.",
                          call.function.name)};
    }
    return Admission(std::make_shared<Admitted>(identity, Selection(), *std::move(arguments), work));
  }

  [[nodiscard]] LocalCaller::Request local_request(
      const master::Permit& permit, const std::optional<std::vector<std::string>>& only) const {
    const lowstate::LocalCall& call = permit.chunk().local();
    const Selection& all = admitted(permit).selection;
    if (!only) return {call, permit.user(), all, false, call.jid, permit.jid()};
    const Selection wanted = select_ids(*minions_, {only->begin(), only->end()});
    Selection both;
    std::set_intersection(all.positions.begin(), all.positions.end(), wanted.positions.begin(),
                          wanted.positions.end(), std::back_inserter(both.positions));
    return {call, permit.user(), std::move(both), true, call.jid, permit.jid()};
  }

  const std::shared_ptr<const Minions> minions_;
  const std::unique_ptr<auth::Authenticator> authenticator_;
  const std::unique_ptr<auth::Permissions> permissions_;
  const RuleTargets targets_;
  const std::vector<std::string> pillar_functions_ = native_names("pillar");
  const std::shared_ptr<Runtime> runtime_;
  LocalCaller local_caller_;
  MasterCaller master_caller_;
};

}  // namespace

Runtime::Runtime(const Options& options, std::shared_ptr<Jobs> jobs)
    : jobs_(std::move(jobs)),
      keys_(std::make_shared<GeneratedKeys>()),
      workers_({options.max_workers, options.max_queued}) {}

void Runtime::observe(std::shared_ptr<master::JobObserver> observer) {
  jobs_->announcer().observe(std::move(observer));
}

const returner::WriteCounts& Runtime::writes() const {
  return jobs_->returners().writes();
}

void Runtime::announce_minions() {
  const MutexLock lock(mutex_);
  for (const std::string& id : minions_) {
    if (!started_.contains(id)) jobs_->announcer().minion_start(id);
  }
  for (const std::string& id : started_) {
    if (!minions_.contains(id)) jobs_->announcer().minion_gone(id);
  }
  started_ = minions_;
}

std::vector<UnmatchedRulePart> Runtime::unmatched_rule_parts(
    const std::vector<auth::EauthOptions>& external_auth) const {
  MutexLock lock(mutex_);
  const std::shared_ptr<const MasterData> data = data_.lock();
  lock.unlock();
  return data == nullptr ? std::vector<UnmatchedRulePart>() : find_unmatched(*data, external_auth);
}

std::size_t Runtime::shutdown(SteadyTime deadline) {
  std::size_t interrupted = 0;
  if (!workers_.close(deadline)) {
    // Each running call first gets an interrupted return. The value that its function returns after the
    // stop request is then dropped, because the call already has a return.
    interrupted = jobs_->interrupt_all();
    workers_.stop();
  }
  if (const Result<void> flushed = jobs_->returners().flush(); !flushed) log::error(flushed.error().message);
  return interrupted;
}

void Runtime::set_data(const std::shared_ptr<const MasterData>& data) {
  const MutexLock lock(mutex_);
  data_ = data;
  minions_.clear();
  for (const Minion& minion : data->minions->all()) minions_.insert(minion.id);
}

std::shared_ptr<Runtime> make_runtime(const Options& options, std::unique_ptr<returner::Returners> returners,
                                      const std::shared_ptr<store::Store>& store, const Clock& clock,
                                      master::JidReserve reserve_jids) {
  auto announcer = std::make_shared<Announcer>(std::make_shared<master::EventLog>(clock), clock);
  announcer->watch(returners->master_job_cache());
  auto jobs = std::make_shared<Jobs>(std::move(returners), store, clock, options, std::move(announcer),
                                     std::move(reserve_jids));
  return std::make_shared<Runtime>(options, std::move(jobs));
}

Result<std::shared_ptr<master::Master>> make_master(const Options& options,
                                                    std::unique_ptr<auth::Authenticator> authenticator,
                                                    std::unique_ptr<auth::Permissions> permissions,
                                                    std::shared_ptr<Runtime> runtime) {
  Result<std::shared_ptr<const Minions>> minions = Minions::make(options.minions, options.nodegroups);
  if (!minions) return std::move(minions).error();
  Result<RuleTargets> targets = RuleTargets::make(permissions->targets(), **minions);
  if (!targets) return std::move(targets).error();
  Result<std::shared_ptr<const Modules>> modules = Modules::make(options.modules);
  if (!modules) return std::move(modules).error();
  const auto data = std::make_shared<const MasterData>(
      MasterData{*std::move(minions), *std::move(modules), options.config_values, runtime->keys()});
  runtime->set_data(data);
  return std::shared_ptr<master::Master>(std::make_shared<EmbeddedMaster>(
      data, std::move(authenticator), std::move(permissions), *std::move(targets), std::move(runtime)));
}

}  // namespace rest_fcgi::embedded
