// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <security/pam_appl.h>

#include "helper/stream.h"
#include "rest_fcgi/auth/pam_wire.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/core/unique_fd.h"
#include "rest_fcgi/core/users.h"

// rest_fcgi_pam asks PAM about logins for the server rest_fcgi. PAM's modules are not thread-safe and often
// need root, so this is a separate program. It reads requests from standard input and writes answers to
// standard output. The server or a systemd socket unit starts rest_fcgi_pam.

namespace rest_fcgi::helper {
namespace {

using auth::pam::Answer;
using auth::pam::Outcome;
using auth::pam::Request;

constexpr int kFlags = PAM_SILENT | PAM_DISALLOW_NULL_AUTHTOK;

/// PAM's modules free the copy. Returns null if there is no memory.
char* copy_for_pam(std::string_view text) {
  char* const copy = static_cast<char*>(std::calloc(text.size() + 1, 1));
  if (copy != nullptr) std::copy(text.begin(), text.end(), copy);
  return copy;
}

void free_responses(pam_response* responses, int count) {
  for (int i = 0; i < count; ++i) {
    if (responses[i].resp != nullptr) wipe(responses[i].resp, ::strlen(responses[i].resp));
    std::free(responses[i].resp);
  }
  std::free(responses);
}

struct Talk {
  Request request;
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
  Conversation(const Request& request, const std::string& confdir)
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
  return {outcome_of(conversation.status()), std::string(phase) + ": " + conversation.cause(), {}};
}

constexpr const char* kShadow = "/etc/shadow";

/// The PAM module pam_unix needs root, or the right to read /etc/shadow, to check passwords of other users.
bool may_check_other_users() {
  return ::geteuid() == 0 || ::access(kShadow, R_OK) == 0;
}

/// libpam uses the name of a PAM service in lower case.
std::string file_name_of(std::string_view service) {
  std::string name(service);
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

/// Returns the path of the file of a PAM service, or an empty text if there is no file. If `confdir` is
/// empty, looks in the system's folders.
std::string path_of(const std::string& service, const std::string& confdir) {
  const std::vector<std::string> folders =
      confdir.empty() ? std::vector<std::string>{"/etc/pam.d", "/usr/lib/pam.d"} : std::vector{confdir};
  for (const std::string& folder : folders) {
    std::string path = service;
    if (!service.starts_with('/')) path.insert(0, "/").insert(0, folder);
    if (::access(path.c_str(), F_OK) == 0) return path;
  }
  return {};
}

/// Returns whether the file of a PAM service, or a file that it includes, names pam_unix in an `auth` line.
bool uses_pam_unix(const std::string& service, const std::string& confdir, int depth = 0) {
  constexpr int kMaxDepth = 16;  // libpam has the same limit for nested files.
  std::ifstream file(path_of(service, confdir));
  for (std::string line; depth < kMaxDepth && std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string type;
    std::string control;
    std::string module;
    words >> type >> control;
    if (type == "@include" && uses_pam_unix(control, confdir, depth + 1)) return true;
    if (type != "auth" && type != "-auth") continue;
    if (line.find("pam_unix") != std::string::npos) return true;
    words >> module;
    const bool is_include = control == "include" || control == "substack";
    if (is_include && uses_pam_unix(module, confdir, depth + 1)) return true;
  }
  return false;
}

/// Asks PAM whether the password is right and whether the account may be used. REQUIRES: `request.service` is
/// a file name.
Answer verify(const Request& request, const std::string& confdir) {
  if (!auth::pam::is_username(request.username)) return {Outcome::refused, "the user name is malformed", {}};
  if (request.password.size() == 0) return {Outcome::refused, "the password is empty", {}};
  // PAM's modules would read a password only up to a NUL byte, so a password with a NUL byte is refused.
  if (request.password.reveal().find('\0') != std::string_view::npos) {
    return {Outcome::refused, "the password contains a NUL byte", {}};
  }
  const std::string remote(request.remote);
  Conversation conversation(request, confdir);
  const bool started = conversation.step([&](pam_handle_t* handle) {
    if (remote.empty()) return PAM_SUCCESS;
    return ::pam_set_item(handle, PAM_RHOST, remote.c_str());
  }) && conversation.step([](pam_handle_t* handle) {
    return ::pam_set_item(handle, PAM_FAIL_DELAY, reinterpret_cast<const void*>(&no_delay));
  });
  if (!started) return {Outcome::failed, "start: " + conversation.cause(), {}};
  if (!conversation.step([](pam_handle_t* handle) { return ::pam_authenticate(handle, kFlags); })) {
    return refusal(conversation, "authentication");
  }
  // Refuses a service in which a module such as pam_rootok accepts a login without a password.
  if (!conversation.password_was_asked_for()) {
    return {Outcome::failed,
            "authentication: no module of this PAM service asked for the password; choose another service",
            {}};
  }
  if (!conversation.step([](pam_handle_t* handle) { return ::pam_acct_mgmt(handle, kFlags); })) {
    return refusal(conversation, "account");
  }
  return {Outcome::good, {}, group_names_of(std::string(request.username))};
}

/// Returns why this process cannot check logins with the PAM service `name`, or an empty text if it can.
std::string why_unusable(std::string_view name, const std::string& confdir) {
  const std::string service = file_name_of(name);
  const std::string path = path_of(service, confdir);
  if (path.empty()) {
    return "the PAM service " + service + " has no file in " + (confdir.empty() ? "/etc/pam.d" : confdir);
  }
  if (::access(path.c_str(), R_OK) != 0) return "the helper cannot read " + path;
  if (uses_pam_unix(service, confdir) && !may_check_other_users()) {
    return path + " uses pam_unix, and the helper runs as user id " + std::to_string(::geteuid()) +
           ", which may not read " + kShadow +
           ": run it as root from a socket unit (pam_helper: unix:PATH), or give that user the group shadow";
  }
  return {};
}

// A burst may have as many wrong passwords as the limit allows in this number of seconds.
constexpr int kBurst = 5;

/// All processes read the same clock, and the clock never goes back.
std::chrono::nanoseconds now() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// Limits how many passwords may be wrong per second on average. A burst may have five times as many wrong
/// passwords. All processes of rest_fcgi_pam with the same folder share the limit. Not thread-safe.
class FailureRate {
 public:
  /// Opens the file in `folder` in which the processes count wrong passwords. If the file cannot be used,
  /// this process counts alone.
  FailureRate(int each_second, const std::string& folder)
      : interval_(Time(std::chrono::seconds(1)) / each_second) {
    if (folder.empty()) return;
    const std::string path = folder + "/failures";
    file_.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file_)
      std::fprintf(stderr,
                   "rest_fcgi_pam: %s: %s; this process does not share its count of wrong passwords\n",
                   path.c_str(), ::strerror(errno));
  }

  /// Counts a password as wrong before the check. Returns false if too many passwords were wrong and the
  /// caller must not check this password.
  [[nodiscard]] bool enter() {
    bool has_room = false;
    change([&] {
      const Time time = now();
      const Time most = time + kBurst * std::chrono::seconds(1);
      counted_until_ = std::clamp(counted_until_, time, most);
      has_room = counted_until_ + interval_ <= most;
      if (has_room) counted_until_ += interval_;
    });
    return has_room;
  }

  void uncount() {
    change([this] { counted_until_ -= interval_; });
  }

 private:
  using Time = std::chrono::nanoseconds;

  /// Reads and writes `counted_until_` in the file under the file's lock, and calls `change` in between.
  template <class Change>
  void change(const Change& change) {
    if (!file_) return change();
    ::flock(file_.get(), LOCK_EX);
    std::int64_t stored = 0;
    if (::pread(file_.get(), &stored, sizeof stored, 0) == sizeof stored) counted_until_ = Time(stored);
    change();
    stored = counted_until_.count();
    if (::pwrite(file_.get(), &stored, sizeof stored, 0) < 0) file_.reset();
    if (file_) ::flock(file_.get(), LOCK_UN);
  }

  const Time interval_;
  UniqueFd file_;
  // Each wrong password moves this time ahead by `interval_`, beginning at the present time at the earliest.
  // If the time is `kBurst` seconds ahead, further passwords are refused.
  Time counted_until_{0};
};

// The time limit for a request in seconds. rest_fcgi itself waits only 30 seconds.
constexpr unsigned kLongestRequest = 60;

constexpr const char* kUsage =
    "Usage: rest_fcgi_pam [--confdir DIR] [--peer USER] [--rate N]\n"
    "Answers requests of rest_fcgi about system users on standard input and output.\n\n"
    "  --confdir DIR  the folder of the PAM services' files, instead of /etc/pam.d\n"
    "  --peer USER    answer only if this user or root is at the other end of the socket\n"
    "  --rate N       the limit of wrong passwords per second (default: 10); a burst may have five times as "
    "many.\n"
    "                 All helpers with the same $RUNTIME_DIRECTORY share this limit\n";

constexpr int kRate = 10;
constexpr int kMaxRate = 10'000;

struct Arguments {
  std::string confdir;
  std::string peer;
  int rate = kRate;
};

bool read_rate(std::string_view text, int& rate) {
  const auto [end, error] = std::from_chars(text.begin(), text.end(), rate);
  return error == std::errc() && end == text.end() && rate >= 1 && rate <= kMaxRate;
}

std::optional<Arguments> read_arguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    if (i + 1 == argc || *argv[i + 1] == '\0') return std::nullopt;
    if (option == "--confdir") {
      arguments.confdir = argv[i + 1];
    } else if (option == "--peer") {
      arguments.peer = argv[i + 1];
    } else if (option != "--rate" || !read_rate(argv[i + 1], arguments.rate)) {
      return std::nullopt;
    }
  }
  return arguments;
}

