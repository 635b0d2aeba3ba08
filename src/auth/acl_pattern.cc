// SPDX-License-Identifier: MIT
#include "auth/acl_pattern.h"

#include <utility>
#include <vector>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::auth {
namespace {

constexpr std::string_view kSpecial = "\\^$+|(){}*?[]";
constexpr std::size_t kMaxShown = 256;

/// What Python's `\d`, `\w` and `\s` stand for in a class of PCRE2, which counts other characters among these
/// from release to release.
std::string_view members_of(char c) {
  if (c == 'd') return "\\p{Nd}";
  if (c == 'w') return "\\p{L}\\p{N}_";
  if (c == 's') {
    return "\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"
           "\\x{205f}\\x{3000}";
  }
  return {};
}

/// Writes a regular expression of Python's for PCRE2, construct by construct; what is not known to mean the
/// same to both is a problem. Used once.
class Translator {
 public:
  explicit Translator(std::string_view pattern) : left_(pattern), size_(pattern.size()) {}

  Result<std::string> translated() {
    while (!left_.empty() && problem_.empty()) read_one();
    if (problem_.empty()) return std::move(written_);
    return Error{ErrorKind::configuration, format("{} at offset {}", problem_, size_ - left_.size())};
  }

 private:
  /// Repetitions follow what stands for characters, or a group.
  enum class Before { nothing, atom, repetition };

  void read_one() {
    const char c = left_.front();
    if (c == '(') return read_group();
    if (c == '[') return read_class();
    if (c == '\\') return read_escape();
    if (c == '*' || c == '+' || c == '?' || c == '{') return read_repetition();
    take(1, c == '|' || c == '^' || c == '$' ? Before::nothing : after_character(c));
  }

  /// Bounds are checked by PCRE2. Where an assertion is closed, a repetition would have nothing to repeat.
  Before after_character(char c) {
    if (c != ')') return Before::atom;
    const bool assertion = !assertions_.empty() && assertions_.back();
    if (!assertions_.empty()) assertions_.pop_back();
    return assertion ? Before::nothing : Before::atom;
  }

  void read_group() {
    const std::string_view opening = left_.substr(0, left_.starts_with("(?") ? 3 : 1);
    if (opening != "(" && opening != "(?:" && opening != "(?=" && opening != "(?!") {
      return fail("groups are (, (?:, (?= and (?! alone");
    }
    assertions_.push_back(opening.ends_with('=') || opening.ends_with('!'));
    take(opening.size(), Before::nothing);
  }

  void read_repetition() {
    if (before_ != Before::atom) return fail("nothing to repeat (any text is .*)");
    const std::size_t size = left_.front() == '{' ? bounds() : 1;
    if (size == 0) return fail("'{' has to begin {m}, {m,} or {m,n}, or to be written \\{");
    take(size, Before::repetition);
    if (left_.starts_with('?')) take(1, Before::repetition);  // lazy
  }

  /// The size of `{m}`, `{m,}` or `{m,n}`; 0: it is none of these.
  [[nodiscard]] std::size_t bounds() const {
    std::size_t end = left_.find_first_not_of(kDecimalDigits, 1);
    if (end == 1 || end == std::string_view::npos) return 0;
    if (left_[end] == ',') end = left_.find_first_not_of(kDecimalDigits, end + 1);
    return end != std::string_view::npos && left_[end] == '}' ? end + 1 : 0;
  }

  void read_escape() {
    if (left_.size() < 2) return fail("nothing follows the backslash");
    const char c = left_[1];
    if (c == 'Z') return put("\\z", Before::nothing);
    if (c == 'A') return put("\\A", Before::nothing);
    if (is_literal(c)) return take(2, Before::atom);
    const bool negated = c == 'D' || c == 'W' || c == 'S';
    const std::string_view members = members_of(negated ? static_cast<char>(c - 'A' + 'a') : c);
    if (members.empty()) return fail_of_escape();
    put(format("[{}{}]", negated ? "^" : "", members), Before::atom);
  }

  /// Does the escape stand for one character, the same to both?
  static bool is_literal(char c) {
    return c == 'n' || c == 'r' || c == 't' ||
           (static_cast<unsigned char>(c) < 0x80 && !is_letter(c) && !is_digit(c));
  }

  void read_class() {
    take(left_.starts_with("[^") ? 2 : 1, Before::nothing);
    bool first = true;
    while (problem_.empty() && (first || !left_.starts_with(']'))) {
      first = false;
      read_member();
    }
    if (problem_.empty()) take(1, Before::atom);
  }

  /// A character, a range of them, or `\d`, `\w`, `\s`.
  void read_member() {
    if (left_.size() > 1 && left_[0] == '\\' && !members_of(left_[1]).empty()) {
      put(members_of(left_[1]), Before::nothing);
      if (left_.starts_with('-') && !left_.starts_with("-]")) fail("a range has to begin with a character");
      return;
    }
    read_class_character();
    if (!problem_.empty() || !left_.starts_with('-') || left_.starts_with("-]")) return;
    take(1, Before::nothing);
    read_class_character();
  }

  /// PCRE2 would take `[:` and `[.` for more than characters.
  void read_class_character() {
    if (left_.empty()) return fail("a class that begins with '[' is not closed");
    if (left_.front() == '[') return fail("in a class, '[' has to be written \\[");
    if (left_.front() != '\\') return take_character();
    if (left_.size() < 2 || !is_literal(left_[1])) return fail_of_escape();
    take(2, Before::nothing);
  }

  /// All bytes of it, whose order PCRE2 checks.
  void take_character() {
    std::size_t size = 1;
    while (size < left_.size() && (static_cast<unsigned char>(left_[size]) & 0xc0U) == 0x80U) ++size;
    take(size, Before::nothing);
  }

  void take(std::size_t size, Before before) {
    written_ += left_.substr(0, size);
    left_.remove_prefix(size);
    before_ = before;
  }
  /// Instead of an escape.
  void put(std::string_view text, Before before) {
    written_ += text;
    left_.remove_prefix(2);
    before_ = before;
  }

  void fail(std::string problem) { problem_ = std::move(problem); }
  void fail_of_escape() { fail("this escape is not read here"); }

  std::string_view left_;
  const std::size_t size_;
  std::string written_;
  Before before_ = Before::nothing;
  std::vector<bool> assertions_;  // of the groups that are open: is it one?
  std::string problem_;
};

}  // namespace

Result<Regex> compile_python_regex(std::string_view pattern) {
  auto translated = Translator(pattern).translated();
  if (!translated) return std::move(translated).error();
  auto regex = Regex::compile(*translated);
  if (regex) return regex;
  return Error{ErrorKind::configuration, std::move(regex).error().message};
}

Result<AclPattern> AclPattern::make(std::string_view text) {
  AclPattern pattern(text);
  pattern.anything_ = text == ".*";
  if (text.find_first_of(kSpecial) == std::string_view::npos) return pattern;
  auto regex = compile_python_regex(text);
  if (!regex) {
    return Error{ErrorKind::configuration,
                 format("\"{}\" is neither an exact name nor a regular expression that is read here: {}",
                        excerpt(text, kMaxShown), regex.error().message)};
  }
  pattern.regex_ = *std::move(regex);
  return pattern;
}

bool AclPattern::matches(std::string_view text) const {
  return anything_ || (regex_ ? regex_->match_all(text) : text == text_);
}

}  // namespace rest_fcgi::auth
