// SPDX-License-Identifier: MIT
#include "master/embedded/python/shlex.h"

#include <optional>
#include <utility>

namespace rest_fcgi::embedded {
namespace {

class Splitter {
 public:
  void take(char c);
  std::variant<std::vector<std::string>, Raised> finish();

 private:
  void take_bare(char c);
  std::string& word() { return word_ ? *word_ : word_.emplace(); }
  void end_word() {
    if (word_) words_.push_back(*std::exchange(word_, std::nullopt));
  }

  std::vector<std::string> words_;
  std::optional<std::string> word_;  // the one that is being read
  char quote_ = '\0';                // inside of which
  bool escaped_ = false;             // behind a backslash
};

void Splitter::take(char c) {
  if (escaped_) {
    // Between double quotes a backslash is one, but before a quote or another.
    if (quote_ == '"' && c != '"' && c != '\\') word() += '\\';
    word() += c;
    escaped_ = false;
  } else if (c == '\\' && quote_ != '\'') {
    escaped_ = true;
  } else if (quote_ == '\0') {
    take_bare(c);
  } else if (c == quote_) {
    quote_ = '\0';
  } else {
    word() += c;
  }
}

void Splitter::take_bare(char c) {
  if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
    end_word();
  } else if (c == '\'' || c == '"') {
    quote_ = c;
    word();  // two quotes alone are an empty word
  } else {
    word() += c;
  }
}

std::variant<std::vector<std::string>, Raised> Splitter::finish() {
  if (escaped_) return Raised::value_error("No escaped character");
  if (quote_ != '\0') return Raised::value_error("No closing quotation");
  end_word();
  return std::move(words_);
}

}  // namespace

std::variant<std::vector<std::string>, Raised> shlex_split(std::string_view text) {
  Splitter splitter;
  for (const char c : text) splitter.take(c);
  return splitter.finish();
}

}  // namespace rest_fcgi::embedded
