// SPDX-License-Identifier: MIT
#include "returner/stored_json.h"

#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi::returner {
namespace {

JsonDocument parsed(std::string_view json) {
  return own_document(Json::trusted(std::string(json)));
}

JobReturn return_in(const JsonValue& value) {
  JobReturn ret;
  ret.minion = value.find("id").value_or(JsonValue()).text();
  ret.ret = value.find("return").value_or(JsonValue()).json();
  ret.retcode = static_cast<int>(value.find("retcode").value_or(JsonValue()).integer().value_or(0));
  ret.success = !value.find("success");
  ret.out = value.find("out").value_or(JsonValue()).text();
  return ret;
}

}  // namespace

std::string strings_json(const std::vector<std::string>& strings) {
  std::string text;
  JsonWriter writer(text);
  write_strings(writer, strings);
  return text;
}

std::vector<std::string> strings_in(std::string_view json) {
  const JsonDocument document = parsed(json);
  std::vector<std::string> strings;
  for (const JsonValue value : document.root().elements()) strings.emplace_back(value.text());
  return strings;
}

std::string returns_json(std::span<const ReturnView> returns) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_array();
  for (const ReturnView& ret : returns) {
    writer.begin_object().key("id").string(ret.minion).key("return").raw(ret.ret);
    if (ret.retcode != 0) writer.key("retcode").integer(ret.retcode);
    if (!ret.success) writer.key("success").boolean(false);
    if (!ret.out.empty()) writer.key("out").string(ret.out);
    writer.end_object();
  }
  writer.end_array();
  return text;
}

std::vector<JobReturn> returns_in(std::string_view json) {
  const JsonDocument document = parsed(json);
  std::vector<JobReturn> returns;
  for (const JsonValue value : document.root().elements()) returns.push_back(return_in(value));
  return returns;
}

}  // namespace rest_fcgi::returner
