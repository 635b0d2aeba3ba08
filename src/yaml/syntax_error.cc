// SPDX-License-Identifier: MIT
#include "yaml/syntax_error.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/yaml/yaml.h"

namespace rest_fcgi::yaml {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::size_t kNowhere = std::string_view::npos;

/// Pairs of a message of yaml-cpp and its replacement in plain words.
constexpr std::pair<std::string_view, std::string_view> kInPlainWords[] = {
    {"illegal block entry", "found \"- \" behind a key, expected the list on lines of its own, or as [A, B]"},
    {"illegal map key", "found \"? \" inside a line, expected quotes around a text that contains it"},
    {"alias not found after *",
     "found \"*\" at the start of a value, expected quotes around it: '*', or '.*' as a "
     "rule of external_auth"},
    {"illegal character found while scanning alias",
     "found \"*\" at the start of a value, expected quotes around it, as in '*.example'"},
    {"the referenced anchor is not defined",
     "found \"*\" at the start of a value, expected quotes around it, as in '*.example'; without quotes it "
     "is an alias, and no anchor (&) has its name"},
    {"cannot assign multiple aliases to the same node", "found two aliases (*) in one value, expected one"},
    {"aliases can't have any content, *including* tags",
     "found an alias (*) with a value or tag beside it, expected the alias alone, or quotes around a text"},
    {"anchor not found after &", "found \"&\" at the start of a value, expected quotes around it, as in '&'"},
    {"illegal character found while scanning anchor",
     "found \"&\" at the start of a value, expected quotes around it, as in '&x'"},
    {"cannot assign multiple anchors to the same node", "found two anchors (&) at one value, expected one"},
    {"illegal character found while scanning tag handle",
     "found \"!\" at the start of a value, expected quotes around it, as in '!x'"},
    {"tag handle with no suffix",
     "found \"!\" at the start of a value, expected quotes around it, as in '!!'"},
    {"end of verbatim tag not found",
     "found \"!<\" without its \">\", expected quotes around a text, as in '!<x'"},
    {"cannot assign multiple tags to the same node", "found two tags (!) at one value, expected one"},
    {"bad character found while scanning hex number",
     "found \\x, \\u or \\U without its hexadecimal digits in double quotes, expected \\\\ for a backslash, "
     "or "
     "single quotes"},
    {"illegal character in scalar",
     "found a text with a character that needs quotes, expected quotes around the text"},
    {"illegal tab when looking for indentation", "found a tab, expected spaces in front of a key or value"},
    {"cannot set zero indentation for a block scalar",
     "found 0 behind \"|\" or \">\", expected nothing, or a number from 1 to 9"},
    {"unexpected character in block scalar",
     "found a text behind \"|\" or \">\", expected it on the lines below, with more spaces in front"},
    {"YAML directives must have exactly one argument",
     "found \"%YAML\" alone, expected %YAML 1.1, or no such line"},
    {"YAML major version too large", "found a version of YAML above 1, expected %YAML 1.1, or no such line"},
    {"repeated YAML directive", "found \"%YAML\" for the second time, expected it once"},
    {"TAG directives must have exactly two arguments",
     "found \"%TAG\" without a handle and a prefix, expected both, or no such line"},
    {"repeated TAG directive", "found \"%TAG\" for the second time with one handle, expected it once"},
};

/// Pairs of the beginning of a message of yaml-cpp and the replacement for the whole message.
constexpr std::pair<std::string_view, std::string_view> kBeginnings[] = {
    {"bad YAML version: ", "found a %YAML line without a version, expected %YAML 1.1, or no such line"},
    {"unknown escape character: ",
     "found an unknown escape in double quotes, expected \\\\ for a backslash, or single quotes"},
    {"invalid unicode: ",
     "found an escape in double quotes that is not a Unicode character, expected one that is"},
};

std::string_view line_at(std::string_view text, std::size_t line) {
  for (; line > 1; --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find('\n'));
}

std::string_view stripped_line(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  return line.substr(0, line.find_last_not_of(kBlanks) + 1);
}

std::size_t indentation(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

bool has_content(std::string_view line) {
  const std::string_view content = stripped_line(line);
  return !content.empty() && content.front() != '#';
}

std::string_view content_of(std::string_view line) {
  std::string_view content = stripped_line(line);
  while (content.starts_with("- ")) content = stripped_line(content.substr(1));
  return content;
}

std::optional<std::size_t> end_of_quotes(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      if (quote == '"' || at + 1 == text.size() || text[at + 1] != quote) return at + 1;
      ++at;  // In single quotes, '' means one quote.
    }
  }
  return std::nullopt;
}

