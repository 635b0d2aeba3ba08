// SPDX-License-Identifier: MIT
#include "helper/pam_stack.h"

#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

namespace rest_fcgi::helper {
namespace {

constexpr int kMaxDepth = 16;  // of files that include each other, as in libpam

bool same_word(const std::string& text, const char* word) {
  return ::strcasecmp(text.c_str(), word) == 0;
}

/// The words of a line. What stands between brackets is one, without them.
std::vector<std::string> words_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<std::string> words;
  for (;;) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
    if (line.empty()) return words;
    const bool bracket = line.front() == '[';
    if (bracket) line.remove_prefix(1);
    const std::size_t end = std::min(line.find_first_of(bracket ? "]" : kBlank), line.size());
    words.emplace_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
}

/// pam_unix of /lib/security/pam_unix.so.
std::string name_of_module(std::string path) {
  path.erase(0, path.rfind('/') + 1);
  path.resize(std::min(path.find(".so"), path.size()));
  return path;
}

/// Reads services' files into one stack, as libpam does.
class StackReader {
 public:
  explicit StackReader(const std::string& confdir) : confdir_(confdir) {}

  void read(const std::string& service, int level, int depth, const std::string& from) {
    const auto path = file_of(service, confdir_);
    std::ifstream file(path.value_or(std::string()));
    if (!file || depth > kMaxDepth) {
      // PAM refuses all logins then.
      if (depth > 0) stack_.push_back({from, "requisite", "pam_deny", {}, level});
      return;
    }
    std::string text;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
      ++number;
      line.resize(std::min(line.find('#'), line.size()));
      const bool goes_on = !line.empty() && line.back() == '\\';
      if (goes_on) line.back() = ' ';
      text += line;
      if (goes_on) continue;
      take(words_of(text), level, depth, *path + ":" + std::to_string(number));
      text.clear();
    }
    take(words_of(text), level, depth, *path + ":" + std::to_string(number));
  }

  Stack stack() && { return std::move(stack_); }

 private:
  void take(std::vector<std::string> words, int level, int depth, const std::string& place) {
    if (words.size() < 2) return;
    if (same_word(words[0], "@include")) return read(words[1], level, depth + 1, place);
    const std::string type = words[0].substr(words[0].rfind('-', 0) == 0 ? 1 : 0);
    if (!same_word(type, "auth") || words.size() < 3) return;
    if (same_word(words[1], "include")) return read(words[2], level, depth + 1, place);
    if (same_word(words[1], "substack")) {
      stack_.push_back({place, "default=ignore", "substack", {}, level});
      return read(words[2], level + 1, depth + 1, place);
    }
    StackLine line{place, std::move(words[1]), name_of_module(words[2]), {}, level};
    line.arguments.assign(std::make_move_iterator(words.begin() + 3), std::make_move_iterator(words.end()));
    stack_.push_back(std::move(line));
  }

  const std::string& confdir_;
  Stack stack_;
};

/// Can the module say yes to somebody who has no password? It looks at where they come from, who they are, or
/// at nothing; or it only does something on the way.
bool asks_for_no_password(const StackLine& line) {
  static const std::set<std::string_view> kNames = {
      "pam_access",  "pam_cap",           "pam_debug",     "pam_echo",     "pam_ecryptfs", "pam_env",
      "pam_exec",    "pam_faildelay",     "pam_faillock",  "pam_filter",   "pam_ftp",      "pam_group",
      "pam_issue",   "pam_gnome_keyring", "pam_keyinit",   "pam_kwallet",  "pam_kwallet5", "pam_lastlog",
      "pam_limits",  "pam_listfile",      "pam_localuser", "pam_loginuid", "pam_mail",     "pam_mkhomedir",
      "pam_motd",    "pam_mount",         "pam_namespace", "pam_nologin",  "pam_permit",   "pam_rhosts",
      "pam_rootok",  "pam_securetty",     "pam_selinux",   "pam_sepermit", "pam_shells",   "pam_stress",
      "pam_systemd", "pam_succeed_if",    "pam_tally",     "pam_tally2",   "pam_time",     "pam_timestamp",
      "pam_umask",   "pam_usertype",      "pam_warn",      "pam_wheel",    "pam_xauth"};
  const auto& given = line.arguments;
  if (line.module == "pam_exec")
    return std::find(given.begin(), given.end(), "expose_authtok") == given.end();
  return kNames.count(line.module) != 0;
}

/// What a control says to do after each answer of a module.
class Control {
 public:
  explicit Control(const std::string& text) {
    std::string pairs = text;
    if (same_word(text, "required")) pairs = "success=ok default=bad";
    if (same_word(text, "requisite")) pairs = "success=ok default=die";
    if (same_word(text, "sufficient")) pairs = "success=done default=ignore";
    if (same_word(text, "optional")) pairs = "success=ok default=ignore";
    std::replace(pairs.begin(), pairs.end(), '=', ' ');
    const std::vector<std::string> words = words_of(pairs);
    std::string other = "bad";
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
      if (words[i] == "success") after_yes_ = words[i + 1];
      if (words[i] == "default") other = words[i + 1];
      if (kNoAnswers.count(words[i]) == 0) after_no_.insert(words[i + 1]);
    }
    if (after_yes_.empty()) after_yes_ = other;
    after_no_.insert(std::move(other));
  }

  [[nodiscard]] const std::string& after_yes() const { return after_yes_; }
  [[nodiscard]] const std::set<std::string>& after_no() const { return after_no_; }

 private:
  // What no module answers to a wrong password: `new_authtok_reqd` is a good one that has to be changed, and
  // `ignore` is for modules that do something else.
  static inline const std::set<std::string_view> kNoAnswers = {"success", "default", "new_authtok_reqd",
                                                               "ignore"};

  std::string after_yes_;
  std::set<std::string> after_no_;
};

