// SPDX-License-Identifier: MIT
#include "master/embedded/modules/systemctl.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "master/embedded/modules/loader.h"
#include "master/embedded/modules/replies.h"
#include "master/embedded/modules/which.h"
#include "master/embedded/process/program.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

constexpr std::size_t kMaxNameLength = 255;  // systemd's own

constexpr std::array<std::string_view, 9> kTypes = {".service", ".socket", ".device", ".mount", ".automount",
                                                    ".swap",    ".target", ".path",   ".timer"};

bool has_type(std::string_view name) {
  return std::any_of(kTypes.begin(), kTypes.end(), [name](std::string_view type) {
    return name.size() > type.size() && name.ends_with(type);
  });
}

bool is_unit_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         (c != '\0' && std::string_view(":-_.\\@").find(c) != std::string_view::npos);
}

}  // namespace

std::variant<std::string, Raised> unit_name(const std::string& name) {
  if (name.empty() || name[0] == '-' || name[0] == '.' ||
      !std::all_of(name.begin(), name.end(), is_unit_character)) {
    return invocation_error(
        format("'{}' cannot be the name of a unit: it has letters, digits and :-_.\\@ and does "
               "not begin with a dash or a dot.",
               name));
  }
  std::string unit = has_type(name) ? name : name + ".service";
  if (unit.size() > kMaxNameLength) {
    return invocation_error(format("The name of a unit has at most {} characters.", kMaxNameLength));
  }
  return unit;
}

std::optional<std::string> service_name(std::string_view file_name) {
  if (!has_type(file_name)) return std::nullopt;
  if (file_name.ends_with(kTypes[0])) file_name.remove_suffix(kTypes[0].size());
  return std::string(file_name);
}

Systemctl::Systemctl(const Call& call)
    : call_(call), root_(call.context.engine.modules.options().systemd_root) {
  const std::string own = path("/usr/bin/systemctl");
  program_ = root_.empty() ? which("systemctl") : is_executable(own) ? std::optional(own) : std::nullopt;
}

std::string Systemctl::path(std::string_view absolute) const {
  return root_ + std::string(absolute);
}

std::optional<Reply> Systemctl::missing() const {
  struct stat status = {};
  if (::stat(path("/run/systemd/system").c_str(), &status) != 0) {
    return Returned{
        Json::string("'service' __virtual__ returned False: The systemd execution module failed to "
                     "load: only available on Linux systems which have been booted with systemd."),
        1};
  }
  if (!program_) return Raised{Raised::Kind::command_not_found, "CommandNotFoundError", "systemctl"};
  return std::nullopt;
}

std::variant<SystemctlResult, Raised> Systemctl::run(std::vector<std::string> words,
                                                     const std::string& unit) const {
  Program program;
  program.argv = std::move(words);
  program.argv.insert(program.argv.begin(), {program_.value_or("systemctl"), "--no-pager"});
  if (!unit.empty()) program.argv.insert(program.argv.end(), {"--", unit});
  program.environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"};
  Result<Ended> ended = call_.context.engine.modules.programs().run(program, call_.context.stop);
  if (!ended) return command_error(ended.error().message);
  if (ended->how == Ended::How::stopped) return terminated();
  return SystemctlResult{ended->code, std::move(ended->output), std::move(ended->errors)};
}

}  // namespace rest_fcgi::embedded
