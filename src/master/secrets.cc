// SPDX-License-Identifier: MIT
#include "rest_fcgi/master/secrets.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>

#include "rest_fcgi/core/text.h"

namespace rest_fcgi::master {
namespace {

constexpr std::string_view kSecrets[] = {
    "aes",    "accesskey", "apikey",     "authorization", "bearer",     "cookie", "credential",
    "jwt",    "pass",      "passcode",   "passkey",       "passphrase", "passwd", "password",
    "priv",   "privkey",   "privatekey", "psk",           "pw",         "pwd",    "secret",
    "sshkey", "secretkey", "sharedkey",  "token",
};

/// Words such as `key` name a secret only together with the word before them: `api_key` or `apikey`.
constexpr std::string_view kSecondWords[] = {"code", "key", "phrase", "word"};

/// English words that end with `pass` but do not name a secret.
constexpr std::string_view kHarmless[] = {"bandpass", "bypass",  "compass",  "highpass", "lowpass",
                                          "overpass", "surpass", "trespass", "underpass"};

/// Words that are ignored at the end of a name: `password_confirmation` is a secret like `password`.
constexpr std::string_view kTails[] = {"confirm", "confirmation", "new", "old", "value"};

constexpr std::size_t kMaxName = 128;  // Only this number of bytes at the end of a name is read.

template <class Words>
bool ends_with_one(std::string_view word, const Words& words) {
  return std::any_of(std::begin(words), std::end(words),
                     [word](std::string_view one) { return word.ends_with(one); });
}

template <class Words>
bool is_one(std::string_view word, const Words& words) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

bool is_small(char byte) {
  return byte >= 'a' && byte <= 'z';
}

std::string take_last_word(std::string_view& name) {
  while (!name.empty() && !is_letter(name.back())) name.remove_suffix(1);
  std::string word;
  while (!name.empty() && is_letter(name.back())) {
    const char byte = name.back();
    // `apiKey` has the words `api` and `Key`. `APIKey` is one word.
    if (!word.empty() && is_small(byte) && !is_small(word.back())) break;
    word += byte;
    name.remove_suffix(1);
  }
  std::reverse(word.begin(), word.end());
  for (char& byte : word) byte = lower(byte);
  return word;
}

bool is_secret(const std::string& last, const std::string& before) {
  const std::string both = before + last;
  if (ends_with_one(last, kHarmless) || is_one(both, kHarmless)) return false;
  return ends_with_one(last, kSecrets) || (is_one(last, kSecondWords) && ends_with_one(both, kSecrets));
}

constexpr std::string_view kBlanks = " \t";

struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

bool is_of_name(char byte) {
  return is_letter(byte) || is_digit(byte) || byte == '_' || byte == '-' || byte == '.';
}

/// Returns the character at `at`, or 0 after the end of the text.
char byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? text[at] : '\0';
}

/// Returns the separator `=` or `:` after a name. Without a separator, returns the position of the blank
/// after an option such as `--password`. Returns std::nullopt if the name has no value.
std::optional<std::size_t> separator_of(std::string_view text, const Span& name) {
  std::size_t at = name.end;
  // The closing bracket of a form field `user[password]`, which browsers encode.
  if (equal_without_case(text.substr(at, 3), "%5D")) at += 3;
  at = std::min(text.find_first_not_of("]\\\"'", at), text.size());
  const std::size_t next = std::min(text.find_first_not_of(kBlanks, at), text.size());
  if (byte_at(text, next) == '=' || byte_at(text, next) == ':') return next;
  return text[name.begin] == '-' && next > at ? std::optional(at) : std::nullopt;
}

/// Returns the position of the closing quotation mark, or of the first backslash before it. `backslashes` is
/// the number of backslashes before the opening quotation mark, as in `\"` of JSON in JSON. Returns the end
/// of the text if the closing mark is missing.
std::size_t closing_quote(std::string_view text, std::size_t begin, char quote, std::size_t backslashes) {
  for (std::size_t mark = text.find(quote, begin); mark != std::string_view::npos;
       mark = text.find(quote, mark + 1)) {
    std::size_t run = 0;
    while (mark - run > begin && text[mark - run - 1] == '\\') ++run;
    // In the text, `backslashes + 1` backslashes stand for one backslash of the value. An odd number of
    // backslashes escapes the quotation mark after them, so this mark does not end the value.
    if (run <= backslashes || (run - backslashes) / (backslashes + 1) % 2 == 0)
      return mark - std::min(run, backslashes);
  }
  return text.size();
}

/// Returns the position of the value after a separator.
Span value_after(std::string_view text, std::size_t separator) {
  const std::size_t at = std::min(text.find_first_not_of(kBlanks, separator + 1), text.size());
  const std::size_t mark = std::min(text.find_first_not_of('\\', at), text.size());
  const char quote = byte_at(text, mark);
  if (quote == '"' || quote == '\'') return {mark + 1, closing_quote(text, mark + 1, quote, mark - at)};
  const bool is_list = byte_at(text, at) == '[' || byte_at(text, at) == '{';
  const std::string_view ends = is_list ? "\r\n" : text[separator] == ':' ? "\"'\r\n" : "\"'& \t\r\n";
  std::size_t end = std::min(text.find_first_of(ends, at), text.size());
  // A comma or a semicolon can be a part of a password, but not at its end: `password=a,b, user=c`.
  if (!is_list && text[separator] != ':' && end > at && (text[end - 1] == ',' || text[end - 1] == ';')) --end;
  return {at, end};
}

/// Returns the position of the password in the URL whose `://` is at `colon`, or an empty Span.
Span password_of_url(std::string_view text, std::size_t colon) {
  const std::size_t begin = colon + 3;
  const std::size_t end = std::min(text.find_first_of("/\\?#<>\"' \t\r\n", begin), text.size());
  const std::string_view authority = text.substr(begin, end - begin);
  const std::size_t at_sign = authority.rfind('@');
  const std::size_t user_end = authority.find(':');
  if (at_sign == std::string_view::npos || user_end >= at_sign) return {};
  return {begin + user_end + 1, begin + at_sign};
}

/// Returns the position of the secret that follows a name, or an empty Span.
Span secret_after(std::string_view text, const Span& name, TextKind kind) {
  if (text.substr(name.end, 3) == "://") return password_of_url(text, name.end);
  const auto separator = separator_of(text, name);
  if (!separator) return {};
  const Secrecy secrecy = secrecy_of(text.substr(name.begin, name.end - name.begin));
  if (secrecy == Secrecy::shown) return {};
  const bool is_argument = kind == TextKind::argument && name.begin == 0 && byte_at(text, name.end) == '=';
  const Span value = is_argument ? Span{name.end + 1, text.size()} : value_after(text, *separator);
  const bool is_shown =
      secrecy == Secrecy::hidden_but_count && is_count(text.substr(value.begin, value.end - value.begin));
  return is_shown ? Span() : value;
}

}  // namespace

