// SPDX-License-Identifier: MIT
#include "master/embedded/master_job.h"

#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/master/jid.h"

namespace rest_fcgi::embedded {

namespace {

std::string_view word(MasterJob::Form form) {
  return form == MasterJob::Form::runner ? "runner" : "wheel";
}

}  // namespace

MasterJob::MasterJob(Form form, std::string_view name, std::string_view user, WallTime now)
    : form_(form),
      name_(name),
      user_(user),
      started_(now),
      function_(form == Form::runner ? find_runner(name) : find_wheel(name)) {}

Result<std::shared_ptr<MasterJob>> MasterJob::make(Form form, const lowstate::Function& call,
                                                   std::string_view user, WallTime now) {
  Result<std::shared_ptr<const lowstate::MasterArguments>> arguments =
      lowstate::MasterArguments::take(call, form == Form::runner);
  if (!arguments) return std::move(arguments).error();
  auto job = std::make_shared<MasterJob>(MasterJob(form, call.name, user, now));
  job->arguments_ = *std::move(arguments);
  return job;
}

std::string MasterJob::tag() const {
  return format("salt/{}/{}", form_ == Form::runner ? "run" : "wheel", jid_);
}

std::string MasterJob::full_name() const {
  return format("{}.{}", word(form_), name_);
}

returner::Load MasterJob::load(const std::string& master_id) const {
  returner::Load load;
  load.fun = Json::string(full_name());
  load.arg = arguments_->json();
  load.tgt = Json::string(master_id);
  load.tgt_type = lowstate::name_of(lowstate::TargetType::list);
  load.user = user_;
  load.minions = {master_id};
  return load;
}

MasterJob::Outcome MasterJob::invalid_arguments(const std::string& complaint) const {
  const std::string sentence = format("Passed invalid arguments: {}", complaint);
  if (form_ == Form::wheel) return {Json::string(sentence), false};
  // To Salt, a runner that could not be called has succeeded.
  return {Json::string(format("\n{}\n\nUsage:\n{}", sentence, function_->usage)), true};
}

MasterJob::Outcome MasterJob::run(const MasterFacts& facts, Jobs& jobs, const std::stop_token& stop) const {
  if (function_ == nullptr) return {Json::string(format("'{}' is not available.", name_)), false};
  const Result<BoundArguments> bound = function_->bind(*arguments_);
  if (!bound) return invalid_arguments(bound.error().message);
  Result<Json> ret =
      function_->run({*facts.minions, *facts.modules, facts.config_values, jobs, stop}, *bound);
  if (ret) return {*std::move(ret), true};
  Outcome failed{
      Json::string(format("Exception occurred in {} {}: {}", word(form_), name_, ret.error().message)),
      false};
  if (ret.error().kind == ErrorKind::unavailable) failed.unavailable = std::move(ret).error();
  return failed;
}

Json MasterJob::event(const Outcome& outcome) const {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("fun").string(full_name()).key("jid").string(jid_);
  if (form_ == Form::wheel) writer.key("tag").string(tag());
  writer.key("user").string(user_);
  if (form_ == Form::runner) writer.key("fun_args").json(arguments_->json());
  writer.key("_stamp").string(master::iso_stamp(started_)).key("return").json(outcome.ret);
  writer.key("success").boolean(outcome.success).end_object();
  return Json::trusted(std::move(text));
}

}  // namespace rest_fcgi::embedded
