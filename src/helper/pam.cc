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
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <security/pam_appl.h>

#include "helper/pam_stack.h"
#include "helper/stream.h"
#include "rest_fcgi/auth/pam_wire.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/core/unique_fd.h"
#include "rest_fcgi/core/users.h"

// The one program that talks to PAM: its modules are not thread-safe, and many of them want root. It reads
// requests from standard input and writes answers to standard output, one after the other, until the input
// ends. The responder starts it, or a socket unit does, for each connection.

namespace rest_fcgi::helper {
namespace {

using auth::pam::Answer;
using auth::pam::Outcome;
using auth::pam::Request;

// Without these flags an account without a password would be open to everybody.
constexpr int kFlags = PAM_SILENT | PAM_DISALLOW_NULL_AUTHTOK;

/// A copy that PAM's modules free; null where there is no memory.
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

/// What modules are answered with.
struct Talk {
  Request request;
  bool password_was_asked_for = false;
};

/// PAM's modules ask: what is hidden while it is typed gets the password, and what is shown the user's name.
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

/// Modules want a failure to take some seconds. The responder sees to that, where nobody else has to wait.
void no_delay(int, unsigned, void*) {}

/// One conversation with PAM, from pam_start to pam_end.
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

  /// Goes on only as long as all went well.
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

/// pam_unix checks others' passwords only for who may read where they are.
bool may_check_others() {
  return ::geteuid() == 0 || ::access(kShadow, R_OK) == 0;
}

/// libpam reads the files of services in lower case, whatever the application says.
std::string file_name_of(std::string_view service) {
  std::string name(service);
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

/// Why nobody may log in through a stack: it would take any password, or nobody can say whether it does.
/// Empty where nothing speaks against it.
std::string why_closed(const Stack& stack) {
  constexpr const char* kAdvice = ": choose another service";
  if (const StackLine* const odd = odd_line(stack)) return odd->place + ": " + odd->oddity + kAdvice;
  const StackLine* const open = lets_everybody_in(stack);
  if (open == nullptr) return {};
  return open->place + ": " + open->module + " lets somebody in without a password" + kAdvice;
}

/// Asks the PAM stack of a service whether a user's password is good and their account may be used now. Both
/// always: a locked or expired account has a good password, too. `confdir` is where services are, empty for
/// the system's places. REQUIRES: the service is a name of one.
Answer verify(const Request& request, const std::string& confdir) {
  if (!auth::pam::is_username(request.username)) return {Outcome::refused, "odd user name", {}};
  if (request.password.size() == 0) return {Outcome::refused, "the password is empty", {}};
  // Modules would see what stands before it, and take that for all.
  if (request.password.reveal().find('\0') != std::string_view::npos) {
    return {Outcome::refused, "the password holds a NUL", {}};
  }
  std::string closed = why_closed(auth_stack(file_name_of(request.service), confdir));
  if (!closed.empty()) return {Outcome::failed, std::move(closed), {}};
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
  // Whatever the files say: then nobody can have looked at it.
  if (!conversation.password_was_asked_for()) {
    return {Outcome::failed, "authentication: no module asked for the password: choose another service", {}};
  }
  if (!conversation.step([](pam_handle_t* handle) { return ::pam_acct_mgmt(handle, kFlags); })) {
    return refusal(conversation, "account");
  }
  return {Outcome::good, {}, group_names_of(std::string(request.username))};
}

/// Why logins through this service cannot work in a process like this one, as far as its files tell; empty
/// where nothing speaks against it. `confdir` as for `verify`.
std::string why_not(std::string_view name, const std::string& confdir) {
  const std::string service = file_name_of(name);
  const auto path = file_of(service, confdir);
  if (!path) {
    return "the PAM service " + service + " has no file in " + (confdir.empty() ? "/etc/pam.d" : confdir);
  }
  if (::access(path->c_str(), R_OK) != 0) return *path + " cannot be read by the helper";
  const Stack stack = auth_stack(service, confdir);
  if (std::string closed = why_closed(stack); !closed.empty()) return closed;
  if (uses(stack, "pam_unix") && !may_check_others()) {
    return *path + " uses pam_unix, and the helper runs as user id " + std::to_string(::geteuid()) +
           ", which may not read " + kShadow +
           ": run it as root from a socket unit (pam_helper: unix:PATH), or give that user the group shadow";
  }
  return {};
}

constexpr int kBurst = 5;  // seconds' worth of failures

/// One clock for all processes, which nobody sets.
std::chrono::nanoseconds now() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// Bounds how many passwords a second may turn out wrong, over all helpers that share a folder: so many a
/// second in the long run, and five times as many at once. What is not shared, this process counts alone. Not
/// synchronized.
class FailureRate {
 public:
  /// `folder` is where helpers share their count; empty where they do not.
  FailureRate(int each_second, const std::string& folder)
      : interval_(Time(std::chrono::seconds(1)) / each_second) {
    if (folder.empty()) return;
    const std::string path = folder + "/failures";
    file_.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file_)
      std::fprintf(stderr, "rest_fcgi_pam: %s: %s; this process counts alone\n", path.c_str(),
                   ::strerror(errno));
  }

  /// Takes leave to try one password. False where too many were wrong.
  [[nodiscard]] bool enter() {
    bool has_room = false;
    change([&] {
      const Time time = now();
      const Time most = time + kBurst * std::chrono::seconds(1);
      // No count of ours is later; a file that says so was damaged.
      paid_ = std::clamp(paid_, time, most);
      has_room = paid_ + interval_ <= most;
      if (has_room) paid_ += interval_;
    });
    return has_room;
  }

  /// The password was good: it counts no more.
  void forgive() {
    change([this] { paid_ -= interval_; });
  }

 private:
  using Time = std::chrono::nanoseconds;  // since the host was started

  /// The count stands in the file while others may look at it. A process that ends lets go of the lock.
  template <class Change>
  void change(const Change& change) {
    if (!file_) return change();
    ::flock(file_.get(), LOCK_EX);
    std::int64_t stored = 0;
    if (::pread(file_.get(), &stored, sizeof stored, 0) == sizeof stored) paid_ = Time(stored);
    change();
    stored = paid_.count();
    if (::pwrite(file_.get(), &stored, sizeof stored, 0) < 0) file_.reset();
    if (file_) ::flock(file_.get(), LOCK_UN);
  }

  const Time interval_;
  UniqueFd file_;
  Time paid_{0};  // when all that was taken will have been paid off
};

constexpr unsigned kLongestRequest = 60;  // seconds; the responder has given up long before

constexpr const char* kUsage =
    "Usage: rest_fcgi_pam [--confdir DIR] [--peer USER] [--rate N]\n"
    "Answers requests of rest_fcgi about system users on standard input and output.\n\n"
    "  --confdir DIR  where the files of PAM services are, instead of /etc/pam.d\n"
    "  --peer USER    answer only this user and root at the other end of the socket\n"
    "  --rate N       how many passwords a second may be wrong, 10 unless told, and five times as many at "
    "once;\n"
    "                 counted together by all that have the same $RUNTIME_DIRECTORY\n";

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

/// No core dump and no debugger: passwords pass through here.
void harden() {
  constexpr rlimit kNone{0, 0};
  ::setrlimit(RLIMIT_CORE, &kNone);
  ::prctl(PR_SET_DUMPABLE, 0);
  ::umask(077);
}

/// A descriptor of our own for the stream, which modules cannot print to and programs of theirs do not get.
int take(int fd) {
  return ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

/// Modules may read and print as they like: they find nothing, and go to the log.
bool give_away_standard_streams() {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  return nothing >= 0 && ::dup2(nothing, STDIN_FILENO) == STDIN_FILENO &&
         ::dup2(STDERR_FILENO, STDOUT_FILENO) == STDOUT_FILENO;
}

Answer answer(const Request& request, const std::string& confdir, FailureRate& rate) {
  if (!auth::pam::is_service(request.service)) return {Outcome::failed, "the service is no name of one", {}};
  if (request.ask == auth::pam::Ask::verify) {
    if (!rate.enter()) return {Outcome::busy, "too many passwords were wrong in the last seconds", {}};
    Answer verified = verify(request, confdir);
    if (verified.outcome == Outcome::good) rate.forgive();
    return verified;
  }
  std::string cause = why_not(request.service, confdir);
  return {cause.empty() ? Outcome::good : Outcome::refused, std::move(cause), {}};
}

/// The body of the next frame, waited for; absent at the end of the stream, and for what is no frame.
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
    if (!request) return complain("a request is none of this version");
    // A module that never comes back takes this process with it, not the responder's patience.
    ::alarm(kLongestRequest);
    WipedBytes frame = to_frame(answer(*request, arguments.confdir, rate));
    ::alarm(0);
    if (frame.empty()) frame = to_frame(Answer{Outcome::failed, "too many groups", {}});
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
    return complain("refused: standard input is no socket with the user " + arguments->peer +
                    " or root at its other end");
  }
  const int in = take(STDIN_FILENO);
  const int out = take(STDOUT_FILENO);
  if (in < 0 || out < 0 || !give_away_standard_streams()) return complain("there is no input or output");
  return serve(in, out, *arguments);
}

}  // namespace
}  // namespace rest_fcgi::helper

int main(int argc, char** argv) try {
  return rest_fcgi::helper::run(argc, argv);
} catch (const std::exception& error) {
  return rest_fcgi::helper::complain(error.what());
}