int complain(const std::string& text) {
  std::fputs(("rest_fcgi_pam: " + text + "\n").c_str(), stderr);
  return EX_NOPERM;
}

/// Forbids core dumps and debuggers for this process, because it has passwords in memory.
void harden() {
  constexpr rlimit kNone{0, 0};
  ::setrlimit(RLIMIT_CORE, &kNone);
  ::prctl(PR_SET_DUMPABLE, 0);
  ::umask(077);
}

/// Programs that PAM's modules start do not inherit the duplicate of `fd`.
int take(int fd) {
  return ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

/// The output of PAM's modules must not get between the answers to rest_fcgi.
bool redirect_standard_streams() {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  return nothing >= 0 && ::dup2(nothing, STDIN_FILENO) == STDIN_FILENO &&
         ::dup2(STDERR_FILENO, STDOUT_FILENO) == STDOUT_FILENO;
}

Answer answer(const Request& request, const std::string& confdir, FailureRate& rate) {
  if (!auth::pam::is_service(request.service))
    return {Outcome::failed, "the name of the PAM service is malformed", {}};
  if (request.ask == auth::pam::Ask::verify) {
    if (!rate.enter()) return {Outcome::busy, "too many wrong passwords in the last seconds", {}};
    Answer verified = verify(request, confdir);
    if (verified.outcome == Outcome::good) rate.uncount();
    return verified;
  }
  std::string cause = why_unusable(request.service, confdir);
  return {cause.empty() ? Outcome::good : Outcome::refused, std::move(cause), {}};
}

/// Returns std::nullopt at the end of the input, or if the frame is malformed.
std::optional<WipedBytes> read_body(int fd) {
  std::array<char, auth::pam::kHeader> header{};
  if (!read_all(fd, header.data(), header.size())) return std::nullopt;
  const auto size = auth::pam::body_size({header.data(), header.size()});
  if (!size) return std::nullopt;
  WipedBytes body(*size);
  if (!read_all(fd, body.data(), body.size())) return std::nullopt;
  return body;
}

int serve(int in, int out, const Arguments& arguments) {
  const char* const folder = std::getenv("RUNTIME_DIRECTORY");
  FailureRate rate(arguments.rate, folder != nullptr ? folder : "");
  while (const auto body = read_body(in)) {
    const auto request = auth::pam::read_request({body->data(), body->size()});
    if (!request)
      return complain("found a malformed request; rest_fcgi and rest_fcgi_pam must have the same version");
    // If a PAM module hangs, SIGALRM ends this process.
    ::alarm(kLongestRequest);
    WipedBytes frame = to_frame(answer(*request, arguments.confdir, rate));
    ::alarm(0);
    if (frame.empty())
      frame = to_frame(Answer{Outcome::failed, "the user has too many groups for one answer", {}});
    if (!write_all(out, frame.data(), frame.size())) break;
  }
  return EXIT_SUCCESS;
}

int run(int argc, char** argv) {
  const auto arguments = read_arguments(argc, argv);
  if (!arguments) {
    std::fputs(kUsage, stderr);
    return EX_USAGE;
  }
  harden();
  if (!arguments->peer.empty() && !is_peer(arguments->peer)) {
    return complain("refused: standard input must be a socket with the user " + arguments->peer +
                    " or root at its other end");
  }
  const int in = take(STDIN_FILENO);
  const int out = take(STDOUT_FILENO);
  if (in < 0 || out < 0 || !redirect_standard_streams())
    return complain("standard input or standard output is not open");
  return serve(in, out, *arguments);
}

}  // namespace
}  // namespace rest_fcgi::helper

int main(int argc, char** argv) try {
  return rest_fcgi::helper::run(argc, argv);
} catch (const std::exception& error) {
  return rest_fcgi::helper::complain(error.what());
}
