// SPDX-License-Identifier: MIT
#include "rest_fcgi/lowstate/master_arguments.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/jid.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/yaml/yaml.h"

namespace rest_fcgi::lowstate {

namespace {

constexpr std::size_t kMaxValues = 100000;

/// Salt (`yamlify_arg`) uses these texts without parsing YAML.
bool stays_text(std::string_view text) {
  const std::string_view word = stripped(text);
  if (word.empty() || word == "---" || word == "...") return true;
  // The first characters of anchors, aliases, tags, block scalars and directives in YAML.
  constexpr std::string_view no_values = "&*!|>%";
  if (no_values.find(word.front()) != std::string_view::npos) return true;
  if (text.find_first_of("\t\r\n") != std::string_view::npos) return true;
  return word.find('_') != std::string_view::npos &&
         word.find_first_not_of("0123456789_") == std::string_view::npos;
}

/// Salt keeps a YAML list or map without brackets as a string.
bool is_block(std::string_view text) {
  return !text.starts_with('[') && !text.starts_with('{') &&
         yaml::kind_of_plain(stripped(text)) == yaml::Kind::string;
}

/// If YAML would change the text's meaning, for example by a comment after `#`, Salt keeps the text as a
/// string.
bool changes_meaning(const yaml::Transcript& value, std::string_view text) {
  using yaml::Kind;
  if (value.kind == Kind::map) return !text.starts_with('{');
  if (value.kind == Kind::list) return !text.starts_with('[');
  if (value.kind != Kind::string && value.kind != Kind::null) return false;
  const bool is_empty =
      value.json.text() == "\"\"" && !stripped(text).starts_with('"') && !stripped(text).starts_with('\'');
  return is_empty || text.find('#') != std::string_view::npos;
}

bool is_word(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

void write_value(JsonWriter& writer, JsonValue value) {
  if (value.is(JsonValue::Kind::integer) && is_jid(value.text())) {
    writer.string(value.text());
  } else {
    value.write(writer);
  }
}

/// REQUIRES: the text was checked when its chunk was read.
void write_text(JsonWriter& writer, std::string_view text) {
  Result<Json> read = yamlify_scalar(text);
  const Json value = read ? *std::move(read) : Json::string(text);
  if (is_jid(value.text())) {
    writer.string(value.text());
  } else {
    writer.json(value);
  }
}

/// Returns the JSON text `[[positional], {keyword}]`.
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

bool is_client_key(std::string_view key, bool of_runner) {
  static const std::vector<std::string_view> kKeys = split_words(
      "client tgt tgt_type expr_form delimiter timeout full_return batch batch_size batch_wait "
      "failhard raw subset sub ret ret_config ret_kwargs jid job_id metadata print_event "
      "gather_job_timeout raw_shell module_executors executor_opts roster roster_file cli "
      "progress display_progress verbose show_timeout show_jid hide_timeout mode async outputter "
      "output out state_output state_verbose no_color force_color eauth username password "
      "token token_expire user key nodegroup saltenv pillarenv ret_options mid raise_err listen "
      "io_loop expect_minions minion_timeout batch_safe_limit batch_safe_size static summary "
      "return returner output_file output_file_append output_indent out_file out_file_append "
      "out_indent state_output_diff state_output_profile state_compress_ids log_level");
  if (of_runner && key == "match") return true;
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

Result<Json> yamlify_scalar(std::string_view text) {
  if (text == "None") return Json();
  if (stays_text(text)) return Json::string(text);
  Result<yaml::Transcript> value = yaml::transcribe(text, {.max_values = kMaxValues});
  if (!value && value.error().kind == ErrorKind::invocation && !is_block(text)) return value.error();
  if (!value || changes_meaning(*value, text)) return Json::string(text);
  return std::move(value->json);
}

std::optional<std::pair<std::string_view, std::string_view>> split_keyword(std::string_view text) {
  if (text.find('=') == std::string_view::npos) return std::nullopt;
  if (!is_word(text[0]) || (text[0] >= '0' && text[0] <= '9')) return std::nullopt;
  std::size_t end = 1;
  while (end < text.size() && (is_word(text[end]) || text[end] == '.' || text[end] == '-')) ++end;
  if (end == text.size() || text[end] != '=') return std::nullopt;
  std::string_view value = text.substr(end + 1);
  if (value.starts_with('=')) return std::nullopt;
  // The `$` in Salt's pattern also matches before a final line feed. The value then ends before the line
  // feed.
  if (value.ends_with('\n')) value.remove_suffix(1);
  if (value.find('\n') != std::string_view::npos) return std::nullopt;
  return std::pair(text.substr(0, end), value);
}

Arguments sort_arguments(std::span<const JsonValue> args, std::span<const JsonMember> kwargs) {
  Arguments arguments;
  if (args.empty() && kwargs.empty()) return arguments;
  std::vector<JsonMember> keywords;
  const Json derived = written_array([&](JsonWriter& writer) {
    for (const JsonValue& arg : args) {
      const auto keyword = split_keyword(arg.is(JsonValue::Kind::string) ? arg.text() : "");
      if (!keyword) {
        arguments.positional.push_back(arg);
        continue;
      }
      if (keywords.empty()) keywords.reserve(args.size() + kwargs.size());
      keywords.push_back({keyword->first, JsonValue()});
      const Result<Json> value = yamlify_scalar(keyword->second);
      if (!value && !arguments.refused) {
        arguments.refused =
            Error{ErrorKind::invocation,
                  format("'arg' has a string that cannot be read as YAML, the value of '{}': {}",
                         keyword->first, value.error().message)};
      }
      writer.json(value ? *value : Json::string(keyword->second));
    }
  });
  if (!keywords.empty()) {
    arguments.derived = std::make_unique<JsonDocument>(own_document(derived));
    auto keyword = keywords.begin();
    for (const JsonValue value : arguments.derived->root().elements()) (keyword++)->value = value;
  }
  keywords.insert(keywords.end(), kwargs.begin(), kwargs.end());
  arguments.keywords = merge_equal_keys(keywords);
  return arguments;
}

std::vector<JsonMember> merge_equal_keys(const std::vector<JsonMember>& members) {
  std::vector<JsonMember> kept;
  // Uses a tree, because a caller could choose keys that make a hash table slow.
  std::map<std::string_view, std::size_t> places;
  for (const JsonMember& member : members) {
    const auto [place, is_new] = places.try_emplace(member.key, kept.size());
    if (is_new) {
      kept.push_back(member);
    } else {
      kept[place->second].value = member.value;
    }
  }
  return kept;
}

Result<std::shared_ptr<const MasterArguments>> MasterArguments::copy_of(const Function& function,
                                                                        bool as_command_line,
                                                                        const KeywordFilter& keeps) {
  auto taken = std::make_shared<MasterArguments>();
  const Result<void> copied =
      taken->document.parse(normalized(function, as_command_line), JsonLimits::none());
  if (!copied) {
    return Error{
        ErrorKind::internal,
        format("Internal error: the arguments of the function cannot be copied: {}", copied.error().message)};
  }
  auto part = taken->document.root().elements().begin();
  for (const JsonValue value : (*part).elements()) taken->args.push_back(value);
  for (const JsonMember member : (*++part).members()) {
    if (!keeps || keeps(member.key)) taken->kwargs.push_back(member);
  }
  return std::shared_ptr<const MasterArguments>(std::move(taken));
}

Json MasterArguments::json() const {
  return written_json([this](JsonWriter& writer) { write_arguments(writer, {{}, args, kwargs}); });
}

}  // namespace rest_fcgi::lowstate
