// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <semaphore>
#include <string>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/master/salt/options.h"
#include "rest_fcgi/process/program.h"

namespace rest_fcgi::salt {

/// Runs Salt's SSHClient. SSHClient does not talk to the master, but needs the master's ssh key on the same
/// host. The script `salt_ssh_client.py`, which is installed with this program, calls it in the Python of the
/// host's salt-ssh, as salt-api does. The script reads the call from standard input, so no text of a caller
/// becomes an argument of a program or shell. Thread-safe.
class SshClient {
 public:
  /// `conf_file` is the path of the master's configuration file, which the script reads as Salt does.
  SshClient(SshOptions options, const std::string& conf_file);

  /// Returns the path of the Python of the host's salt-ssh. Each call searches for it, so that a later
  /// installation is found. Errors: unavailable.
  [[nodiscard]] Result<std::string> python() const;

  /// Runs a call. At `deadline` the call is killed with its children. Errors: timeout; reply_too_large, for
  /// more than `max_bytes`; invocation, for an unknown roster; unavailable, if salt-ssh is not installed or
  /// has no permission; internal.
  [[nodiscard]] Result<Json> run(const lowstate::LocalCall& call, std::string_view jid, SteadyTime deadline,
                                 std::size_t max_bytes) const;

 private:
  const SshOptions options_;
  const std::string conf_file_;
  const process::ProgramRunner programs_;
  // Limits the number of calls, since each is a Python process that loads all of Salt.
  mutable std::counting_semaphore<> places_;
};

/// Returns the call in the format of `salt_ssh_client.py`.
[[nodiscard]] Json ssh_request(const lowstate::LocalCall& call, std::string_view jid);

/// Returns the Python for a script such as salt-ssh. The first line of the script may name it. Otherwise it
/// is `python3` or `bin/python3` beside the script, as in Salt's packages and virtual environments. Errors:
/// unavailable.
[[nodiscard]] Result<std::string> python_of(const std::string& script);

}  // namespace rest_fcgi::salt
