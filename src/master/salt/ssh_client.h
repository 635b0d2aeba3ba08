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

/// Salt's SSHClient. It does not talk to the master, but needs the master's ssh key on the same host.
/// `salt_ssh_client.py`, which is installed with this program, calls it in the Python of the host's salt-ssh,
/// as salt-api does. The call is passed on standard input: no text of a caller becomes an argument of a
/// program or shell. Thread-safe.
class SshClient {
 public:
  /// `conf_file`: the master's file, which the program reads as Salt does.
  SshClient(SshOptions options, const std::string& conf_file);

  /// Returns the Python of the host's salt-ssh. It is searched each time, so that a later installation is
  /// found. Errors: unavailable.
  [[nodiscard]] Result<std::string> python() const;

  /// Runs a call until its end or `deadline`, when it is killed with its children. Errors: timeout;
  /// reply_too_large, for more than `max_bytes`; invocation, for an unknown roster; unavailable, without
  /// salt-ssh or its permissions; internal.
  [[nodiscard]] Result<Json> run(const lowstate::LocalCall& call, std::string_view jid, SteadyTime deadline,
                                 std::size_t max_bytes) const;

 private:
  const SshOptions options_;
  const std::string conf_file_;
  const process::ProgramRunner programs_;
  mutable std::counting_semaphore<> places_;  // each call is a Python process with all of Salt
};

/// Returns the call in the format of `salt_ssh_client.py`.
[[nodiscard]] Json ssh_request(const lowstate::LocalCall& call, std::string_view jid);

/// Returns the Python for a script such as salt-ssh: from its first line, otherwise `python3` or
/// `bin/python3` beside the script, as in Salt's packages and virtual environments. Errors: unavailable.
[[nodiscard]] Result<std::string> python_of(const std::string& script);

}  // namespace rest_fcgi::salt