Secrecy secrecy_of(std::string_view name) {
  name.remove_prefix(name.size() - std::min(name.size(), kMaxName));
  std::string last = take_last_word(name);
  while (is_one(last, kTails)) last = take_last_word(name);
  const std::string before = take_last_word(name);
  if (is_secret(last, before)) return Secrecy::hidden;
  if (!last.ends_with('s')) return Secrecy::shown;
  last.pop_back();
  return is_secret(last, before) ? Secrecy::hidden_but_count : Secrecy::shown;
}

bool is_count(std::string_view text) {
  constexpr std::size_t kMaxDigits = 9;
  return !text.empty() && text.size() <= kMaxDigits && std::all_of(text.begin(), text.end(), is_digit);
}

std::optional<std::string> without_secrets(std::string_view text, TextKind kind) {
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.size();) {
    Span name{at, at};
    while (is_of_name(byte_at(text, name.end))) ++name.end;
    at = name.end + (name.begin == name.end ? 1 : 0);
    if (name.begin == name.end) continue;
    const Span secret = secret_after(text, name, kind);
    if (secret.begin >= secret.end) continue;
    out.append(text.substr(copied, secret.begin - copied)).append(kHidden);
    copied = at = secret.end;
  }
  if (copied == 0) return std::nullopt;
  return out.append(text.substr(copied));
}

}  // namespace rest_fcgi::master
