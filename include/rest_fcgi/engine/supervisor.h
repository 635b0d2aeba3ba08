// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

/// The two processes of a service under systemd. The supervisor is the unit's main process; it only waits,
/// and passes signals on. Its child, the worker, serves. So the main process can end at once in a restart,
/// while the worker finishes its requests: systemd then starts the next main process with the same sockets.
///
/// | signal to the supervisor | what happens |
/// | --- | --- |
/// | SIGHUP | the worker gets it |
/// | SIGTERM, SIGINT, SIGUSR1 | the worker gets it; the supervisor ends when all workers have ended |
/// | SIGUSR2 | the worker gets it, closes its sockets and sends SIGUSR2 back; then the supervisor ends |
///
/// After SIGUSR2 the supervisor leaves a descriptor of its worker (pidfd_open(2)) in systemd's store. The
/// next supervisor gets it, so that a stop also waits for workers of earlier restarts.
///
/// If the worker ends, the supervisor ends with its status or signal. If the supervisor is killed, the kernel
/// kills the worker, so that no process without a supervisor holds the ports.
namespace rest_fcgi::engine {

/// Forks if NOTIFY_SOCKET is set. Returns in the worker only, or in the only process. REQUIRES: the process
/// has one thread and has called `gateway::harden_process`.
void supervise();

/// Parts the worker from its supervisor, which ends. From now on `notify_systemd` sends nothing, and a worker
/// that has not ended after `most` is killed. Called by the thread that called `supervise`. Does nothing
/// without a supervisor.
void leave_supervisor(std::chrono::seconds most);

}  // namespace rest_fcgi::engine
