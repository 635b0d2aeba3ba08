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

/// Salt's SSHClient, which has no part on the wire: it is a program of Python on the master's host, with the
/// master's key for ssh. `salt_ssh_client.py`, which is installed with us, calls it in the Python of the
/// host's salt-ssh, so that a call is what salt-api makes of it. The call crosses on standard input: no text
/// of a caller's is an argument of any program that is started here, and no shell is. Thread-safe.
class SshClient {
 public:
  /// `conf_file`: the master's own, which that program reads as Salt does.
  SshClient(SshOptions options, const std::string& conf_file);

  /// The Python that the host's salt-ssh runs in: looked for each time, so that one that is installed later
  /// is found. Errors: unavailable, with what was looked for.
  [[nodiscard]] Result<std::string> python() const;

  /// Runs a call and waits for its end, up to `deadline`: then it is ended with all that it started. Keeps no
  /// more than `max_bytes` of what it gives. Errors: timeout; reply_too_large; invocation, for a roster that
  /// there is not; unavailable, where salt-ssh is not there or may not do what it has to; internal.
  [[nodiscard]] Result<Json> run(const lowstate::LocalCall& call, std::string_view jid, SteadyTime deadline,
                                 std::size_t max_bytes) const;

 private:
  const SshOptions options_;
  const std::string conf_file_;
  const process::ProgramRunner programs_;
  mutable std::counting_semaphore<> places_;  // each call is a Python with all of Salt in it
};

/// The call as `salt_ssh_client.py` reads it.
[[nodiscard]] Json ssh_request(const lowstate::LocalCall& call, std::string_view jid);

/// The Python that a script such as salt-ssh is run by: that of its first line, or, where that names none
/// that is there, `python3` or `bin/python3` beside the script, where it lies in Salt's own packages and in a
/// virtual environment. Errors: unavailable.
[[nodiscard]] Result<std::string> python_of(const std::string& script);

}  // namespace rest_fcgi::salt
