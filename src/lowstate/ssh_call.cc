// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <string_view>

#include "lowstate/chunk_reader.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::lowstate {
namespace {

/// The keys that the client `ssh` accepts. Salt accepts more keys, such as options of ssh(1), which led to
/// CVE-2020-16846, CVE-2021-3148 and CVE-2021-3197.
constexpr std::array<std::string_view, 13> kAccepted{
    "client", "eauth", "username", "password", "token",  "tgt",        "fun",
    "arg",    "kwarg", "tgt_type", "timeout",  "roster", "roster_file"};
constexpr std::string_view kAcceptedText = "tgt, tgt_type, fun, arg, kwarg, timeout, roster and roster_file";

constexpr std::size_t kLongestName = 255;

bool is_name_character(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '.';
}

void check_target_type(ChunkReader& reader, TargetType type) {
  static constexpr TargetType kRosterTypes[] = {TargetType::glob, TargetType::pcre, TargetType::list,
                                                TargetType::nodegroup};
  if (std::find(std::begin(kRosterTypes), std::end(kRosterTypes), type) != std::end(kRosterTypes)) return;
  reader.report(format("'tgt_type' is {}; the client ssh accepts glob, pcre, list and nodegroup.",
                       quoted_excerpt(name_of(type))));
}

void check_function(ChunkReader& reader, const LocalCall& call) {
  if (call.compound) return reader.report("'fun' is a list; the client ssh runs one function.");
  if (call.functions.empty()) return;
  const std::string_view name = call.functions.front().name;
  const bool is_valid = std::all_of(name.begin(), name.end(), is_name_character) &&
                        name.find('.') != std::string_view::npos && !name.starts_with('.') &&
                        !name.ends_with('.');
  if (!is_valid)
    reader.report(
        format("'fun' must be a function's name such as test.ping; found {}.", quoted_excerpt(name)));
}

/// `roster_file` is the name of a file in a folder of the master's setting `rosters`.
void read_roster(ChunkReader& reader, LocalCall& call) {
  call.roster = reader.text("roster");
  if (!call.roster.empty() && call.roster != "flat") {
    reader.report(
        format("'roster' must be flat; found {}. For another roster, set 'roster_file' to the name of a file "
               "in one of the folders of the master's option 'rosters'.",
               quoted_excerpt(call.roster)));
  }
  call.roster_file = reader.text("roster_file");
  const std::string_view name = call.roster_file;
  const bool is_valid =
      name.size() <= kLongestName && !name.starts_with('.') && !name.starts_with('-') &&
      std::all_of(name.begin(), name.end(), [](char c) { return is_name_character(c) || c == '-'; });
  if (!is_valid) {
    reader.report(
        format("'roster_file' must be the name of a file, not a path, in one of the folders of the master's "
               "option 'rosters'; found {}.",
               quoted_excerpt(name)));
  }
}

}  // namespace

void read_ssh_call(ChunkReader& reader, LocalCall& call) {
  for (const JsonMember member : reader.chunk().members()) {
    const bool is_accepted = std::find(kAccepted.begin(), kAccepted.end(), member.key) != kAccepted.end() ||
                             (reader.has_expr_form() && member.key == "expr_form");
    if (!reader.find(member.key) || is_accepted) continue;
    reader.report(format("the key {} is not accepted for the client ssh; accepted are {}.",
                         quoted_excerpt(member.key), kAcceptedText));
  }
  read_target(reader, Client::ssh, call.target);
  check_target_type(reader, call.target.type);
  read_functions(reader, Client::ssh, call);
  check_function(reader, call);
  call.timeout = reader.duration("timeout");
  read_roster(reader, call);
}

}  // namespace rest_fcgi::lowstate
