// SPDX-License-Identifier: MIT
#include "helper/pam_stack.h"

#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace rest_fcgi::helper {
namespace {

constexpr int kMaxDepth = 16;           // of files that include each other, as in libpam
constexpr std::size_t kLongest = 1000;  // libpam 1.5 takes what is beyond 1023 bytes for another line
constexpr std::string_view kBlank = " \t";

bool same_word(std::string_view text, std::string_view word) {
  return text.size() == word.size() && ::strncasecmp(text.data(), word.data(), word.size()) == 0;
}

/// The words of a line. What stands between brackets is one, without them; there `\]` is no end.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (;;) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
    if (line.empty()) return words;
    const bool bracket = line.front() == '[';
    if (bracket) line.remove_prefix(1);
    std::string word;
    for (; !line.empty() && (bracket ? line.front() != ']' : kBlank.find(line.front()) == kBlank.npos);
         line.remove_prefix(1)) {
      if (bracket && line.starts_with("\\]")) line.remove_prefix(1);
      word += line.front();
    }
    words.push_back(std::move(word));
    line.remove_prefix(std::min<std::size_t>(1, line.size()));
  }
}

/// pam_unix of /lib/security/pam_unix.so.
std::string name_of_module(std::string path) {
  path.erase(0, path.rfind('/') + 1);
  path.resize(std::min(path.find(".so"), path.size()));
  return path;
}

bool is_text(std::string_view line) {
  return std::all_of(line.begin(), line.end(),
                     [](char c) { return c == '\t' || static_cast<unsigned char>(c) >= ' '; });
}

/// What a line of a stack does after an answer of its module. Other numbers: lines to jump over.
enum Action : int { kIgnore = 0, kOk = -1, kDone = -2, kBad = -3, kDie = -4, kReset = -5 };
constexpr std::array<std::string_view, 6> kActions = {"ignore", "ok", "done", "bad", "die", "reset"};

/// What modules can answer.
const std::vector<std::string>& answers() {
  static const std::vector<std::string> kNames = words_of(
      "success open_err symbol_err service_err system_err buf_err perm_denied auth_err cred_insufficient "
      "authinfo_unavail user_unknown maxtries new_authtok_reqd acct_expired session_err cred_unavail "
      "cred_expired cred_err no_module_data conv_err authtok_err authtok_recover_err authtok_lock_busy "
      "authtok_disable_aging try_again ignore abort authtok_expired module_unknown bad_item conv_again "
      "incomplete");
  return kNames;
}

using Actions = std::map<std::string, int>;  // for each answer

/// Reads a control as libpam does: names and actions are told by how they begin, and `default` is for those
/// that have no action yet. Absent where it is none.
class ControlReader {
 public:
  explicit ControlReader(std::string_view text) : rest_(text) {}

  std::optional<Actions> read() {
    for (skip_blanks(); !rest_.empty(); skip_blanks()) {
      const auto answer = take_one_of(answers());
      if (!answer && !take("default")) return std::nullopt;
      skip_blanks();
      if (!take("=")) return std::nullopt;
      skip_blanks();
      const std::optional<int> action = take_action();
      if (!action) return std::nullopt;
      if (answer) {
        actions_[answers()[*answer]] = *action;
      } else {
        fill(*action);
      }
    }
    fill(kBad);
    return actions_;
  }

 private:
  void fill(int action) {
    for (const std::string& answer : answers()) actions_.emplace(answer, action);
  }

  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlank), rest_.size())); }

  bool take(std::string_view word) {
    const bool found = rest_.starts_with(word);
    if (found) rest_.remove_prefix(word.size());
    return found;
  }

  template <class Words>
  std::optional<std::size_t> take_one_of(const Words& words) {
    const auto found =
        std::find_if(words.begin(), words.end(), [this](const auto& word) { return take(word); });
    if (found == words.end()) return std::nullopt;
    return static_cast<std::size_t>(found - words.begin());
  }

  std::optional<int> take_action() {
    if (const auto named = take_one_of(kActions)) return -static_cast<int>(*named);
    constexpr std::size_t kDigits = 6;
    const std::size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    if (digits == 0 || digits > kDigits) return std::nullopt;
    const int lines = std::stoi(std::string(rest_.substr(0, digits)));
    rest_.remove_prefix(digits);
    return lines > 0 ? std::optional(lines) : std::nullopt;
  }

  std::string_view rest_;
  Actions actions_;
};

