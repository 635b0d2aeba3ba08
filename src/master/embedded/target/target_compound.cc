// SPDX-License-Identifier: MIT

#include "master/embedded/target/target.h"
#include "master/embedded/text.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded::target {

namespace {

constexpr std::size_t kMaxWords = 250;
// The largest depth of brackets. It is limited, because the parser is recursive.
constexpr int kMaxDepth = 50;

std::size_t first_character_size(std::string_view text) {
  std::size_t size = 1;
  while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) ++size;
  return size;
}

std::optional<lowstate::TargetType> type_of(char letter) {
  using Type = lowstate::TargetType;
  constexpr std::string_view kLetters = "GPIJELNSR";
  constexpr std::array kTypes = {Type::grain, Type::grain_pcre, Type::pillar, Type::pillar_pcre, Type::pcre,
                                 Type::list,  Type::nodegroup,  Type::ipcidr, Type::range};
  const std::size_t at = kLetters.find(letter);
  if (at == std::string_view::npos) return std::nullopt;
  return kTypes.at(at);
}

/// Parses a word such as `G@os:Debian` or `G|@os|Debian`. A word of another form is a glob.
lowstate::Target target_of_word(std::string_view word) {
  constexpr std::string_view kWithDelimiter = "GPIJ";
  lowstate::Target target;
  target.expression = word;
  if (word.size() < 3) return target;
  const auto type = type_of(word[0]);
  const bool has_delimiter = kWithDelimiter.find(word[0]) != std::string_view::npos;
  const std::size_t size = has_delimiter ? first_character_size(word.substr(1)) : 0;
  if (type && size != 0 && word.size() > size + 2 && word[size + 1] == '@') {
    target.type = *type;
    target.delimiter = word.substr(1, size);
    target.expression = word.substr(size + 2);
  } else if (type && word[1] == '@') {
    target.type = *type;
    target.expression = word.substr(2);
  }
  if (target.type == lowstate::TargetType::list) target.list = split_names(target.expression);
  return target;
}

/// A recursive-descent parser that writes the steps of a compound target in postfix order.
class Compiler {
 public:
  Compiler(const std::vector<std::string_view>& words, const Nodegroups& nodegroups, Work& work)
      : words_(words), nodegroups_(nodegroups), work_(work) {}

  Result<std::vector<Step>> compile() {
    if (words_.size() > kMaxWords) {
      return Error{ErrorKind::invocation, format("The compound target has {} words; at most {} are accepted.",
                                                 words_.size(), kMaxWords)};
    }
    if (Result<void> parsed = any_of(0); !parsed) return std::move(parsed).error();
    if (!at_end()) return error("expected 'and' or 'or'; write spaces around operators and brackets");
    return std::move(steps_);
  }

 private:
  [[nodiscard]] bool at(std::string_view word) const {
    return next_ < words_.size() && words_[next_] == word;
  }
  [[nodiscard]] bool at_end() const { return next_ == words_.size(); }
  Result<void> any_of(int depth) {
    if (Result<void> parsed = all_of(depth); !parsed) return parsed;
    while (at("or")) {
      ++next_;
      if (Result<void> parsed = all_of(depth); !parsed) return parsed;
      steps_.emplace_back(Operator::either);
    }
    return {};
  }

  Result<void> all_of(int depth) {
    if (Result<void> parsed = negation(depth); !parsed) return parsed;
    while (at("and") || at("not")) {
      if (at("and")) ++next_;
      if (Result<void> parsed = negation(depth); !parsed) return parsed;
      steps_.emplace_back(Operator::both);
    }
    return {};
  }

  Result<void> negation(int depth) {
    const bool negated = at("not");
    if (negated) ++next_;
    if (Result<void> parsed = bracket_or_operand(depth); !parsed) return parsed;
    if (negated) steps_.emplace_back(Operator::negation);
    return {};
  }

  Result<void> bracket_or_operand(int depth) {
    if (!at("(")) return operand();
    if (depth == kMaxDepth) return error(format("expected at most {} open brackets", depth));
    ++next_;
    if (Result<void> parsed = any_of(depth + 1); !parsed) return parsed;
    if (!at(")")) return error("expected ')', 'and' or 'or'");
    ++next_;
    return {};
  }

  Result<void> operand() {
    if (at_end() || at("and") || at("or") || at("not") || at(")")) {
      return error("expected a target such as 'web*', 'G@os:Debian', 'E@web\\d+' or 'L@web1,web2'");
    }
    Result<Step> step = compile_operand(target_of_word(words_[next_]), nodegroups_, work_);
    if (!step) {
      return Error{step.error().kind, format("Word {} of the compound target, {}: {}.", next_ + 1,
                                             quoted_excerpt(words_[next_]), step.error().message)};
    }
    steps_.push_back(*std::move(step));
    ++next_;
    return {};
  }
  [[nodiscard]] Error error(std::string_view what) const {
    const std::string found = at_end() ? "the end" : quoted_excerpt(words_[next_]);
    return {ErrorKind::invocation,
            format("Word {} of the compound target: found {}, {}.", next_ + 1, found, what)};
  }

  const std::vector<std::string_view>& words_;
  const Nodegroups& nodegroups_;
  Work& work_;
  std::size_t next_ = 0;
  std::vector<Step> steps_;
};

}  // namespace

Result<std::vector<Step>> compile_compound(const std::vector<std::string_view>& words,
                                           const Nodegroups& nodegroups, Work& work) {
  return Compiler(words, nodegroups, work).compile();
}

}  // namespace rest_fcgi::embedded::target
