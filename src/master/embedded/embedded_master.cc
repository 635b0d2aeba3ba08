// SPDX-License-Identifier: MIT
#include "master/embedded/embedded_master.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "master/embedded/rule_call.h"
#include "master/embedded/runners/master_function.h"
#include "master/embedded/target/target.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/master/embedded/embedded.h"

namespace rest_fcgi::embedded {

namespace {

Error not_authorized() {
  return {ErrorKind::authorization, "Authorization error occurred."};
}

auth::Form form_of(lowstate::Client client) {
  const bool wheel = client == lowstate::Client::wheel || client == lowstate::Client::wheel_async;
  return wheel ? auth::Form::wheel : auth::Form::runner;
}

/// The part of a selection that `only` names.
void narrow(Selection& selection, const Minions& minions, const std::vector<std::string>& only) {
  const Selection wanted = select_ids(minions, {only.begin(), only.end()});
  std::vector<std::size_t> both;
  std::set_intersection(selection.positions.begin(), selection.positions.end(), wanted.positions.begin(),
                        wanted.positions.end(), std::back_inserter(both));
  selection = {std::move(both), {}};
}

}  // namespace

EmbeddedMaster::EmbeddedMaster(const std::shared_ptr<const MasterFacts>& facts,
                               std::unique_ptr<auth::Authenticator> authenticator,
                               std::unique_ptr<auth::Permissions> permissions, RuleTargets targets,
                               const std::shared_ptr<EmbeddedRuntime>& runtime)
    : minions_(facts->minions),
      authenticator_(std::move(authenticator)),
      permissions_(std::move(permissions)),
      targets_(std::move(targets)),
      publisher_(minions_, facts->modules, runtime),
      caller_(facts, runtime) {}

Result<master::Permit> EmbeddedMaster::admit(const lowstate::Chunk& chunk, SteadyTime deadline) {
  // Who calls comes first: nobody else learns anything about targets and functions.
  Result<auth::Identity> identity = authenticator_->authenticate(chunk.credentials, deadline);
  if (!identity) return std::move(identity).error();
  Result<void> authorized = chunk.is_local()
                                ? authorize_local(*identity, chunk.local())
                                : authorize_master(*identity, form_of(chunk.client), chunk.master());
  if (authorized) return permit(chunk, identity->name(), identity->eauth(), deadline);
  Error refused = std::move(authorized).error();
  refused.user = identity->name();
  refused.eauth = identity->eauth();
  return refused;
}

Result<void> EmbeddedMaster::authorize_local(const auth::Identity& identity,
                                             const lowstate::LocalCall& call) const {
  // Resolved when a rule asks for it, so that a caller without rights costs nothing. A target that cannot be
  // resolved reaches nobody, which no rule about minions allows.
  std::optional<Result<Selection>> selection;
  const auto selected = [&]() -> const Result<Selection>& {
    if (!selection) selection.emplace(select(*minions_, call.target));
    return *selection;
  };
  const auto within = [&](std::string_view compound) {
    return selected().ok() && targets_.hold(compound, *minions_, *selected());
  };
  std::vector<RuleCall> seen;
  std::vector<auth::FunctionCall> calls;
  seen.reserve(call.functions.size());
  calls.reserve(call.functions.size());
  for (const lowstate::Function& function : call.functions) {
    calls.push_back(seen.emplace_back(function).call());
  }
  if (!permissions_->allow_local(identity, calls, within)) return not_authorized();
  if (!selected()) return selected().error();
  return publisher_.check(call);
}

Result<void> EmbeddedMaster::authorize_master(const auth::Identity& identity, auth::Form form,
                                              const lowstate::MasterCall& call) const {
  // Rules see what the function will get.
  const auto arguments = lowstate::MasterArguments::take(call.function, form == auth::Form::runner);
  if (!arguments) return arguments.error();
  const auth::FunctionCall seen{call.function.name, (*arguments)->args, (*arguments)->kwargs};
  if (!permissions_->allow_master(identity, form, seen)) return not_authorized();
  if (form == auth::Form::runner && find_runner(call.function.name) == nullptr) {
    return Error{ErrorKind::invocation, format("'{}' is not available.", call.function.name)};
  }
  return {};
}

Result<Publisher::Order> EmbeddedMaster::order_for(
    const master::Permit& permit, const std::optional<std::vector<std::string>>& only) const {
  const lowstate::LocalCall& call = permit.chunk().local();
  Result<Selection> selection = select(*minions_, call.target);
  if (!selection) return std::move(selection).error();
  if (only) narrow(*selection, *minions_, *only);
  // A batch is many publications, which cannot all have the caller's jid.
  const bool batch = permit.chunk().client == lowstate::Client::local_batch;
  return Publisher::Order{call, permit.user(), *std::move(selection), only.has_value(),
                          batch ? std::string_view() : call.jid};
}

Result<master::Job> EmbeddedMaster::publish(const master::Permit& permit,
                                            const master::Publication& publication,
                                            std::shared_ptr<master::Returns> returns) {
  Result<Publisher::Order> order = order_for(permit, publication.only);
  if (!order) return std::move(order).error();
  switch (publication.what) {
    case master::Publication::What::call:
      return publisher_.run(*order, returns);
    case master::Publication::What::ping:
      return publisher_.ping(*order, returns);
    case master::Publication::What::has_function:
      return publisher_.has_function(*order, returns);
    case master::Publication::What::find_job:
      return publisher_.find_job(*order, publication.jid, returns);
  }
  return Error{ErrorKind::internal, "This publication is of no kind that exists."};
}

Result<master::Job> EmbeddedMaster::publish_async(const master::Permit& permit) {
  Result<Publisher::Order> order = order_for(permit, std::nullopt);
  if (!order) return std::move(order).error();
  return publisher_.run_async(*order);
}

Result<master::Started> EmbeddedMaster::runner(const master::Permit& permit,
                                               std::shared_ptr<master::RunnerReturns> returns) {
  return caller_.runner(permit.chunk().master().function, permit.user(), returns);
}

Result<master::Started> EmbeddedMaster::runner_async(const master::Permit& permit) {
  return caller_.start(MasterJob::Form::runner, permit.chunk().master().function, permit.user());
}

Result<master::WheelReply> EmbeddedMaster::wheel(const master::Permit& permit) {
  return caller_.wheel(permit.chunk().master().function, permit.user());
}

Result<master::Started> EmbeddedMaster::wheel_async(const master::Permit& permit) {
  return caller_.start(MasterJob::Form::wheel, permit.chunk().master().function, permit.user());
}

Result<Secret> EmbeddedMaster::make_token(const auth::Credentials& credentials) {
  const Result<auth::Identity> identity =
      authenticator_->authenticate(credentials, system_clock().steady() + std::chrono::minutes(1));
  if (!identity) return identity.error();
  return authenticator_->make_token(*identity);
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
  const auto facts = std::make_shared<const MasterFacts>(
      MasterFacts{*std::move(minions), *std::move(modules), options.config_values});
  const auto embedded =
      std::static_pointer_cast<EmbeddedRuntime>(std::move(runtime));  // make_runtime makes no other
  return std::shared_ptr<master::Master>(std::make_shared<EmbeddedMaster>(
      facts, std::move(authenticator), std::move(permissions), *std::move(targets), embedded));
}

}  // namespace rest_fcgi::embedded
