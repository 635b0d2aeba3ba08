// SPDX-License-Identifier: MIT
#include "rest_fcgi/lowstate/yamlify.h"

#include "lowstate/yaml_flow.h"
#include "lowstate/yaml_scalar.h"

namespace rest_fcgi::lowstate {
namespace {

std::string_view strip(std::string_view text, std::string_view blanks) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// Texts that Salt keeps from the YAML reader, since it would lose them.
bool stays_text(std::string_view text) {
  const std::string_view word = strip(text, " \t\r\n\v\f");
  if (word.empty() || word == "---" || word == "...") return true;
  if (text.find_first_of("\t\r\n") != std::string_view::npos) return true;
  return word.find('_') != std::string_view::npos &&
         word.find_first_not_of("0123456789_") == std::string_view::npos;
}

/// One line of YAML: a word, or something in quotes or brackets. Absent for all else; Salt takes that as
/// text.
std::optional<Json> load_line(std::string_view text) {
  std::string_view line = strip(text, " ");
  constexpr std::string_view brackets = "[{";
  if (brackets.find(line.front()) != std::string_view::npos) {
    return line.front() == text.front() ? parse_yaml_flow(line) : std::nullopt;
  }
  if (line.front() == '"' || line.front() == '\'') return parse_yaml_flow(line);
  constexpr std::string_view indicators = ",]}#&*!|>%@`";
  if (indicators.find(line.front()) != std::string_view::npos) return std::nullopt;
  if (line == "-" || line.starts_with("- ") || line == "?" || line.starts_with("? ")) return std::nullopt;
  line = strip(line.substr(0, line.find(" #")), " ");
  if (line.ends_with(':') || line.find(": ") != std::string_view::npos) return std::nullopt;
  return resolve_plain_scalar(line);
}

/// Python's `\w`. Bytes of characters beyond ASCII count as letters, as nearly all of them are.
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

Json yamlify_scalar(std::string_view text) {
  if (text == "None") return {};
  if (stays_text(text)) return Json::string(text);
  std::optional<Json> value = load_line(text);
  if (!value) return Json::string(text);
  // A `#` starts a comment in YAML; a text that holds one is not to be cut short.
  const bool is_text = value->text().starts_with('"') || value->text() == "null";
  if (is_text && text.find('#') != std::string_view::npos) return Json::string(text);
  return *std::move(value);
}

std::optional<std::pair<std::string_view, std::string_view>> split_keyword(std::string_view text) {
  if (text.empty() || !is_word(text[0]) || (text[0] >= '0' && text[0] <= '9')) return std::nullopt;
  std::size_t end = 1;
  while (end < text.size() && (is_word(text[end]) || text[end] == '.' || text[end] == '-')) ++end;
  if (end == text.size() || text[end] != '=') return std::nullopt;
  std::string_view value = text.substr(end + 1);
  if (value.starts_with('=')) return std::nullopt;
  if (value.ends_with('\n')) value.remove_suffix(1);  // Python's `$` also matches before a last line feed
  if (value.find('\n') != std::string_view::npos) return std::nullopt;
  return std::pair(text.substr(0, end), value);
}

}  // namespace rest_fcgi::lowstate
