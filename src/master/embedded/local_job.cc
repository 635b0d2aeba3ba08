// SPDX-License-Identifier: MIT
#include "master/embedded/local_job.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "master/embedded/modules/loader.h"
#include "master/embedded/python/copied.h"
#include "rest_fcgi/lowstate/published.h"

namespace rest_fcgi::embedded {

namespace {

void write_members(JsonWriter& writer, const std::vector<JsonMember>& members) {
  for (const auto& [key, value] : members) {
    writer.key(key);
    value.write(writer);
  }
}

}  // namespace

LocalJob::LocalJob(const lowstate::LocalCall& call, std::string_view user)
    : user_(user),
      tgt_type_(lowstate::name_of(call.target.type)),
      ret_(call.ret),
      compound_(call.compound),
      functions_(&call.functions) {
  JsonWriter writer(tgt_json_);
  call.target.as_sent.write(writer);
  arg_json_.reserve(call.functions.size());
  for (const lowstate::Function& function : call.functions) {
    JsonWriter arguments(arg_json_.emplace_back());
    lowstate::write_arguments(arguments, function);
  }
}

LocalJob LocalJob::borrowing(const lowstate::LocalCall& call, std::string_view user) {
  return LocalJob(call, user);
}

Result<std::shared_ptr<LocalJob>> LocalJob::owning(const lowstate::LocalCall& call, std::string_view user) {
  auto job = std::make_shared<LocalJob>(LocalJob(call, user));
  if (Result<void> owned = job->own(call); !owned) return std::move(owned).error();
  return job;
}

Result<void> LocalJob::own(const lowstate::LocalCall& call) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_array();
  for (const lowstate::Function& function : call.functions) {
    writer.begin_array().string(function.name).begin_array();
    for (const JsonValue& value : function.args) value.write(writer);
    writer.end_array().begin_object();
    write_members(writer, function.kwargs);
    writer.end_object().end_array();
  }
  writer.end_array();
  owned_ = std::make_unique<Owned>();
  if (Result<void> copied = parse_copied(owned_->arguments, text); !copied) return copied;
  for (const JsonValue copied : owned_->arguments.root().elements()) {
    auto part = copied.elements().begin();
    lowstate::Function function{(*part).text(), {}, {}};
    for (const JsonValue value : (*++part).elements()) function.args.push_back(value);
    for (const JsonMember member : (*++part).members()) function.kwargs.push_back(member);
    owned_->functions.push_back(std::move(function));
  }
  functions_ = &owned_->functions;
  return {};
}

returner::Load LocalJob::load(const lowstate::LocalCall& call) const {
  returner::Load load;
  load.fun = lowstate::published_functions(call);
  load.arg = lowstate::published_arguments(call);
  load.tgt = Json::trusted(tgt_json_);
  load.tgt_type = tgt_type_;
  load.user = user_;
  if (call.metadata) load.metadata = call.metadata->json();
  return load;
}

master::Return LocalJob::run_one(const Engine& engine, const Minion& minion, std::size_t index,
                                 const std::stop_token& stop) const {
  const lowstate::Function& function = (*functions_)[index];
  const JobContext context{jid_, function.name, user_, tgt_type_, ret_, tgt_json_, arg_json_[index]};
  Outcome outcome = execute(engine, minion, function.name, function.args, function.kwargs, context, stop);
  return {minion.id, std::move(outcome.ret), outcome.retcode, outcome.success, std::move(outcome.out)};
}

master::Return LocalJob::run(const Engine& engine, const Minion& minion, const std::stop_token& stop) const {
  if (!compound_) return run_one(engine, minion, 0, stop);
  std::vector<master::Return> returns;
  std::unordered_map<std::string_view, std::size_t>
      last;  // of functions that are called twice the later return counts
  master::Return all{minion.id, {}, 0, true, ""};
  for (std::size_t i = 0; i < functions_->size(); ++i) {
    const master::Return& one = returns.emplace_back(run_one(engine, minion, i, stop));
    last[(*functions_)[i].name] = i;
    all.retcode = std::max(all.retcode, one.retcode);
    all.success = all.success && one.success;
  }
  std::string rets;
  std::string retcodes;
  JsonWriter ret_writer(rets);
  JsonWriter retcode_writer(retcodes);
  ret_writer.begin_object();
  retcode_writer.begin_object();
  for (std::size_t i = 0; i < returns.size(); ++i) {
    const std::string_view name = (*functions_)[i].name;
    if (last[name] != i) continue;
    ret_writer.key(name).json(returns[i].ret);
    retcode_writer.key(name).integer(returns[i].retcode);
  }
  ret_writer.end_object();
  retcode_writer.end_object();
  all.ret = Json::trusted(std::move(rets));
  all.retcodes = Json::trusted(std::move(retcodes));
  return all;
}

void LocalJob::narrow(const std::vector<std::string>& minions) {
  tgt_type_ = lowstate::name_of(lowstate::TargetType::list);
  tgt_json_.clear();
  JsonWriter writer(tgt_json_);
  writer.begin_array();
  for (const std::string& minion : minions) writer.string(minion);
  writer.end_array();
}

bool all_quick(const Modules& modules, const std::vector<lowstate::Function>& functions) {
  return std::all_of(functions.begin(), functions.end(), [&modules](const lowstate::Function& function) {
    return modules.is_quick(function.name);
  });
}

}  // namespace rest_fcgi::embedded