std::optional<Actions> actions_of(std::string_view control) {
  if (same_word(control, "required")) control = "success=ok new_authtok_reqd=ok ignore=ignore default=bad";
  if (same_word(control, "requisite")) control = "success=ok new_authtok_reqd=ok ignore=ignore default=die";
  if (same_word(control, "sufficient")) control = "success=done new_authtok_reqd=done default=ignore";
  if (same_word(control, "optional")) control = "success=ok new_authtok_reqd=ok default=ignore";
  return ControlReader(control).read();
}

/// Where a service's file may be; the first that is there is the one.
std::vector<std::string> places_of(const std::string& service, const std::string& confdir) {
  if (service.starts_with('/')) return {service};
  if (!confdir.empty()) return {confdir + "/" + service};
  return {"/etc/pam.d/" + service, "/usr/lib/pam.d/" + service};
}

/// Reads services' files into one stack, as libpam does.
class StackReader {
 public:
  explicit StackReader(const std::string& confdir) : confdir_(confdir) {}

  /// `from`: the line that includes it.
  void read(const std::string& service, int level, int depth, const std::string& from) {
    const auto path = file_of(service, confdir_);
    std::ifstream file(path.value_or(std::string()));
    if (!file) return add_odd(from, "the file of " + service + " cannot be read");
    if (depth > kMaxDepth) return add_odd(from, "more than 16 files include each other");
    std::string text;
    bool goes_on = false;
    int number = 0;
    std::string place;
    for (std::string line; std::getline(file, line);) {
      place = *path + ":" + std::to_string(++number);
      const std::size_t comment = std::min(line.find('#'), line.size());
      const bool is_empty = line.find_first_not_of(kBlank) >= comment;
      if (line.size() + text.size() > kLongest) return add_odd(place, "the line is longer than 1000 bytes");
      if (is_empty && goes_on) add_odd(place, "the line before goes on here, where nothing is");
      if (is_empty) continue;
      if (!is_text(line)) add_odd(place, "there is a control character");
      const std::size_t last = line.find_last_not_of(kBlank);
      goes_on = comment == line.size() && line[last] == '\\';
      text += line.substr(0, goes_on ? last : comment) + " ";
      if (goes_on) continue;
      take(words_of(text), level, depth, place);
      text.clear();
    }
    take(words_of(text), level, depth, place);
  }

  Stack stack() && { return std::move(stack_); }

 private:
  void take(std::vector<std::string> words, int level, int depth, const std::string& place) {
    if (words.empty()) return;
    const std::string type = words[0].substr(words[0].starts_with('-') ? 1 : 0);
    const auto is_type = [&](std::string_view one) { return same_word(type, one); };
    if (is_type("account") || is_type("session") || is_type("password")) return;
    if (is_type("@include") && words.size() > 1) return read(words[1], level, depth + 1, place);
    if (!is_type("auth") || words.size() < 3) return add_odd(place, "no type, control and module are there");
    if (same_word(words[1], "include")) return read(words[2], level, depth + 1, place);
    if (same_word(words[1], "substack")) {
      stack_.push_back({.place = place, .control = "default=ignore", .module = "substack", .level = level});
      return read(words[2], level + 1, depth + 1, place);
    }
    if (!actions_of(words[1])) return add_odd(place, "PAM does not know the control \"" + words[1] + "\"");
    StackLine line{
        .place = place, .control = std::move(words[1]), .module = name_of_module(words[2]), .level = level};
    line.arguments.assign(std::make_move_iterator(words.begin() + 3), std::make_move_iterator(words.end()));
    stack_.push_back(std::move(line));
  }

  void add_odd(const std::string& place, std::string why) {
    stack_.push_back(
        {.place = place, .control = "requisite", .module = "pam_deny", .oddity = std::move(why)});
  }

  const std::string& confdir_;
  Stack stack_;
};

bool has_argument(const StackLine& line, std::string_view beginning) {
  return std::any_of(line.arguments.begin(), line.arguments.end(),
                     [&](const std::string& one) { return one.starts_with(beginning); });
}

