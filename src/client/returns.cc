// SPDX-License-Identifier: MIT
#include "client/returns.h"

#include <utility>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::client {
namespace {

constexpr std::string_view kNoResponse =
    "Minion did not return. [No response]\n"
    "The minions may not have all finished running and any remaining minions will return upon completion. "
    "To look up the return data for this job later, run the following command:\n\n"
    "salt-run jobs.lookup_jid ";

/// Of a compound call a map by function, where the master knows it.
void write_retcode(JsonWriter& writer, const master::Return& ret) {
  if (ret.retcodes) {
    writer.json(*ret.retcodes);
  } else {
    writer.integer(ret.retcode);
  }
}

using lowstate::Function;

void write_functions(JsonWriter& writer, const lowstate::LocalCall& call) {
  if (!call.compound) {
    writer.key("fun").string(call.functions.front().name).key("fun_args");
    lowstate::write_arguments(writer, call.functions.front());
    return;
  }
  writer.key("fun").begin_array();
  for (const Function& function : call.functions) writer.string(function.name);
  writer.end_array().key("fun_args").begin_array();
  for (const Function& function : call.functions) lowstate::write_arguments(writer, function);
  writer.end_array();
}

void write_data(JsonWriter& writer, const master::Return& ret, std::string_view jid,
                const master::Permit& permit) {
  writer.begin_object();
  writer.key("cmd").string("_return").key("id").string(ret.minion).key("success").boolean(ret.success);
  writer.key("return").json(ret.ret).key("retcode");
  write_retcode(writer, ret);
  writer.key("jid").string(jid);
  write_functions(writer, permit.chunk().local());
  writer.key("user").string(permit.user());
  if (!ret.out.empty()) writer.key("out").string(ret.out);
  writer.end_object();
}

}  // namespace

ReturnMap::ReturnMap(std::string_view jid, bool full_return)
    : writer_(text_), jid_(jid), full_return_(full_return) {
  writer_.begin_object();
}

void ReturnMap::add(const master::Return& ret) {
  writer_.key(ret.minion);
  if (!full_return_) {
    writer_.json(ret.ret);
    return;
  }
  writer_.begin_object().key("ret").json(ret.ret);
  if (!ret.out.empty()) writer_.key("out").string(ret.out);
  writer_.key("retcode");
  write_retcode(writer_, ret);
  writer_.key("jid").string(jid_).end_object();
}

void ReturnMap::add_silent(std::string_view minion) {
  const std::string sentence = std::string(kNoResponse).append(jid_);
  writer_.key(minion);
  if (!full_return_) {
    writer_.string(sentence);
    return;
  }
  writer_.begin_object().key("out").string("no_return").key("ret").string(sentence);
  writer_.key("retcode").integer(1).end_object();
}

Json ReturnMap::take() {
  writer_.end_object();
  return Json::trusted(std::move(text_));
}

Json by_minion(std::string_view minion, const Json& ret) {
  std::string text;
  JsonWriter(text).begin_object().key(minion).json(ret).end_object();
  return Json::trusted(std::move(text));
}

Json return_event(const master::Return& ret, std::string_view jid, const master::Permit& permit) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("data");
  if (ret.event) {
    writer.json(*ret.event);
  } else {
    write_data(writer, ret, jid, permit);
  }
  writer.key("tag").string(format("salt/job/{}/ret/{}", jid, ret.minion)).end_object();
  return Json::trusted(std::move(text));
}

}  // namespace rest_fcgi::client
