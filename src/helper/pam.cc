// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <security/pam_appl.h>

#include "helper/stream.h"
#include "rest_fcgi/auth/pam_wire.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/users.h"

// rest_fcgi_pam asks PAM about one login for the server rest_fcgi. PAM's modules are not thread-safe and
// often need root, so this is a separate program. It reads the request from standard input and writes the
// answer to standard output. The server or a systemd socket unit starts rest_fcgi_pam for each login.

namespace rest_fcgi::helper {
namespace {

using auth::pam::LoginRequest;
using auth::pam::Outcome;

struct Answer {
  Outcome outcome;
  std::string text;  ///< The user's groups, one on each line, if the outcome is good, and else the reason.
};

constexpr int kFlags = PAM_SILENT | PAM_DISALLOW_NULL_AUTHTOK;

/// PAM's modules free the copy. Returns null if there is no memory.
char* copy_for_pam(std::string_view text) {
  char* const copy = static_cast<char*>(std::calloc(text.size() + 1, 1));
  if (copy != nullptr) std::copy(text.begin(), text.end(), copy);
  return copy;
}

void free_responses(pam_response* responses, int count) {
  for (int i = 0; i < count; ++i) std::free(responses[i].resp);
  std::free(responses);
}

struct Talk {
  LoginRequest request;
  bool password_was_asked_for = false;
};

/// Answers the prompts of PAM's modules (pam_conv(3)). The answer to a prompt without echo is the password.
/// The answer to a prompt with echo is the user name.
int converse(int count, const pam_message** messages, pam_response** answers, void* data) {
  auto& given = *static_cast<Talk*>(data);
  if (count <= 0 || count > PAM_MAX_NUM_MSG) return PAM_CONV_ERR;
  auto* const responses =
      static_cast<pam_response*>(std::calloc(static_cast<std::size_t>(count), sizeof(pam_response)));
  if (responses == nullptr) return PAM_BUF_ERR;
  for (int i = 0; i < count; ++i) {
    const int style = messages[i]->msg_style;
    if (style != PAM_PROMPT_ECHO_OFF && style != PAM_PROMPT_ECHO_ON) continue;
    const bool is_hidden = style == PAM_PROMPT_ECHO_OFF;
    given.password_was_asked_for = given.password_was_asked_for || is_hidden;
    responses[i].resp = copy_for_pam(is_hidden ? given.request.password.reveal() : given.request.username);
    if (responses[i].resp == nullptr) {
      free_responses(responses, count);
      return PAM_BUF_ERR;
    }
  }
  *answers = responses;
  return PAM_SUCCESS;
}

/// PAM calls this function instead of waiting after a failed login. rest_fcgi itself waits.
void no_delay(int, unsigned, void*) {}

class Conversation {
 public:
  Conversation(const LoginRequest& request, const std::string& confdir)
      : talk_{request}, callback_{converse, &talk_} {
    const std::string service(request.service);
    const std::string username(request.username);
    status_ = confdir.empty() ? ::pam_start(service.c_str(), username.c_str(), &callback_, &handle_)
                              : ::pam_start_confdir(service.c_str(), username.c_str(), &callback_,
                                                    confdir.c_str(), &handle_);
  }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;
  ~Conversation() {
    if (handle_ != nullptr) ::pam_end(handle_, status_);
  }

  /// Calls `step(handle)` unless an earlier step has failed. Returns whether all steps have succeeded.
  template <class Step>
  bool step(const Step& step) {
    if (status_ == PAM_SUCCESS) status_ = step(handle_);
    return status_ == PAM_SUCCESS;
  }

  [[nodiscard]] bool password_was_asked_for() const { return talk_.password_was_asked_for; }
  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] std::string cause() const { return ::pam_strerror(handle_, status_); }

