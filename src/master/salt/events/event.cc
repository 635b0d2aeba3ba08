// SPDX-License-Identifier: MIT
#include "master/salt/events/event.h"

namespace rest_fcgi::salt {
namespace {

/// Bytes of a job's id: 20 digits, and with `unique_jid` a process's number. Whoever fires an event may
/// choose its tag, and ids are kept longer than events.
constexpr std::size_t kMaxJid = 64;

bool is_jid(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kMaxJid;
}

/// Takes `prefix` off the front, where it is there.
bool take(std::string_view& text, std::string_view prefix) noexcept {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// Takes what stands before the first slash, and the slash. Empty where there is none.
std::string_view take_word(std::string_view& text) noexcept {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {};
  const std::string_view word = text.substr(0, slash);
  text.remove_prefix(slash + 1);
  return word;
}

std::optional<Topic> job_topic(std::string_view rest) noexcept {
  const std::string_view jid = take_word(rest);
  if (!is_jid(jid) || !take(rest, "ret/") || rest.empty()) return std::nullopt;
  return Topic{Topic::Kind::job_return, jid, rest};
}

std::optional<Topic> run_topic(std::string_view rest) noexcept {
  const std::string_view jid = take_word(rest);
  if (!is_jid(jid) || (rest != "ret" && rest != "new")) return std::nullopt;
  return Topic{rest == "ret" ? Topic::Kind::runner_return : Topic::Kind::runner_new, jid, {}};
}

std::optional<Topic> syndic_topic(std::string_view rest) noexcept {
  const std::size_t slash = rest.rfind('/');  // a jid holds none, a syndic's id may
  if (slash == std::string_view::npos || slash == 0 || !is_jid(rest.substr(slash + 1))) return std::nullopt;
  return Topic{Topic::Kind::syndic, rest.substr(slash + 1), rest.substr(0, slash)};
}

}  // namespace

std::optional<Topic> topic_of(std::string_view tag) noexcept {
  if (take(tag, "salt/job/")) return job_topic(tag);
  if (take(tag, "salt/run/")) return run_topic(tag);
  if (take(tag, "syndic/")) return syndic_topic(tag);
  return std::nullopt;
}

}  // namespace rest_fcgi::salt