/// Can the module say yes to somebody who has no password? It looks at where they come from, who they are, or
/// at nothing; or it only does something on the way.
bool asks_for_no_password(const StackLine& line) {
  static const std::vector<std::string> kNames = words_of(
      "pam_access pam_afs_session pam_cap pam_debug pam_duo pam_echo pam_ecryptfs pam_exec pam_faillock "
      "pam_filter pam_fscrypt pam_ftp pam_issue pam_gnome_keyring pam_kwallet pam_kwallet5 pam_lastlog "
      "pam_limits pam_listfile pam_localuser pam_loginuid pam_mkhomedir pam_motd pam_mount pam_namespace "
      "pam_nologin pam_permit pam_rhosts pam_rootok pam_securetty pam_selinux pam_sepermit pam_shells "
      "pam_stress pam_systemd pam_succeed_if pam_systemd_loadkey pam_tally pam_tally2 pam_time "
      "pam_timestamp pam_umask pam_usertype pam_wheel pam_xauth pam_zfs_key");
  if (line.module == "pam_exec") return !has_argument(line, "expose_authtok");
  return std::find(kNames.begin(), kNames.end(), line.module) != kNames.end();
}

/// Can the module ask to be ignored by a login with a wrong password? pam_sss and pam_ldap do, where they are
/// told to, for users that they do not know.
bool may_ask_to_be_ignored(const StackLine& line) {
  static const std::set<std::string_view> kNever = {"pam_deny", "pam_exec", "pam_krb5",
                                                    "pam_ldap", "pam_sss",  "pam_unix"};
  return kNever.count(line.module) == 0 || has_argument(line, "ignore_") || has_argument(line, "type=");
}

/// A stack that is run on paper, in all the ways that its modules can answer somebody without a password. The
/// rules are those of libpam's pam_dispatch.c.
class PaperRun {
 public:
  explicit PaperRun(const Stack& stack) : stack_(stack), reached_(stack.size() + 1) {
    reached_.front().undecided = true;
  }

  const StackLine* outcome() {
    for (std::size_t at = 0; at < stack_.size(); ++at) {
      const StackLine& line = stack_[at];
      const bool is_free = asks_for_no_password(line);
      for (const auto& [answer, action] : actions_of(line.control).value_or(Actions())) {
        const bool is_good = answer == "success" || answer == "new_authtok_reqd";
        if (answer == "incomplete" || (is_good && !is_free)) continue;
        if (answer == "ignore" && !may_ask_to_be_ignored(line)) continue;
        act(at, action, answer == "success");
      }
    }
    return reached_.back().good;
  }

 private:
  /// What the lines before one may have come to.
  struct Reached {
    bool undecided = false;
    bool stuck = false;  // an answer was taken that is no yes: a later yes does not change it
    bool bad = false;
    const StackLine* good = nullptr;  // the last line that made it so

    void add(const Reached& other) {
      undecided = undecided || other.undecided;
      stuck = stuck || other.stuck;
      bad = bad || other.bad;
      if (good == nullptr) good = other.good;
    }
  };

  void act(std::size_t at, int action, bool yes) {
    const Reached before = reached_[at];
    const bool anywhere = before.undecided || before.stuck || before.bad || before.good != nullptr;
    if (!anywhere) return;
    switch (action) {
      case kIgnore:
        return reached_[at + 1].add(before);
      case kReset:
        return reached_[at + 1].add(before_substack(at));
      case kOk:
      case kDone: {
        const bool open = before.undecided || before.good != nullptr;
        Reached taken{.stuck = before.stuck || (open && !yes), .good = open && yes ? &stack_[at] : nullptr};
        reached_[action == kDone ? after_level(at) : at + 1].add(taken);
        return reached_[at + 1].add({.bad = before.bad});
      }
      case kBad:
        return reached_[at + 1].add({.bad = true});
      case kDie:
        return reached_[after_level(at)].add({.bad = true});
      default:
        break;
    }
    const auto target = after_jump(at, action);
    reached_[target.value_or(after_level(at))].add(target ? before : Reached{.bad = true});
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

  /// Behind as many lines that follow; a substack counts as one. Absent where there are fewer.
  [[nodiscard]] std::optional<std::size_t> after_jump(std::size_t at, int lines) const {
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
    return level > 0 ? reached_[at] : Reached{.undecided = true};
  }

  const Stack& stack_;
  std::vector<Reached> reached_;
};

}  // namespace

std::optional<std::string> file_of(const std::string& service, const std::string& confdir) {
  for (const std::string& path : places_of(service, confdir)) {
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

const StackLine* odd_line(const Stack& stack) {
  const auto odd =
      std::find_if(stack.begin(), stack.end(), [](const StackLine& line) { return !line.oddity.empty(); });
  return odd == stack.end() ? nullptr : &*odd;
}

const StackLine* lets_everybody_in(const Stack& stack) {
  return PaperRun(stack).outcome();
}

}  // namespace rest_fcgi::helper
