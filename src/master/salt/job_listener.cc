// SPDX-License-Identifier: MIT
#include "master/salt/job_listener.h"

#include <algorithm>

#include "master/salt/packed/packed.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/waiting.h"

namespace rest_fcgi::salt {
namespace {

using Kind = PackedValue::Kind;

/// For a compound call, returns the largest return code of its functions.
int retcode_of(const PackedValue& field) {
  std::int64_t worst = field.kind == Kind::integer ? field.integer : 0;
  if (field.kind == Kind::map) {
    const Result<void> shown = each_member(field.packed, [&](const PackedValue&, const PackedValue& code) {
      if (code.kind == Kind::integer) worst = std::max(worst, code.integer);
    });
    if (!shown) worst = 1;
  }
  return static_cast<int>(std::clamp<std::int64_t>(worst, INT32_MIN, INT32_MAX));
}

bool success_of(const PackedValue& field) {
  if (field.kind != Kind::map) return field.kind != Kind::boolean || field.boolean;
  bool all = true;
  const Result<void> shown = each_member(field.packed, [&](const PackedValue&, const PackedValue& success) {
    all = all && success_of(success);
  });
  return shown.ok() && all;
}

Json cannot_be_shown(std::string_view what, const Error& error) {
  return Json::string(format("The {} cannot be shown as JSON: {}", what, error.message));
}

bool are(const std::vector<std::string_view>& found, const std::vector<std::string>& functions) {
  return std::equal(found.begin(), found.end(), functions.begin(), functions.end());
}

bool is_of(const Fields& fields, const PublishedCall& own) {
  const PackedValue* user = fields.find("user");
  if (user != nullptr && user->kind == Kind::text && user->text != own.user) return false;
  const PackedValue* fun = fields.find("fun");
  if (fun == nullptr) return true;
  if (fun->kind == Kind::text) return are({fun->text}, own.functions);
  const auto names = read_texts(fun->packed);
  return names && are(*names, own.functions);
}

/// Returns the ids of the syndics that passed an event on to the master. The syndic nearest to the master
/// comes first. Each syndic puts `syndic/<its id>` in front of the event's tag.
std::vector<std::string> syndics_in(std::string_view who) {
  const std::vector<std::string_view> syndics = split(who, "/syndic/");
  return {syndics.begin(), syndics.end()};
}

}  // namespace

std::optional<master::Return> read_return(const Topic& topic, std::string_view data, ReturnOptions form) {
  const auto fields =
      Fields::read(data, {"cmd", "id", "jid", "fun", "user", "return", "retcode", "success", "out"});
  if (!fields) {
    log::debug(format("The event of job {} is not a return: {}", topic.jid, fields.error().message));
    return std::nullopt;
  }
  const PackedValue* value = fields->find("return");
  const bool proper =
      fields->text("cmd") == "_return" || (form.below_syndic && fields->find("cmd") == nullptr);
  if (!proper || fields->text("id") != topic.who || fields->text("jid") != topic.jid || value == nullptr) {
    return std::nullopt;
  }
  if (form.own != nullptr && !is_of(*fields, *form.own)) return std::nullopt;
  master::Return ret;
  ret.minion = topic.who;
  ret.out = fields->text("out");
  if (const PackedValue* code = fields->find("retcode")) {
    ret.retcode = retcode_of(*code);
    if (code->kind == Kind::map) {
      if (auto codes = to_json(code->packed)) ret.retcodes = *std::move(codes);
    }
  }
  if (const PackedValue* success = fields->find("success")) ret.success = success_of(*success);
  auto json = to_json(value->packed);
  if (!json) {
    ret.ret = cannot_be_shown("return", json.error());
    ret.retcode = std::max(ret.retcode, 1);
    ret.success = false;
    return ret;
  }
  ret.ret = *std::move(json);
  if (form.whole) {
    if (auto event = to_json(data)) ret.event = *std::move(event);
  }
  return ret;
}

std::optional<master::RunnerReturn> read_runner_return(const Topic& topic, std::string_view data,
                                                       bool whole) {
  const auto fields = Fields::read(data, {"cmd", "jid", "return"});
  if (!fields || fields->find("cmd") != nullptr || fields->text("jid") != topic.jid) return std::nullopt;
  master::RunnerReturn ret;
  const PackedValue* value = fields->find("return");
  auto json = value != nullptr ? to_json(value->packed) : Result<Json>(Json());
  ret.ret = json ? *std::move(json) : cannot_be_shown("return", json.error());
  if (!whole) return ret;
  auto event = to_json(data);
  ret.data = event ? *std::move(event) : cannot_be_shown("event", event.error());
  return ret;
}

std::vector<std::string> read_syndic(std::string_view data) {
  std::vector<std::string> minions;
  const auto fields = Fields::read(data, {"cmd", "minions"});
  if (!fields || fields->find("cmd") != nullptr) return minions;
  const PackedValue* field = fields->find("minions");
  if (field == nullptr) return minions;
  if (const auto ids = read_texts(field->packed)) minions.assign(ids->begin(), ids->end());
  return minions;
}

JobListener::JobListener(std::weak_ptr<master::Addressee> returns, const std::vector<std::string>& minions,
                         PublishedCall own, Options options)
    : returns_(std::move(returns)),
      minions_(minions.begin(), minions.end()),
      own_(std::move(own)),
      options_(options) {}

void JobListener::on_event(const Topic& topic, std::string_view data) {
  const std::shared_ptr<master::Addressee> returns = returns_.lock();
  if (!returns) return;
  if (topic.kind == Topic::Kind::job_return) return on_return(*returns, topic, data);
  if (topic.kind != Topic::Kind::syndic || !options_.syndics) return;
  master::MoreMinions more{read_syndic(data), syndics_in(topic.who)};
  if (!more.minions.empty()) returns->put(std::move(more));
}

void JobListener::on_return(master::Addressee& returns, const Topic& topic, std::string_view data) {
  // With syndics, the minions below a syndic may be unknown when they return. The first return of any minion
  // is therefore accepted.
  const bool expected = options_.syndics ? returned_.count(std::string(topic.who)) == 0
                                         : minions_.count(std::string(topic.who)) > 0;
  if (!expected) return;
  auto ret = read_return(topic, data, {options_.whole_events, options_.syndics, &own_});
  if (!ret) return;
  if (options_.has_function) {
    const std::string& names = ret->ret.text();
    ret->ret = Json::boolean(names.starts_with('[') && names != "[]");
  }
  minions_.erase(ret->minion);
  if (options_.syndics) returned_.insert(ret->minion);
  returns.put(*std::move(ret));
}

void JobListener::on_loss(const Error& error) {
  if (const auto returns = returns_.lock()) returns->put(error);
}

void RunnerListener::on_event(const Topic& topic, std::string_view data) {
  if (topic.kind == Topic::Kind::runner_new) return note(Seen::begun);
  const std::shared_ptr<master::RunnerReturns> returns = returns_.lock();
  if (!returns || topic.kind != Topic::Kind::runner_return) return;
  auto ret = read_runner_return(topic, data, whole_event_);
  if (!ret) return;
  returns->put(*std::move(ret));
  note(Seen::ended);
}

void RunnerListener::on_loss(const Error& error) {
  if (const auto returns = returns_.lock()) returns->put(error);
  note(Seen::ended);
}

void RunnerListener::note(Seen seen) {
  {
    const MutexLock lock(mutex_);
    if (seen_ == Seen::nothing) seen_ = seen;
  }
  changed_.notify_all();
}

RunnerListener::Seen RunnerListener::wait_until(SteadyTime until) {
  const Waiting waiting;
  MutexLock lock(mutex_);
  changed_.wait_until(lock, until, [this]() REQUIRES(mutex_) { return seen_ != Seen::nothing; });
  return seen_;
}

}  // namespace rest_fcgi::salt
