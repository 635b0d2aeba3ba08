// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace rest_fcgi::embedded {

/// The Python exception that Salt's function would have raised, as far as a minion's texts show it. Plain
/// value.
struct Raised {
  enum class Kind {
    type_error,         ///< arguments that do not fit: the minion adds the function's documentation
    invocation,         ///< SaltInvocationError and SaltClientError
    command,            ///< CommandExecutionError
    command_not_found,  ///< CommandNotFoundError
    exception,          ///< any other
    worded,             ///< any, and `message` is the minion's whole text about it
    unavailable,        ///< there is no such function after all; `message` says why, or is empty
    interrupted,        ///< no exception of Python's: the engine shut down while the function ran
  };
  Kind kind = Kind::exception;
  std::string type;  ///< the class as a traceback's last line names it: `ValueError`
  std::string message;

  static Raised type_error(std::string message);
  static Raised value_error(std::string message);
  static Raised interrupted(std::string message);

  /// The last line of Python's traceback: `ValueError: message`, or the class alone.
  [[nodiscard]] std::string line() const;
};

}  // namespace rest_fcgi::embedded
