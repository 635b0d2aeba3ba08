// SPDX-License-Identifier: MIT
#include "gateway/sys.h"

#include <cxxabi.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <typeinfo>

#include <openssl/crypto.h>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/gateway/gateway.h"

namespace rest_fcgi::gateway {
namespace {

sigset_t awaited_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGHUP, SIGTERM, SIGINT, SIGUSR1, SIGUSR2}) ::sigaddset(&signals, signal);
  return signals;
}

/// Returns only the type of the current exception, because the exception's text might quote the request.
std::string exception_name() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr) return "an exception";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), &std::free);
  return name ? name.get() : type->name();
}

}  // namespace

void harden_process() {
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::umask(077);
  const sigset_t signals = awaited_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // Ignores SIGPIPE, because otherwise a write to a closed connection would end the process.
  ::signal(SIGPIPE, SIG_IGN);
  // OpenSSL must not clean up at exit, because detached threads may still use OpenSSL.
  ::OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
}

std::optional<int> wait_for_signal(std::chrono::milliseconds patience) {
  const sigset_t signals = awaited_signals();
  const timespec time = {0, std::chrono::nanoseconds(patience).count()};
  const int signal = ::sigtimedwait(&signals, nullptr, &time);
  return signal > 0 ? std::optional(signal) : std::nullopt;
}

void raise_file_limit(std::size_t wanted) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::size_t file_limit() noexcept {
  rlimit limit = {};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : static_cast<std::size_t>(RLIM_INFINITY);
}

void log_exception(std::string_view where) noexcept {
  log::safely([where] { log::error(format("{}: {}", where, exception_name())); });
}

}  // namespace rest_fcgi::gateway