/// A stack that is run on paper, in all the ways that its modules can answer somebody without a password:
/// those that ask for none say yes or no, all others no. The rules are those of libpam's pam_dispatch.c.
class PaperRun {
 public:
  explicit PaperRun(const Stack& stack) : stack_(stack), reached_(stack.size() + 1) {
    reached_.front().undecided = true;
  }

  const StackLine* outcome() {
    for (std::size_t at = 0; at < stack_.size(); ++at) {
      const Control control(stack_[at].control);
      const Reached before = reached_[at];
      if (asks_for_no_password(stack_[at])) answer(at, before, control.after_yes(), true);
      for (const std::string& action : control.after_no()) answer(at, before, action, false);
    }
    return reached_.back().good;
  }

 private:
  /// What the lines before one may have come to.
  struct Reached {
    bool undecided = false;
    bool bad = false;
    const StackLine* good = nullptr;  // the last line that made it so

    void add(const Reached& other) {
      undecided = undecided || other.undecided;
      bad = bad || other.bad;
      if (good == nullptr) good = other.good;
    }
  };

  void answer(std::size_t at, const Reached& before, const std::string& action, bool yes) {
    const bool anywhere = before.undecided || before.bad || before.good != nullptr;
    if (!anywhere) return;
    const bool ends = action == "done" || action == "die";
    if (action == "ignore") return reached_[at + 1].add(before);
    if (action == "reset") return reached_[at + 1].add(before_substack(at));
    if (action == "ok" || action == "done") {
      Reached good;
      if (yes && (before.undecided || before.good != nullptr)) good.good = &stack_[at];
      reached_[ends ? after_level(at) : at + 1].add(good);
      // An answer that is no success decides nothing, but what was good is so no more.
      const bool spoiled = before.bad || (!yes && before.good != nullptr);
      return reached_[at + 1].add({before.undecided && !yes, spoiled, nullptr});
    }
    const std::size_t jump = jump_of(action);
    const auto target = jump == 0 ? std::nullopt : after_jump(at, jump);
    if (target) return reached_[*target].add(before);
    reached_[ends ? after_level(at) : at + 1].add({false, true, nullptr});
  }

  static std::size_t jump_of(const std::string& action) {
    constexpr std::size_t kDigits = 6;
    const bool number = !action.empty() && action.size() <= kDigits &&
                        action.find_first_not_of("0123456789") == std::string::npos;
    return number ? std::stoul(action) : 0;
  }

  [[nodiscard]] bool is_within(std::size_t at, int level) const {
    return at < stack_.size() && stack_[at].level >= level;
  }

  /// Behind the substack that a line stands in; behind all, where it is in none.
  [[nodiscard]] std::size_t after_level(std::size_t at) const {
    const int level = stack_[at].level;
    while (is_within(at, level)) ++at;
    return at;
  }

  /// Behind as many lines that follow; a substack counts as one.
  [[nodiscard]] std::optional<std::size_t> after_jump(std::size_t at, std::size_t lines) const {
    const int level = stack_[at].level;
    std::size_t next = at + 1;
    for (; lines > 0; --lines) {
      if (!is_within(next, level)) return std::nullopt;
      do ++next;
      while (is_within(next, level + 1));
    }
    return next;
  }

  [[nodiscard]] Reached before_substack(std::size_t at) const {
    const int level = stack_[at].level;
    while (level > 0 && is_within(at, level)) --at;
    return level > 0 ? reached_[at] : Reached{true, false, nullptr};
  }

  const Stack& stack_;
  std::vector<Reached> reached_;
};

}  // namespace

std::optional<std::string> file_of(const std::string& service, const std::string& confdir) {
  std::vector<std::string> folders{confdir};
  if (confdir.empty()) folders = {"/etc/pam.d", "/usr/lib/pam.d"};
  for (std::string path : folders) {
    path.append("/").append(service);
    if (service.rfind('/', 0) == 0) path = service;
    if (::access(path.c_str(), F_OK) == 0) return path;
  }
  return std::nullopt;
}

Stack auth_stack(const std::string& service, const std::string& confdir) {
  StackReader reader(confdir);
  reader.read(service, 0, 0, service);
  Stack stack = std::move(reader).stack();
  return !stack.empty() || service == "other" ? stack : auth_stack("other", confdir);
}

bool uses(const Stack& stack, std::string_view module) {
  return std::any_of(stack.begin(), stack.end(),
                     [&](const StackLine& line) { return line.module == module; });
}

const StackLine* lets_everybody_in(const Stack& stack) {
  return PaperRun(stack).outcome();
}

}  // namespace rest_fcgi::helper