 private:
  Talk talk_;
  pam_conv callback_;
  pam_handle_t* handle_ = nullptr;
  int status_ = PAM_SYSTEM_ERR;
};

Outcome outcome_of(int status) {
  switch (status) {
    case PAM_AUTH_ERR:
    case PAM_USER_UNKNOWN:
    case PAM_MAXTRIES:
    case PAM_PERM_DENIED:
    case PAM_ACCT_EXPIRED:
    case PAM_NEW_AUTHTOK_REQD:
    case PAM_AUTHTOK_EXPIRED:
    case PAM_CRED_INSUFFICIENT:
      return Outcome::refused;
    case PAM_AUTHINFO_UNAVAIL:
      return Outcome::unavailable;
    default:
      return Outcome::failed;
  }
}

Answer refusal(const Conversation& conversation, const char* phase) {
  return {outcome_of(conversation.status()), std::string(phase) + ": " + conversation.cause()};
}

/// Asks PAM whether the password is right and whether the account may be used. REQUIRES: `request.service` is
/// a file name.
Answer verify(const LoginRequest& request, const std::string& confdir) {
  if (!auth::pam::is_username(request.username)) return {Outcome::refused, "the user name is malformed"};
  if (request.password.size() == 0) return {Outcome::refused, "the password is empty"};
  // PAM's modules would read a password only up to a NUL byte, so a password with a NUL byte is refused.
  if (request.password.reveal().find('\0') != std::string_view::npos) {
    return {Outcome::refused, "the password contains a NUL byte"};
  }
  const std::string remote(request.remote);
  Conversation conversation(request, confdir);
  const bool started = conversation.step([&](pam_handle_t* handle) {
    if (remote.empty()) return PAM_SUCCESS;
    return ::pam_set_item(handle, PAM_RHOST, remote.c_str());
  }) && conversation.step([](pam_handle_t* handle) {
    return ::pam_set_item(handle, PAM_FAIL_DELAY, reinterpret_cast<const void*>(&no_delay));
  });
  if (!started) return {Outcome::failed, "start: " + conversation.cause()};
  if (!conversation.step([](pam_handle_t* handle) { return ::pam_authenticate(handle, kFlags); })) {
    return refusal(conversation, "authentication");
  }
  // Refuses a service in which a module such as pam_rootok accepts a login without a password.
  if (!conversation.password_was_asked_for()) {
    return {Outcome::failed,
            "authentication: no module of this PAM service asked for the password; choose another service"};
  }
  if (!conversation.step([](pam_handle_t* handle) { return ::pam_acct_mgmt(handle, kFlags); })) {
    return refusal(conversation, "account");
  }
  std::string groups;
  for (const std::string& group : group_names_of(std::string(request.username))) groups += group + "\n";
  return {Outcome::good, groups};
}

/// Returns why this process cannot check logins with the PAM service `name`, or an empty text if it can.
std::string why_unusable(std::string_view name, const std::string& confdir) {
  const std::string service = lower(name);  // libpam looks for the file in lower case.
  const std::string folder = confdir.empty() ? "/etc/pam.d" : confdir;
  if (::access((folder + "/" + service).c_str(), R_OK) != 0 &&
      ::access(("/usr/lib/pam.d/" + service).c_str(), R_OK) != 0) {
    return "the PAM service " + service + " has no file in " + folder +
           " that the helper can read, so PAM uses the service other";
  }
  if (::geteuid() != 0 && ::access("/etc/shadow", R_OK) != 0) {
    return "the helper runs as user id " + std::to_string(::geteuid()) +
           ", which may not read /etc/shadow, so pam_unix refuses all passwords: run the helper as root from "
           "a socket "
           "unit (pam_helper: unix:PATH), or give that user the group shadow";
  }
  return {};
}

// The time limit of this process in seconds. rest_fcgi itself waits only 30 seconds.
constexpr unsigned kLongestLife = 60;
// The time in seconds that this process stays after a wrong password. It counts as a connection of the socket
// unit for so long. A process that guesses passwords over the socket can therefore try only as many passwords
// in this time as the unit allows connections.
constexpr unsigned kStayAfterRefusal = 1;

constexpr const char* kUsage =
    "Usage: rest_fcgi_pam [--confdir DIR] [--peer USER]\n"
    "Answers one request of rest_fcgi about a system user on standard input and output.\n\n"
    "  --confdir DIR  the folder of the PAM services' files, instead of /etc/pam.d\n"
    "  --peer USER    answer only if this user or root is at the other end of the socket\n";

struct Arguments {
  std::string confdir;
  std::string peer;
};

std::optional<Arguments> read_arguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    if (i + 1 == argc || *argv[i + 1] == '\0') return std::nullopt;
    if (option == "--confdir") {
      arguments.confdir = argv[i + 1];
    } else if (option == "--peer") {
      arguments.peer = argv[i + 1];
    } else {
      return std::nullopt;
    }
  }
  return arguments;
}

