// SPDX-License-Identifier: MIT
#include "client/return_map.h"

#include <utility>

namespace rest_fcgi::client {
namespace {

constexpr std::string_view kNoResponse =
    "Minion did not return. [No response]\n"
    "The minions may not have all finished running and any remaining minions will return upon completion. "
    "To look up the return data for this job later, run the following command:\n\n"
    "salt-run jobs.lookup_jid ";

}  // namespace

void write_retcode(JsonWriter& writer, const master::Return& ret) {
  if (ret.retcodes) {
    writer.json(*ret.retcodes);
  } else {
    writer.integer(ret.retcode);
  }
}

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

}  // namespace rest_fcgi::client
