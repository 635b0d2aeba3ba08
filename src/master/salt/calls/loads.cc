// SPDX-License-Identifier: MIT
#include "master/salt/calls/loads.h"

#include <functional>
#include <span>

#include "master/salt/packed/packer.h"
#include "rest_fcgi/lowstate/master_arguments.h"

namespace rest_fcgi::salt {
namespace {

constexpr std::size_t kUsualSize = 512;

constexpr std::string_view kUsualDelimiter = ":";

/// A whole message, `{"enc": "clear", "load": ..., "version": 3}`. Masters refuse lower versions, and lose a
/// worker to one that is no integer. `pack_load` appends one map.
WipedBytes envelope(const std::function<void(Packer&)>& pack_load) {
  WipedBytes message;
  message.reserve(kUsualSize);
  Packer packer(message);
  packer.begin_map(3).text("enc").text("clear").text("load");
  pack_load(packer);
  packer.text("version").integer(3);
  return message;
}

/// How many fields `pack_credentials` appends.
std::size_t credential_fields(const auth::Credentials& credentials) {
  switch (credentials.kind) {
    case auth::Credentials::Kind::token:
      return 1;
    case auth::Credentials::Kind::eauth:
      return 3;
    case auth::Credentials::Kind::none:
      break;
  }
  return 0;
}

/// `token`, which alone is enough; or `eauth`, `username` and `password`; or nothing.
void pack_credentials(Packer& packer, const auth::Credentials& credentials) {
  switch (credentials.kind) {
    case auth::Credentials::Kind::token:
      packer.text("token").text(credentials.token.reveal());
      break;
    case auth::Credentials::Kind::eauth:
      packer.text("eauth").text(credentials.eauth);
      packer.text("username").text(credentials.username);
      packer.text("password").text(credentials.password.reveal());
      break;
    case auth::Credentials::Kind::none:
      break;
  }
}

template <class Texts>
void pack_texts(Packer& packer, const Texts& texts) {
  packer.begin_array(texts.size());
  for (const std::string_view text : texts) packer.text(text);
}

void pack_target(Packer& packer, const PublishLoad::Target& target) {
  if (const auto* expression = std::get_if<std::string>(&target.tgt)) {
    packer.text(*expression);
  } else {
    pack_texts(packer, std::get<std::vector<std::string>>(target.tgt));
  }
}

/// The positional arguments, then the keyword arguments as one map that says so.
void pack_arguments(Packer& packer, const lowstate::Function& function) {
  packer.begin_array(function.args.size() + (function.kwargs.empty() ? 0 : 1));
  for (const JsonValue& value : function.args) packer.value(value);
  if (function.kwargs.empty()) return;
  packer.begin_map(function.kwargs.size() + 1).text("__kwarg__").boolean(true);
  for (const JsonMember& member : function.kwargs) packer.text(member.key).value(member.value);
}

/// `fun` and `arg`. Each of several functions gets a list of its own: one that finds none never returns.
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

void pack_call(Packer& packer, const PublishLoad& load) {
  if (const auto* function = std::get_if<PublishLoad::Function>(&load.call)) {
    packer.text("fun").text(function->name).text("arg");
    pack_texts(packer, function->args);
  } else {
    pack_functions(packer, *std::get<const lowstate::LocalCall*>(load.call));
  }
}

void pack_kwargs(Packer& packer, const PublishLoad& load, const auth::Credentials& credentials) {
  const bool has_delimiter = load.target.delimiter != kUsualDelimiter;
  packer.begin_map(credential_fields(credentials) + (has_delimiter ? 1 : 0) + (load.metadata ? 1 : 0));
  pack_credentials(packer, credentials);
  if (has_delimiter) packer.text("delimiter").text(load.target.delimiter);
  if (load.metadata) packer.text("metadata").value(*load.metadata);
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

WipedBytes pack_publish(const PublishLoad& load, const Caller& caller) {
  constexpr std::size_t kFields = 8;
  return envelope([&](Packer& packer) {
    packer.begin_map(kFields + (load.jid.empty() ? 0 : 1) + (load.to ? 1 : 0));
    packer.text("cmd").text("publish").text("tgt");
    pack_target(packer, load.target);
    pack_call(packer, load);
    packer.text("tgt_type").text(lowstate::name_of(load.target.type));
    packer.text("ret").text(load.ret);
    if (!load.jid.empty()) packer.text("jid").text(load.jid);
    packer.text("user").text(caller.user);
    packer.text("kwargs");
    pack_kwargs(packer, load, *caller.credentials);
    if (load.to) packer.text("to").integer(load.to->count());
  });
}

WipedBytes login_load(const auth::Credentials& credentials) {
  PublishLoad load;
  load.target = {lowstate::TargetType::list, std::vector<std::string>(), kUsualDelimiter};
  load.call = PublishLoad::Function{"saltutil.find_job", {}};
  return pack_publish(load, {&credentials, credentials.username});
}

Result<WipedBytes> runner_load(const lowstate::MasterCall& call, const Caller& caller) {
  const auto arguments = lowstate::MasterArguments::take(call.function, true);
  if (!arguments) return arguments.error();
  return envelope([&](Packer& packer) {
    packer.begin_map(3 + credential_fields(*caller.credentials));
    packer.text("cmd").text("runner").text("fun").text(call.function.name);
    pack_credentials(packer, *caller.credentials);
    packer.text("kwarg").begin_map(2);
    pack_keyword_arguments(packer, (*arguments)->kwargs);
    pack_args(packer, (*arguments)->args);
  });
}

WipedBytes wheel_load(const lowstate::MasterCall& call, const Caller& caller,
                      const std::optional<WheelJob>& job) {
  constexpr std::size_t kFields = 4;
  constexpr std::size_t kJobFields = 3;
  return envelope([&](Packer& packer) {
    packer.begin_map(kFields + (job ? kJobFields : 0) + credential_fields(*caller.credentials));
    packer.text("cmd").text("wheel").text("fun").text(call.function.name);
    pack_args(packer, call.function.args);
    pack_keyword_arguments(packer, call.function.kwargs);
    if (job) {
      packer.text("__jid__").text(job->jid).text("__tag__").text(job->tag).text("__user__").text(job->user);
    }
    pack_credentials(packer, *caller.credentials);
  });
}

WipedBytes mk_token_load(const auth::Credentials& credentials) {
  return envelope([&](Packer& packer) {
    packer.begin_map(1 + credential_fields(credentials)).text("cmd").text("mk_token");
    pack_credentials(packer, credentials);
  });
}

WipedBytes get_token_load(const auth::Credentials& credentials) {
  return envelope([&](Packer& packer) {
    packer.begin_map(1 + credential_fields(credentials)).text("cmd").text("get_token");
    pack_credentials(packer, credentials);
  });
}

WipedBytes pack_event(const JsonValue& data, std::string_view stamp) {
  constexpr std::string_view kStamp = "_stamp";
  std::size_t members = 1;
  for (const JsonMember member : data.members()) {
    if (member.key != kStamp) ++members;
  }
  WipedBytes bytes;
  Packer packer(bytes);
  packer.begin_map(members);
  for (const JsonMember member : data.members()) {
    if (member.key != kStamp) packer.text(member.key).value(member.value);
  }
  packer.text(kStamp).text(stamp);
  return bytes;
}

}  // namespace rest_fcgi::salt
