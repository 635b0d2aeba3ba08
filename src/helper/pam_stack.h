// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What the files of PAM services say, read without PAM. `confdir` is where the files are; where it is empty,
/// in the system's places. (libpam 1.5 itself looks for included files in the latter, whatever `confdir` is.)
namespace rest_fcgi::helper {

/// A line about a module that takes part in a login.
struct StackLine {
  std::string place;                     ///< FILE:LINE
  std::string control;                   ///< `required`, or what stands between brackets
  std::string module;                    ///< its name, without folder and ending
  std::vector<std::string> arguments{};  ///< the module's
  int level = 0;                         ///< how many substacks it stands in
  /// Why nobody can tell what the line does: versions of libpam differ, or it fails in each of them. Empty
  /// where the line is plain.
  std::string oddity{};
};

using Stack = std::vector<StackLine>;

/// The path of a service's file; absent where there is none.
[[nodiscard]] std::optional<std::string> file_of(const std::string& service, const std::string& confdir);

/// The `auth` lines of a service, with all that they include; those of the service `other`, where it has
/// none.
[[nodiscard]] Stack auth_stack(const std::string& service, const std::string& confdir);

[[nodiscard]] bool uses(const Stack& stack, std::string_view module);

/// The first line that nobody can be sure about; null where there is none.
[[nodiscard]] const StackLine* odd_line(const Stack& stack);

/// The line by which the stack lets somebody in though no module has looked at a password; null where it does
/// not. Modules of names that are not known count as those that look at one, and may say that they are to be
/// ignored. REQUIRES: no line is odd.
[[nodiscard]] const StackLine* lets_everybody_in(const Stack& stack);

}  // namespace rest_fcgi::helper
