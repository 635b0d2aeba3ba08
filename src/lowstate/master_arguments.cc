// SPDX-License-Identifier: MIT
#include "rest_fcgi/lowstate/master_arguments.h"

#include <string>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/lowstate/jid.h"
#include "rest_fcgi/lowstate/yamlify.h"

namespace rest_fcgi::lowstate {

namespace {

void write_value(JsonWriter& writer, JsonValue value) {
  if (value.is(JsonValue::Kind::integer) && is_jid(value.text())) {
    writer.string(value.text());
  } else {
    value.write(writer);
  }
}

/// The value that a text on a command line stands for.
void write_text(JsonWriter& writer, std::string_view text) {
  const Json value = yamlify_scalar(text);
  const std::string& json = value.text();
  if (is_jid(json)) {
    writer.string(json);
  } else {
    writer.json(value);
  }
}

/// `[[positional], {keyword}]`; of keys that come twice the last one counts, as in any document.
std::string normalized(const Function& function, bool as_command_line) {
  std::string text;
  JsonWriter writer(text);
  std::vector<std::pair<std::string_view, std::string_view>> keywords;
  writer.begin_array().begin_array();
  for (const JsonValue& value : function.args) {
    if (!as_command_line || !value.is(JsonValue::Kind::string)) {
      write_value(writer, value);
    } else if (const auto keyword = split_keyword(value.text())) {
      keywords.push_back(*keyword);
    } else {
      write_text(writer, value.text());
    }
  }
  writer.end_array().begin_object();
  for (const auto& [key, value] : keywords) write_text(writer.key(key), value);
  for (const auto& [key, value] : function.kwargs) write_value(writer.key(key), value);
  writer.end_object().end_array();
  return text;
}

}  // namespace

Result<std::shared_ptr<const MasterArguments>> MasterArguments::take(const Function& function,
                                                                     bool as_command_line) {
  auto taken = std::make_shared<MasterArguments>();
  const Result<void> copied =
      taken->document.parse(normalized(function, as_command_line), JsonLimits::none());
  if (!copied) {
    return Error{ErrorKind::internal, format("The arguments cannot be copied: {}", copied.error().message)};
  }
  auto part = taken->document.root().elements().begin();
  for (const JsonValue value : (*part).elements()) taken->args.push_back(value);
  for (const JsonMember member : (*++part).members()) taken->kwargs.push_back(member);
  return std::shared_ptr<const MasterArguments>(std::move(taken));
}

Json MasterArguments::json() const {
  std::string text;
  JsonWriter writer(text);
  writer.begin_array();
  for (const JsonValue& value : args) value.write(writer);
  if (!kwargs.empty()) {
    writer.begin_object();
    for (const auto& [key, value] : kwargs) value.write(writer.key(key));
    writer.end_object();
  }
  writer.end_array();
  return Json::trusted(std::move(text));
}

}  // namespace rest_fcgi::lowstate
