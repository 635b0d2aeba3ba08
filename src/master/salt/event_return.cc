// SPDX-License-Identifier: MIT
#include "master/salt/event_return.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "master/salt/packed/fields.h"
#include "master/salt/packed/to_json.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::salt {
namespace {

using Kind = PackedValue::Kind;

/// Of a compound call Salt has one for each function; the job's is the worst.
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

Json too_large(const Topic& topic, std::uint64_t size) {
  return Json::string(format(
      "The return is too large to be read from the master's event bus: {} bytes. It may be looked up on "
      "the master's host: salt-run jobs.lookup_jid {}",
      size, topic.jid));
}

bool are(const std::vector<std::string_view>& found, const std::vector<std::string>& functions) {
  return std::equal(found.begin(), found.end(), functions.begin(), functions.end());
}

bool is_of(const Fields& fields, const Published& published) {
  const PackedValue* user = fields.find("user");
  if (user != nullptr && user->kind == Kind::text && user->text != published.user) return false;
  const PackedValue* fun = fields.find("fun");
  if (fun == nullptr) return true;
  if (fun->kind == Kind::text) return are({fun->text}, published.functions);
  const auto names = read_texts(fun->packed);
  return names && are(*names, published.functions);
}

using Texts = std::map<std::string_view, std::string_view>;

/// As far as the beginning tells.
bool is_of(const Texts& texts, const Published& published) {
  const auto user = texts.find("user");
  const auto fun = texts.find("fun");
  return (user == texts.end() || user->second == published.user) &&
         (fun == texts.end() || are({fun->second}, published.functions));
}

/// The text of members of a map that is cut short. Others than texts, and what is not whole, are left out.
Texts texts_at_beginning(std::string_view map_bytes) {
  Texts texts;
  // It fails where the map is cut off, after it has shown what stands before.
  static_cast<void>(each_member(map_bytes, [&](const PackedValue& key, const PackedValue& value) {
    if (key.kind == Kind::text && value.kind == Kind::text) texts[key.text] = value.text;
  }));
  return texts;
}

}  // namespace

std::optional<master::Return> read_return(const Topic& topic, std::string_view data, ReturnForm form) {
  const auto fields =
      Fields::read(data, {"cmd", "id", "jid", "fun", "user", "return", "retcode", "success", "out"});
  if (!fields) {
    log::debug(format("The event of job {} is no return: {}", topic.jid, fields.error().message));
    return std::nullopt;
  }
  const PackedValue* value = fields->find("return");
  const bool proper =
      fields->text("cmd") == "_return" || (form.below_syndic && fields->find("cmd") == nullptr);
  if (!proper || fields->text("id") != topic.who || fields->text("jid") != topic.jid || value == nullptr) {
    return std::nullopt;
  }
  if (form.published != nullptr && !is_of(*fields, *form.published)) return std::nullopt;
  master::Return ret;
  ret.minion = topic.who;
  ret.out = fields->text("out");
  if (const PackedValue* code = fields->find("retcode")) {
    ret.retcode = retcode_of(*code);
    if (code->kind == Kind::map) {
      if (auto codes = code->json()) ret.retcodes = *std::move(codes);
    }
  }
  if (const PackedValue* success = fields->find("success")) ret.success = success_of(*success);
  auto json = value->json();
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

std::optional<master::Return> read_large_return(const Topic& topic, std::string_view beginning,
                                                std::uint64_t size, ReturnForm form) {
  auto texts = texts_at_beginning(beginning);
  const bool proper = texts["cmd"] == "_return" || (form.below_syndic && texts["cmd"].empty());
  if (!proper || texts["id"] != topic.who) return std::nullopt;
  if (form.published != nullptr && !is_of(texts, *form.published)) return std::nullopt;
  master::Return ret;
  ret.minion = topic.who;
  ret.ret = too_large(topic, size);
  ret.retcode = 1;
  ret.success = false;
  return ret;
}

std::optional<master::RunnerReturn> read_runner_return(const Topic& topic, std::string_view data,
                                                       bool whole) {
  const auto fields = Fields::read(data, {"cmd", "jid", "return"});
  if (!fields || fields->find("cmd") != nullptr || fields->text("jid") != topic.jid) return std::nullopt;
  master::RunnerReturn ret;
  const PackedValue* value = fields->find("return");
  auto json = value != nullptr ? value->json() : Result<Json>(Json());
  ret.ret = json ? *std::move(json) : cannot_be_shown("return", json.error());
  if (!whole) return ret;
  auto event = to_json(data);
  ret.data = event ? *std::move(event) : cannot_be_shown("event", event.error());
  return ret;
}

std::optional<master::RunnerReturn> read_large_runner_return(const Topic& topic, std::string_view beginning,
                                                             std::uint64_t size) {
  const auto texts = texts_at_beginning(beginning);
  const auto jid = texts.find("jid");
  if (texts.count("cmd") > 0 || jid == texts.end() || jid->second != topic.jid) return std::nullopt;
  return master::RunnerReturn{too_large(topic, size), too_large(topic, size)};
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

}  // namespace rest_fcgi::salt