int complain(const std::string& text) {
  std::fputs(("rest_fcgi_pam: " + text + "\n").c_str(), stderr);
  return EX_NOPERM;
}

/// The output of PAM's modules must not get into the answer to rest_fcgi.
bool redirect_standard_streams() {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  return nothing >= 0 && ::dup2(nothing, STDIN_FILENO) == STDIN_FILENO &&
         ::dup2(STDERR_FILENO, STDOUT_FILENO) == STDOUT_FILENO;
}

/// Reads up to the end of the input. The result is empty if the input is too long or cannot be read.
std::string read_input(int fd) {
  std::string bytes(auth::pam::kMaxRequest + 1, '\0');
  std::size_t size = 0;
  ssize_t got = 0;
  while (size < bytes.size() && (got = ::read(fd, bytes.data() + size, bytes.size() - size)) > 0)
    size += static_cast<std::size_t>(got);
  bytes.resize(got == 0 ? size : 0);
  return bytes;
}

Answer answer(const LoginRequest& request, const std::string& confdir) {
  if (!request.username.empty()) return verify(request, confdir);
  std::string cause = why_unusable(request.service, confdir);
  return {cause.empty() ? Outcome::good : Outcome::failed, std::move(cause)};
}

int serve(const Arguments& arguments) {
  const std::string input = read_input(STDIN_FILENO);
  // Programs that PAM's modules start do not inherit this file.
  const int out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (out < 0 || !redirect_standard_streams()) return complain("standard output is not open");
  std::string_view rest(input.data(), input.size());
  LoginRequest request;
  for (std::string_view* const line : {&request.service, &request.username, &request.remote})
    *line = next_token(rest, '\n');
  request.password = SecretView(rest);
  if (!auth::pam::is_service(request.service))
    return complain("found a malformed request; rest_fcgi and rest_fcgi_pam must have the same version");
  const Answer found = answer(request, arguments.confdir);
  std::string reply(1, static_cast<char>(found.outcome));
  reply += found.text;
  if (reply.size() > 1 && !reply.ends_with('\n')) reply += '\n';
  if (!write_all(out, reply.data(), reply.size())) return EXIT_FAILURE;
  // Ends the answer, even if a child process of a PAM module keeps the socket open.
  ::shutdown(out, SHUT_WR);
  ::close(out);
  if (found.outcome == Outcome::refused) ::sleep(kStayAfterRefusal);
  return EXIT_SUCCESS;
}

int run(int argc, char** argv) {
  const auto arguments = read_arguments(argc, argv);
  if (!arguments) {
    std::fputs(kUsage, stderr);
    return EX_USAGE;
  }
  // Forbids core dumps and debuggers for this process, because it has passwords in memory.
  constexpr rlimit kNone{0, 0};
  ::setrlimit(RLIMIT_CORE, &kNone);
  ::prctl(PR_SET_DUMPABLE, 0);
  ::umask(077);
  if (!arguments->peer.empty() && !is_peer(arguments->peer)) {
    return complain("refused: standard input must be a socket with the user " + arguments->peer +
                    " or root at its other end");
  }
  ::alarm(kLongestLife);  // If a PAM module hangs, SIGALRM ends this process.
  return serve(*arguments);
}

}  // namespace
}  // namespace rest_fcgi::helper

int main(int argc, char** argv) try {
  return rest_fcgi::helper::run(argc, argv);
} catch (const std::exception& error) {
  return rest_fcgi::helper::complain(error.what());
}