bool has_key(std::string_view content) {
  std::size_t at = 0;
  if (content.starts_with('"') || content.starts_with('\'')) at = end_of_quotes(content, 0).value_or(0);
  for (at = content.find(':', at); at != kNowhere; at = content.find(':', at + 1)) {
    if (at + 1 == content.size() || kBlanks.find(content[at + 1]) != kNowhere) return true;
  }
  return false;
}

std::optional<std::size_t> unclosed_quote(std::string_view text) {
  char before = '\n';  // The last character before `at` that is not a blank.
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool begins_value = std::string_view("\n:-,[{").find(before) != kNowhere;
    if (c == '#' && (at == 0 || std::string_view(" \t\n").find(text[at - 1]) != kNowhere)) {
      at = std::min(text.find('\n', at), text.size()) - 1;
    } else if ((c == '"' || c == '\'') && begins_value) {
      const auto end = end_of_quotes(text, at);
      if (!end) return at;
      at = *end - 1;
      before = c;
    } else if (kBlanks.find(c) == kNowhere) {
      before = c;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> unclosed_bracket(std::string_view text, char opening, char closing) {
  std::size_t closed = 0;
  for (std::size_t at = text.size(); at > 0; --at) {
    if (text[at - 1] == closing) ++closed;
    if (text[at - 1] == opening && closed-- == 0) return at - 1;
  }
  return std::nullopt;
}

SyntaxError mistake_at_offset(std::string_view text, std::size_t offset, std::string words) {
  const std::string_view before = text.substr(0, offset);
  const auto feeds = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  return {feeds + 1, offset - (before.rfind('\n') + 1) + 1, std::move(words)};
}

std::size_t offset_of(std::string_view text, const SyntaxError& found) {
  const auto begin = static_cast<std::size_t>(line_at(text, found.line).data() - text.data());
  return std::min(begin + found.column - 1, text.size());
}

SyntaxError explain_quotes(std::string_view text, const SyntaxError& found) {
  const auto opener = unclosed_quote(text);
  if (!opener)
    return {found.line, found.column, "found a text in quotes without its closing quote, expected one"};
  const char quote = text[*opener];
  return mistake_at_offset(
      text, *opener,
      format("found a text that begins with {0} and has no closing {0}, expected {0} behind it", quote));
}

SyntaxError explain_brackets(std::string_view text, const SyntaxError& found, char opening, char closing) {
  const auto opener = unclosed_bracket(text.substr(0, offset_of(text, found)), opening, closing);
  const std::string words = format(
      "found \"{0}\" without its \"{1}\", or without a comma between two values; "
      "expected {0}{2}{1}",
      opening, closing, opening == '[' ? "A, B" : "KEY: VALUE, KEY: VALUE");
  return opener ? mistake_at_offset(text, *opener, words) : SyntaxError{found.line, found.column, words};
}

SyntaxError explain_unknown(std::string_view text, const SyntaxError& found) {
  const std::size_t at = offset_of(text, found);
  if (text.substr(0, at).ends_with('{') && text.substr(at).starts_with('%')) {
    return {found.line, found.column, "found \"{%\", expected plain YAML: this file is not rendered"};
  }
  const std::string_view first = text.substr(at, 1);
  return {found.line, found.column,
          format("found {0} at the start of a key or value, expected quotes around it, as in '{1}x'",
                 in_quotes(first), first)};
}

SyntaxError at_line(std::string_view text, std::size_t line, std::string words) {
  return {line, indentation(line_at(text, line)) + 1, std::move(words)};
}

/// Returns the number of the last line above `line` that has content, or 0 if there is no such line.
std::size_t line_above(std::string_view text, std::size_t line) {
  do {
    --line;
  } while (line > 0 && !has_content(line_at(text, line)));
  return line;
}

/// yaml-cpp reports "illegal map value" at the next key, not at the cause of the error.
SyntaxError explain_map_value(std::string_view text, const SyntaxError& found) {
  const std::string_view line = line_at(text, found.line);
  const std::string_view before = line.substr(0, std::min(found.column - 1, line.size()));
  if (has_key(content_of(before))) {
    return {found.line, found.column,
            "found a second colon with a space behind it, expected quotes around a value that has one"};
  }
  const std::size_t above = line_above(text, found.line);
  if (above > 0 && !has_key(content_of(line_at(text, above)))) {
    return at_line(text, above, describe_missing_colon(content_of(line_at(text, above))));
  }
  if (above > 0 && indentation(line) > indentation(line_at(text, above))) {
    return at_line(text, found.line,
                   format("found a key with more spaces in front than the key in line {}, which has a value "
                          "already; expected as many",
                          above));
  }
  return {found.line, found.column, "found a colon, expected a key in front of it"};
}

/// Explains an error that yaml-cpp reports where it expected the next key or the next list item.
SyntaxError explain_end_of_block(std::string_view text, const SyntaxError& found) {
  const std::string_view line = line_at(text, found.line);
  const std::string_view before = stripped_line(line.substr(0, std::min(found.column - 1, line.size())));
  if (!before.empty() && before.find_first_not_of("- ") != kNowhere) {
    return {found.line, found.column,
            "found more text behind a value, expected the end of the line, or quotes around all of it"};
  }
  const std::string_view content = stripped_line(line);
  if (content.starts_with("- ") || content == "-") {
    return at_line(text, found.line,
                   "found an item of a list, expected a key with a colon and a space behind it");
  }
  if (!has_key(content)) return at_line(text, found.line, describe_missing_colon(content));
  const std::size_t above = line_above(text, found.line);
  const std::string_view content_above = stripped_line(above > 0 ? line_at(text, above) : content);
  if (!content_above.starts_with("- ") && !has_key(content_above)) {
    return at_line(text, above, describe_missing_colon(content_above));
  }
  return at_line(
      text, found.line,
      format("found a key with {} spaces in front, expected as many as the other keys of the same map have",
             indentation(line)));
}

}  // namespace

std::string describe_missing_colon(std::string_view content) {
  static constexpr std::string_view kExpected = "expected a key with a colon and a space behind it";
  if (content.starts_with('-') && !content.starts_with("--")) {
    return format("found \"-\" without a space behind it, expected \"- \" in front of a value, or a key");
  }
  const std::size_t end = content.find_first_of(": \t\r=");
  const bool has_colon = end != kNowhere && content[end] == ':';
  return format("found {} without a {} behind it, {}",
                in_quotes(content.substr(0, has_colon ? end + 1 : end)), has_colon ? "space" : "colon",
                kExpected);
}

SyntaxError explain(std::string_view text, const SyntaxError& found) {
  if (found.text == "illegal map value") return explain_map_value(text, found);
  if (found.text == "end of map not found" || found.text == "end of sequence not found") {
    return explain_end_of_block(text, found);
  }
  if (found.text == "end of sequence flow not found") return explain_brackets(text, found, '[', ']');
  if (found.text == "end of map flow not found") return explain_brackets(text, found, '{', '}');
  if (found.text == "illegal document indicator in scalar" || found.text == "illegal EOF in scalar") {
    return explain_quotes(text, found);
  }
  if (found.text == "unknown token") return explain_unknown(text, found);
  if (found.text == "illegal flow end") {
    const std::string_view closing = text.substr(offset_of(text, found), 1);
    return {found.line, found.column,
            format("found {} without its {}, expected both, or quotes around a text", in_quotes(closing),
                   closing == "]" ? "\"[\"" : "\"{\"")};
  }
  for (const auto& [message, words] : kInPlainWords) {
    if (found.text == message) return {found.line, found.column, std::string(words)};
  }
  for (const auto& [beginning, words] : kBeginnings) {
    if (found.text.starts_with(beginning)) return {found.line, found.column, std::string(words)};
  }
  return found;
}

}  // namespace rest_fcgi::yaml
