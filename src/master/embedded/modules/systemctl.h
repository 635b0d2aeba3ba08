// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "master/embedded/modules/module.h"

namespace rest_fcgi::embedded {

/// What one run of systemctl gave. Plain value.
struct SystemctlResult {
  int retcode = 0;
  std::string output;
  std::string errors;
};

/// The name of a unit as systemd knows it: with its type, `.service` where it has none. Errors: invocation,
/// where no unit can have that name; so none is ever taken for an option or a pattern.
[[nodiscard]] std::variant<std::string, Raised> unit_name(const std::string& name);

/// A unit's file name as Salt's service module calls the unit: services without `.service`. Absent where it
/// is of no type that Salt knows.
[[nodiscard]] std::optional<std::string> service_name(std::string_view file_name);

/// systemd of this host, for one call. Borrows the call.
class Systemctl {
 public:
  explicit Systemctl(const Call& call);

  /// Why there is nothing to talk to: the host was not booted with systemd, or has no systemctl. Absent:
  /// there is.
  [[nodiscard]] std::optional<Reply> missing() const;

  /// Runs systemctl, whose `unit` cannot be an option; empty: none. Errors: interrupted, command.
  [[nodiscard]] std::variant<SystemctlResult, Raised> run(std::vector<std::string> words,
                                                          const std::string& unit = "") const;

  /// A path of this host's, such as `/etc/systemd/system`.
  [[nodiscard]] std::string path(std::string_view absolute) const;

 private:
  const Call& call_;
  const std::string& root_;
  std::optional<std::string> program_;
};

}  // namespace rest_fcgi::embedded
