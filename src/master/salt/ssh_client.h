// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/limiter.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/master/salt/options.h"
#include "rest_fcgi/process/program.h"

namespace rest_fcgi::salt {

/// Runs Salt's SSHClient, which needs the master's ssh key on the same host. The installed script
/// `salt_ssh_client.py` calls SSHClient in the Python of the host's salt-ssh. The script reads the call from
/// standard input, so no text of a caller becomes an argument of a program. Thread-safe.
class SshClient {
 public:
  SshClient(SshOptions options, const std::string& conf_file);

  /// Finds the Python of the host's salt-ssh and returns its path. Fails with `unavailable`.
  Result<std::string> python() const;

  /// Runs a call. At `deadline` the call is killed with its child processes. Fails with `timeout`, with
  /// `reply_too_large` above `max_bytes`, with `invocation` for an unknown roster, or with `unavailable` if
  /// salt-ssh does not work or after a stop request.
  Result<Json> run(const lowstate::LocalCall& call, std::string_view jid, SteadyTime deadline,
                   std::size_t max_bytes, const std::stop_token& stop = {}) const;

 private:
  const SshOptions options_;
  const std::string conf_file_;
  const process::ProgramRunner programs_;
  // Limits the number of calls, because each call is a Python process that loads all of Salt.
  mutable Limiter limiter_;
};

[[nodiscard]] Json ssh_request(const lowstate::LocalCall& call, std::string_view jid);

/// Returns the path of the Python that runs a script such as salt-ssh: the Python in the script's first line,
/// or `python3` or `bin/python3` in the script's folder. Fails with `unavailable`.
Result<std::string> python_of(const std::string& script);

}  // namespace rest_fcgi::salt
