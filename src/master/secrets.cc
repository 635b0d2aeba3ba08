// SPDX-License-Identifier: MIT
#include "rest_fcgi/master/secrets.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

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

}  // namespace rest_fcgi::master
