// SPDX-License-Identifier: MIT
#include "client/return_event.h"

#include <string>
#include <utility>

#include "client/return_map.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::client {
namespace {

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
