// SPDX-License-Identifier: MIT
#include "master/salt/calls/messages.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <span>
#include <unordered_set>
#include <utility>

#include "master/salt/calls/keywords.h"
#include "master/salt/packed/packed.h"
#include "master/salt/packed/packer.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/lowstate/master_arguments.h"

// A request to the master is one msgpack map {"enc": "clear", "load": LOAD, "version": 3}. The LOADs:
//   publish    cmd, tgt, fun, arg, tgt_type, ret, [jid], user, kwargs {CREDENTIALS, [delimiter], [metadata]},
//              [to]
//   runner     cmd, fun, CREDENTIALS, kwarg {kwarg, arg}
//   wheel      cmd, fun, arg, kwarg, [__jid__, __tag__, __user__], CREDENTIALS
//   mk_token   cmd, CREDENTIALS, [token_expire]
//   get_token  cmd, CREDENTIALS
//   ping       cmd
// CREDENTIALS are some of eauth, username, password and token. Members in brackets may be missing.

namespace rest_fcgi::salt {
namespace {

constexpr std::size_t kUsualSize = 512;

constexpr std::string_view kUsualDelimiter = ":";

/// Returns a message `{"enc": "clear", "load": ..., "version": 3}`. `pack_load` appends the load as one map.
/// Masters refuse a version below 3.
std::string envelope(const std::function<void(Packer&)>& pack_load) {
  std::string message;
  message.reserve(kUsualSize);
  Packer packer(message);
  packer.begin_map(3).text("enc").text("clear").text("load");
  pack_load(packer);
  packer.text("version").integer(3);
  return message;
}

using TextField = std::pair<std::string_view, std::string_view>;

/// The back end of a login gets the password, the token, or both, as the caller sent them (Salt's
/// `LoadAuth.__auth_call`).
std::vector<TextField> fields_of(const auth::Credentials& credentials) {
  std::vector<TextField> fields;
  if (credentials.kind == auth::Credentials::Kind::none) return fields;
  const bool has_token = credentials.token.size() != 0;
  if (credentials.kind == auth::Credentials::Kind::eauth) {
    fields = {{"eauth", credentials.eauth}, {"username", credentials.username}};
    if (credentials.password.size() != 0 || !has_token)
      fields.emplace_back("password", credentials.password.reveal());
  }
  if (has_token || credentials.kind == auth::Credentials::Kind::token)
    fields.emplace_back("token", credentials.token.reveal());
  return fields;
}

void pack_fields(Packer& packer, const std::vector<TextField>& fields) {
  for (const auto& [name, text] : fields) packer.text(name).text(text);
}

template <class Texts>
void pack_texts(Packer& packer, const Texts& texts) {
  packer.begin_array(texts.size());
  for (const std::string_view text : texts) packer.text(text);
}

void pack_arguments(Packer& packer, const lowstate::Function& function) {
  packer.begin_array(function.args.size() + (function.kwargs.empty() ? 0 : 1));
  for (const JsonValue& value : function.args) packer.value(value);
  if (function.kwargs.empty()) return;
  packer.begin_map(function.kwargs.size() + 1).text("__kwarg__").boolean(true);
  for (const JsonMember& member : function.kwargs) packer.text(member.key).value(member.value);
}

/// In a compound call, each function needs a list of arguments, even an empty one. Without this list, minions
/// would never return.
void pack_functions(Packer& packer, const lowstate::LocalCall& call) {
  if (!call.compound) {
    packer.text("fun").text(call.functions.front().name).text("arg");
    return pack_arguments(packer, call.functions.front());
  }
  packer.text("fun").begin_array(call.functions.size());
  for (const lowstate::Function& function : call.functions) packer.text(function.name);
  packer.text("arg").begin_array(call.functions.size());
  for (const lowstate::Function& function : call.functions) pack_arguments(packer, function);
}

void pack_args(Packer& packer, std::span<const JsonValue> args) {
  packer.text("arg").begin_array(args.size());
  for (const JsonValue& value : args) packer.value(value);
}

void pack_keyword_arguments(Packer& packer, std::span<const JsonMember> kwargs) {
  packer.text("kwarg").begin_map(kwargs.size());
  for (const JsonMember& member : kwargs) packer.text(member.key).value(member.value);
}

}  // namespace

std::string pack_publish(const PublishLoad& load, const Caller& caller) {
  constexpr std::size_t kFields = 8;
  return envelope([&](Packer& packer) {
    packer.begin_map(kFields + (load.jid.empty() ? 0 : 1) + (load.to ? 1 : 0));
    packer.text("cmd").text("publish").text("tgt");
    if (const auto* expression = std::get_if<std::string>(&load.target.tgt)) {
      packer.text(*expression);
    } else {
      pack_texts(packer, std::get<std::vector<std::string>>(load.target.tgt));
    }
    if (const auto* function = std::get_if<PublishLoad::Function>(&load.call)) {
      packer.text("fun").text(function->name).text("arg");
      pack_texts(packer, function->args);
    } else {
      pack_functions(packer, *std::get<const lowstate::LocalCall*>(load.call));
    }
    packer.text("tgt_type").text(lowstate::name_of(load.target.type));
    packer.text("ret").text(load.ret);
    if (!load.jid.empty()) packer.text("jid").text(load.jid);
    packer.text("user").text(caller.user);
    const bool has_delimiter = load.target.delimiter != kUsualDelimiter;
    const std::vector<TextField> fields = fields_of(*caller.credentials);
    packer.text("kwargs").begin_map(fields.size() + (has_delimiter ? 1 : 0) + (load.metadata ? 1 : 0));
    pack_fields(packer, fields);
    if (has_delimiter) packer.text("delimiter").text(load.target.delimiter);
    if (load.metadata) packer.text("metadata").value(*load.metadata);
    if (load.to) packer.text("to").integer(load.to->count());
  });
}

std::string login_load(const auth::Credentials& credentials) {
  PublishLoad load;
  load.target = {lowstate::TargetType::list, std::vector<std::string>(), kUsualDelimiter};
  load.call = PublishLoad::Function{"saltutil.find_job", {}};
  return pack_publish(load, {&credentials, credentials.username});
}

Result<std::string> runner_load(const lowstate::MasterCall& call, const Caller& caller) {
  const auto arguments = lowstate::MasterArguments::copy_of(
      call.function, true,
      [&call](std::string_view key) { return runner_gets_keyword(call.function.name, key); });
  if (!arguments) return arguments.error();
  return envelope([&](Packer& packer) {
    const std::vector<TextField> fields = fields_of(*caller.credentials);
    packer.begin_map(3 + fields.size());
    packer.text("cmd").text("runner").text("fun").text(call.function.name);
    pack_fields(packer, fields);
    packer.text("kwarg").begin_map(2);
    pack_keyword_arguments(packer, (*arguments)->kwargs);
    pack_args(packer, (*arguments)->args);
  });
}

std::string wheel_load(const lowstate::MasterCall& call, const Caller& caller, const master::Started* job) {
  constexpr std::size_t kFields = 4;
  constexpr std::size_t kJobFields = 3;
  std::vector<JsonMember> kwargs = call.function.kwargs;
  std::erase_if(kwargs, [&call](const JsonMember& member) {
    return !wheel_gets_keyword(call.function.name, member.key);
  });
  return envelope([&](Packer& packer) {
    const std::vector<TextField> fields = fields_of(*caller.credentials);
    packer.begin_map(kFields + (job != nullptr ? kJobFields : 0) + fields.size());
    packer.text("cmd").text("wheel").text("fun").text(call.function.name);
    pack_args(packer, call.function.args);
    pack_keyword_arguments(packer, kwargs);
    if (job != nullptr) {
      packer.text("__jid__").text(job->jid).text("__tag__").text(job->tag);
      packer.text("__user__").text(caller.user);
    }
    pack_fields(packer, fields);
  });
}

std::string token_load(const auth::Credentials& credentials) {
  const bool by_token = credentials.kind == auth::Credentials::Kind::token;
  return envelope([&](Packer& packer) {
    const std::vector<TextField> fields = fields_of(credentials);
    packer.begin_map(1 + fields.size() + (credentials.token_life ? 1 : 0));
    packer.text("cmd").text(by_token ? "get_token" : "mk_token");
    pack_fields(packer, fields);
    // The master uses `token_expire` only if `token_expire_user_override` allows it for the user.
    if (credentials.token_life) {
      packer.text("token_expire").real(std::chrono::duration<double>(*credentials.token_life).count());
    }
  });
}

std::string ping_load() {
  return envelope([](Packer& packer) { packer.begin_map(1).text("cmd").text("ping"); });
}

std::string pack_event(const JsonValue& data, std::string_view stamp) {
  constexpr std::string_view kStamp = "_stamp";
  std::size_t members = 1;
  for (const JsonMember member : data.members()) {
    if (member.key != kStamp) ++members;
  }
  std::string bytes;
  Packer packer(bytes);
  packer.begin_map(members);
  for (const JsonMember member : data.members()) {
    if (member.key != kStamp) packer.text(member.key).value(member.value);
  }
  packer.text(kStamp).text(stamp);
  return bytes;
}

namespace {

constexpr std::size_t kMaxSaid = 1000;
constexpr std::string_view kEmptyMap = "\x80";

/// `what` describes the form of the reply and not its content, because the content may be secret.
Error unknown_reply(std::string_view what) {
  return {ErrorKind::internal, format("Malformed reply of the Salt master: {}.", what)};
}

Error said(std::string_view text) {
  // The reply of a master's worker to a well-formed load if the worker cannot reach the master's other
  // processes, or has no memory or disk space.
  if (text == "Some exception handling minion payload") {
    return {ErrorKind::unavailable,
            format("The Salt master failed while it handled the request: it answered \"{}\". Its log has the "
                   "reason. Whether it carried out the request is not known.",
                   text)};
  }
  return {ErrorKind::internal, format("The Salt master answered \"{}\".", excerpt(text, kMaxSaid))};
}

/// Returns the kind of error for an exception with the name `name`, or std::nullopt if the exception does not
/// mean that the master refuses the call.
std::optional<ErrorKind> refusal_of(std::string_view name, std::string_view text) {
  if (name == "AuthorizationError") return ErrorKind::authorization;
  if (name == "TokenAuthenticationError") {
    // Salt has one exception for two failures. A text with the name of a user means that the token is valid,
    // but a permission is missing.
    const bool names_user = text.find(" for user ") != std::string_view::npos;
    return names_user ? ErrorKind::authorization : ErrorKind::authentication;
  }
  const bool is_login = name == "AuthenticationError" || name == "EauthAuthenticationError" ||
                        name == "UserAuthenticationError";
  return is_login ? std::optional(ErrorKind::authentication) : std::nullopt;
}

Error raised(const PackedValue& error) {
  const auto fields = Fields::read(error.packed, {"name", "message"});
  if (!fields) return fields.error();
  const std::string_view name = fields->text("name");
  const std::string_view message = fields->text("message");
  if (const auto refusal = refusal_of(name, message)) return {*refusal, excerpt(message, kMaxSaid)};
  if (name == "SaltInvocationError") return {ErrorKind::invocation, excerpt(message, kMaxSaid)};
  return said(format("{}: {}", name, message));
}

/// Returns the wanted fields of a reply. Fails with the errors that messages.h lists for replies.
Result<Fields> open_reply(std::string_view bytes, std::initializer_list<std::string_view> wanted) {
  const auto reply = PackedValue::read(bytes);
  if (!reply) return unknown_reply(reply.error().message);
  if (reply->kind == PackedValue::Kind::text) return said(reply->text);
  if (reply->kind != PackedValue::Kind::map)
    return unknown_reply(format("found {}, expected a map", type_name(reply->kind)));
  if (bytes == kEmptyMap)
    return unknown_reply("found an empty map, which is the reply to an unknown command");
  std::vector<std::string_view> names(wanted);
  names.insert(names.end(), {"error", "msg"});
  auto fields = Fields::read(bytes, names);
  if (!fields) return fields;
  if (const auto* error = fields->find("error")) {
    if (error->kind == PackedValue::Kind::map) return raised(*error);
    return error->kind == PackedValue::Kind::text
               ? said(error->text)
               : unknown_reply(
                     format("'error': found {}, expected a map or a string", type_name(error->kind)));
  }
  if (const std::string_view message = fields->text("msg"); !message.empty()) return said(message);
  return fields;
}

/// Returns the ids in the field `name`, in order and without duplicates. A missing field has no ids.
Result<std::vector<std::string>> read_ids(const Fields& load, std::string_view name) {
  std::vector<std::string> ids;
  const auto* field = load.find(name);
  if (field == nullptr || field->kind == PackedValue::Kind::nil) return ids;
  const auto texts = read_texts(field->packed);
  if (!texts) return unknown_reply(format("'{}': expected a list of minion ids", name));
  ids.reserve(texts->size());
  std::unordered_set<std::string_view> known;
  for (const std::string_view id : *texts) {
    if (known.insert(id).second) ids.emplace_back(id);
  }
  return ids;
}

// The largest accepted time in seconds since 1970. It fits into a WallTime.
constexpr double kLatest = 1e11;

std::optional<WallTime> read_time(const PackedValue* field) {
  if (field == nullptr) return std::nullopt;
  double seconds = 0;
  if (field->kind == PackedValue::Kind::real) {
    seconds = field->real;
  } else if (field->kind == PackedValue::Kind::integer) {
    seconds = static_cast<double>(field->integer);
  } else {
    return std::nullopt;
  }
  if (!(seconds >= 0)) return std::nullopt;
  const std::chrono::duration<double> since_epoch(std::min(seconds, kLatest));
  return WallTime(std::chrono::duration_cast<std::chrono::microseconds>(since_epoch));
}

/// The master answers wrong credentials with the reply `refusal`.
Result<auth::Grant> read_token_reply(std::string_view bytes, std::string_view refusal) {
  if (bytes == refusal) return Error{ErrorKind::authentication, {}};
  auto reply = open_reply(bytes, {"name", "eauth", "groups", "token", "start", "expire", "auth_list"});
  if (!reply) return std::move(reply).error();
  const std::string_view name = reply->text("name");
  const std::string_view eauth = reply->text("eauth");
  const std::string_view token = reply->text("token");
  if (name.empty() || eauth.empty() || token.empty()) {
    return unknown_reply("'name', 'eauth' or 'token' is missing");
  }
  const auto expire = read_time(reply->find("expire"));
  if (!expire) return unknown_reply("'expire': expected a time");
  const auto start = read_time(reply->find("start"));
  if (!start) return unknown_reply("'start': expected a time");
  std::vector<std::string> groups;
  const PackedValue* const field = reply->find("groups");
  if (field != nullptr && field->kind != PackedValue::Kind::nil) {
    const auto names = read_texts(field->packed);
    if (!names) return unknown_reply("'groups': expected a list of names");
    groups.assign(names->begin(), names->end());
  }
  auth::Grant grant{std::string(name), std::string(eauth), std::move(groups), Secret(token), *expire, *start};
  if (const PackedValue* rights = reply->find("auth_list")) {
    auto list = to_json(rights->packed);
    if (!list) return unknown_reply(list.error().message);
    grant.auth_list = *std::move(list);
  }
  return grant;
}

}  // namespace

Result<master::Job> read_publish_reply(std::string_view bytes) {
  auto reply = open_reply(bytes, {"load"});
  if (!reply) return std::move(reply).error();
  const auto* load = reply->find("load");
  if (load == nullptr || load->kind != PackedValue::Kind::map) return unknown_reply("'load' is missing");
  const auto fields = Fields::read(load->packed, {"jid", "minions", "missing", "error"});
  if (!fields) return fields.error();
  const bool names_minions = fields->find("minions") != nullptr;
  const std::string_view jid = fields->text("jid");
  const std::string_view error = fields->text("error");
  // A reply with an error and a list of minions means that no minion matches. Other errors come without a
  // list.
  if (jid.empty() && names_minions && !error.empty()) return master::Job();
  if (!error.empty()) return said(error);
  if (jid.empty()) return unknown_reply("'jid' is missing");
  if (!names_minions) return unknown_reply("'minions' is missing");
  auto minions = read_ids(*fields, "minions");
  if (!minions) return std::move(minions).error();
  auto missing = read_ids(*fields, "missing");
  if (!missing) return std::move(missing).error();
  return master::Job{std::string(jid), *std::move(minions), *std::move(missing)};
}

Result<master::Started> read_runner_reply(std::string_view bytes) {
  auto reply = open_reply(bytes, {"tag", "jid"});
  if (!reply) return std::move(reply).error();
  const std::string_view jid = reply->text("jid");
  const std::string_view tag = reply->text("tag");
  if (jid.empty() || tag.empty()) return unknown_reply("'jid' or 'tag' is missing");
  return master::Started{std::string(jid), std::string(tag)};
}

Result<master::WheelReply> read_wheel_reply(std::string_view bytes) {
  auto reply = open_reply(bytes, {"data"});
  if (!reply) return std::move(reply).error();
  const auto* data = reply->find("data");
  if (data == nullptr || data->kind != PackedValue::Kind::map) return unknown_reply("'data' is missing");
  const auto fields = Fields::read(data->packed, {"jid"});
  if (!fields) return fields.error();
  const std::string_view jid = fields->text("jid");
  if (jid.empty()) return unknown_reply("'jid' of 'data' is missing");
  auto json = to_json(bytes);
  if (!json) return unknown_reply(json.error().message);
  return master::WheelReply{std::string(jid), *std::move(json)};
}

Result<auth::Grant> read_mk_token_reply(std::string_view bytes) {
  constexpr std::string_view kEmptyText = "\xA0";
  return read_token_reply(bytes, kEmptyText);
}

Result<auth::Grant> read_get_token_reply(std::string_view bytes) {
  return read_token_reply(bytes, kEmptyMap);
}

}  // namespace rest_fcgi::salt
