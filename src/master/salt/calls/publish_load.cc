// SPDX-License-Identifier: MIT
#include "master/salt/calls/envelope.h"
#include "master/salt/calls/load.h"

namespace rest_fcgi::salt {
namespace {

constexpr std::string_view kUsualDelimiter = ":";

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

}  // namespace

WipedBytes publish_load(const PublishLoad& load, const Caller& caller) {
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
  return publish_load(load, {&credentials, credentials.username});
}

}  // namespace rest_fcgi::salt
