// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <linux/close_range.h>

#include "helper/stream.h"
#include "rest_fcgi/core/unique_fd.h"
#include "rest_fcgi/process/run_wire.h"

// rest_fcgi_run starts one program for the server rest_fcgi, and ends when all processes of the program have
// ended. Its standard input is a socket to the server. The server or a systemd socket unit starts
// rest_fcgi_run.

namespace rest_fcgi::helper {
namespace {

namespace wire = process::wire;
using process::Identity;
using process::StartOrder;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using wire::make_reply;
using wire::Reply;
using Streams = std::array<UniqueFd, 3>;
using Time = steady_clock::time_point;

constexpr milliseconds kKillPatience{5000};  // The longest wait for the end of killed processes.
constexpr milliseconds kKillRound{10};

std::string errno_text(int error) {
  return "[Errno " + std::to_string(error) + "] " + ::strerror(error);
}

std::string quoted_excerpt(const std::string& text) {
  return "'" + text + "'";
}

/// The child process writes a StartFailure to a pipe if it cannot start the program.
struct StartFailure {
  enum class Step : int { preparation, identity, folder, program };
  Step step = Step::preparation;
  int error = 0;
};

Reply explained(const StartOrder& order, const StartFailure& failure) {
  const std::string cause = errno_text(failure.error);
  const std::string program = "The program " + quoted_excerpt(order.argv[0]) + " cannot ";
  switch (failure.step) {
    case StartFailure::Step::identity:
      return make_reply(Reply::Kind::failed, 0,
                        program + "run as the user of id " + std::to_string(order.identity->uid) + ": " +
                            cause + "; only a process of root may change its user.");
    case StartFailure::Step::folder:
      return make_reply(Reply::Kind::failed, 0, cause + ": " + quoted_excerpt(order.cwd));
    case StartFailure::Step::program:
      return make_reply(failure.error == ENOENT ? Reply::Kind::missing : Reply::Kind::failed, 0,
                        cause + ": " + quoted_excerpt(order.argv[0]));
    case StartFailure::Step::preparation:
      break;
  }
  return make_reply(Reply::Kind::failed, 0, program + "be started: " + cause);
}

void say(int socket, const Reply& reply) {
  write_all(socket, reinterpret_cast<const char*>(&reply), sizeof reply);
}

std::string_view name_in(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

std::string value_of(std::string_view name, const std::vector<std::string>& environment) {
  for (const std::string& variable : environment) {
    if (name_in(variable) == name) return variable.substr(std::min(name.size() + 1, variable.size()));
  }
  return {};
}

std::vector<std::string> environment_for(const StartOrder& order) {
  std::vector<std::string> environment = order.environment;
  for (char** own = environ; order.inherit && *own != nullptr; ++own) {
    const bool is_named =
        std::any_of(order.environment.begin(), order.environment.end(),
                    [own](const std::string& variable) { return name_in(variable) == name_in(*own); });
    if (!is_named) environment.emplace_back(*own);
  }
  return environment;
}

/// Python's subprocess module looks for a program at the same paths.
std::vector<std::string> candidates_for(const std::string& name,
                                        const std::vector<std::string>& environment) {
  if (name.find('/') != std::string::npos) return {name};
  const bool has_path = std::any_of(environment.begin(), environment.end(),
                                    [](const std::string& variable) { return name_in(variable) == "PATH"; });
  const std::string path = has_path ? value_of("PATH", environment) : "/bin:/usr/bin";
  std::vector<std::string> candidates;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    std::string candidate = path.substr(begin, end - begin);
    if (!candidate.empty()) candidate += '/';
    candidates.push_back(candidate.append(name));
    begin = end + 1;
  }
  return candidates;
}

/// The array ends with a null pointer, as execve(2) expects, and borrows the texts.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// The work of the child process between fork(2) and execve(2).
class Beginning {
 public:
  Beginning(const StartOrder& order, int report) : order_(order), report_(report) {}

  /// Replaces the child process by the program. The program leads a new session without a terminal, has
  /// default signal handlers, and has only the three standard descriptors. The kernel kills the program when
  /// its parent, the process `helper`, ends.
  [[noreturn]] void become_program(const Streams& streams, pid_t helper) const {
    for (int signal = 1; signal < NSIG; ++signal)
      ::signal(signal, SIG_DFL);  // SIGKILL and SIGSTOP have no handlers, so `signal` fails for them.
    ::setsid();                   // A new process leads no process group, so `setsid` cannot fail.
    for (int fd = 0; fd < 3; ++fd) {
      if (::dup2(streams[static_cast<std::size_t>(fd)].get(), fd) < 0)
        give_up(StartFailure::Step::preparation);
    }
    if (order_.identity) take_on(*order_.identity);
    // A change of the user resets PR_SET_PDEATHSIG, so prctl(2) is called after the change.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != helper) ::_exit(127);
    ::umask(order_.umask);
    const std::vector<std::string> environment = environment_for(order_);
    enter_folder(environment);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    execute(environment);
  }

 private:
  [[noreturn]] void give_up(StartFailure::Step step, int error = errno) const {
    const StartFailure failure{step, error};
    // One write(2) writes the whole message or nothing, because the message is shorter than PIPE_BUF.
    [[maybe_unused]] const ssize_t written = ::write(report_, &failure, sizeof failure);
    ::_exit(127);
  }

  void take_on(const Identity& identity) const {
    if (identity.uid == ::geteuid() && identity.gid == ::getegid()) return;
    const bool taken = ::setgroups(identity.groups.size(), identity.groups.data()) == 0 &&
                       ::setresgid(identity.gid, identity.gid, identity.gid) == 0 &&
                       ::setresuid(identity.uid, identity.uid, identity.uid) == 0;
    if (!taken) give_up(StartFailure::Step::identity);
  }

  void enter_folder(const std::vector<std::string>& environment) const {
    if (order_.cwd.empty()) {
      const std::string home = value_of("HOME", environment);
      if (!home.starts_with('/') || ::chdir(home.c_str()) != 0) {
        if (::chdir("/") != 0) give_up(StartFailure::Step::folder);
      }
    } else if (::chdir(order_.cwd.c_str()) != 0) {
      give_up(StartFailure::Step::folder);
    }
  }

  [[noreturn]] void execute(const std::vector<std::string>& environment) const {
    const std::vector<char*> arguments = pointers_to(order_.argv);
    const std::vector<char*> variables = pointers_to(environment);
    int error = ENOENT;
    for (const std::string& path : candidates_for(order_.argv[0], environment)) {
      ::execve(path.c_str(), arguments.data(), variables.data());
      // The program counts as missing only if no path exists.
      if (errno != ENOENT && errno != ENOTDIR) error = errno;
    }
    give_up(StartFailure::Step::program, error);
  }

  const StartOrder& order_;
  const int report_;
};

/// The program and all processes that the program starts. If one of these processes ends before its child
/// processes, rest_fcgi_run becomes the parent of the child processes. REQUIRES: rest_fcgi_run has one thread
/// and no other children.
class Job {
 public:
  Job(const StartOrder& order, int socket) : order_(order), socket_(socket) {}

  /// Starts the program and reports its state to rest_fcgi. Waits until all processes have ended or cannot be
  /// ended. Ends the program at its time limit, when rest_fcgi_run gets SIGTERM, and when rest_fcgi closes
  /// its end of the socket or shuts down the socket for writing.
  void run(Streams streams);

 private:
  bool start(Streams streams);
  [[nodiscard]] bool is_over() const {
    return is_childless_ || is_time_to_kill_ || (is_gone_ && (is_closed_ || how_ != Reply::Kind::ended));
  }
  [[nodiscard]] int milliseconds_to_wait() const;
  void wait_for_something();
  void look_at_time();
  void take_report();
  void take_signals();
  void reap();
  void end(Reply::Kind how);
  void end_all();
  [[nodiscard]] bool kill_children();
  [[nodiscard]] std::string remaining_processes() const;

  const StartOrder& order_;
  const int socket_;
  UniqueFd signals_;
  // A successful execve(2) closes this pipe, on which the child process reports a failure.
  UniqueFd report_;
  pid_t program_ = 0;
  std::optional<Time> term_at_;
  Time kill_at_{};
  std::optional<StartFailure> failure_;
  Reply::Kind how_ = Reply::Kind::ended;
  int code_ = 0;
  bool is_closed_ = false;
  bool is_gone_ = false;
  bool is_childless_ = false;  // Whether the program and all its child processes have ended.
  bool is_time_to_kill_ = false;
};

void Job::run(Streams streams) {
  if (!start(std::move(streams)))
    return say(socket_, explained(order_, {StartFailure::Step::preparation, errno}));
  while (!is_over()) {
    wait_for_something();
    look_at_time();
  }
  end_all();
  say(socket_, failure_ ? explained(order_, *failure_)
                        : make_reply(how_, code_, is_childless_ ? "" : remaining_processes()));
}

bool Job::start(Streams streams) {
  sigset_t taken;
  ::sigemptyset(&taken);
  ::sigaddset(&taken, SIGCHLD);
  ::sigaddset(&taken, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &taken, nullptr);
  signals_ = UniqueFd(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  std::array<int, 2> ends{};
  if (!signals_.is_open() || ::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 ||
      ::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return false;
  }
  report_ = UniqueFd(ends[0]);
  const UniqueFd childs_report(ends[1]);
  const pid_t self = ::getpid();
  if (order_.time_limit) term_at_ = steady_clock::now() + *order_.time_limit;
  program_ = ::fork();
  if (program_ == 0) Beginning(order_, childs_report.get()).become_program(streams, self);
  return program_ > 0;
}

int Job::milliseconds_to_wait() const {
  const std::optional<Time> next = how_ == Reply::Kind::ended ? term_at_ : std::optional(kill_at_);
  if (!next) return -1;
  const auto left = std::chrono::ceil<milliseconds>(*next - steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

void Job::wait_for_something() {
  std::array<pollfd, 3> waited = {
      {{is_closed_ ? -1 : socket_, POLLIN, 0}, {report_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}}};
  if (::poll(waited.data(), waited.size(), milliseconds_to_wait()) <= 0) return;
  // rest_fcgi sends nothing after the StartOrder, so an event means that rest_fcgi has closed or shut down
  // its end of the socket.
  if (waited[0].revents != 0) {
    is_closed_ = true;
    if (!is_gone_) end(Reply::Kind::stopped);
  }
  if (waited[1].revents != 0) take_report();
  if (waited[2].revents != 0) take_signals();
}

void Job::look_at_time() {
  const Time now = steady_clock::now();
  if (how_ == Reply::Kind::ended) {
    if (term_at_ && now >= *term_at_ && !is_childless_) end(Reply::Kind::timed_out);
  } else if (now >= kill_at_) {
    is_time_to_kill_ = true;
  }
}

void Job::take_report() {
  StartFailure failure;
  if (::read(report_.get(), &failure, sizeof failure) == sizeof failure) {
    failure_ = failure;
  } else {
    say(socket_, make_reply(Reply::Kind::started, program_));
  }
  report_.reset();
}

void Job::take_signals() {
  signalfd_siginfo signal{};
  while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
    if (signal.ssi_signo == SIGTERM && how_ == Reply::Kind::ended) end(Reply::Kind::stopped);
  }
  reap();
}

void Job::reap() {
  // While the program is a zombie, the kernel does not give the number of its process group to other
  // processes.
  if (how_ != Reply::Kind::ended && !is_gone_) {
    siginfo_t zombie{};
    ::waitid(P_PID, static_cast<id_t>(program_), &zombie, WEXITED | WNOHANG | WNOWAIT);
    if (zombie.si_pid == program_) ::kill(-program_, SIGKILL);
  }
  const bool was_gone = is_gone_;
  int status = 0;
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
    if (pid != program_) continue;
    is_gone_ = true;
    code_ = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }
  is_childless_ = pid < 0 && errno == ECHILD;
  if (!is_gone_ || was_gone) return;
  if (report_.is_open()) take_report();
  if (!is_childless_ && how_ == Reply::Kind::ended) say(socket_, make_reply(Reply::Kind::exited, code_));
}

void Job::end(Reply::Kind how) {
  how_ = how;
  kill_at_ = steady_clock::now() + order_.grace;
  if (!is_gone_ && ::kill(-program_, SIGTERM) != 0) ::kill(program_, SIGTERM);
}

/// The children of a killed process become children of rest_fcgi_run and are killed too.
void Job::end_all() {
  const Time deadline = steady_clock::now() + kKillPatience;
  while (!is_childless_ && steady_clock::now() < deadline && kill_children()) {
    pollfd waited{signals_.get(), POLLIN, 0};
    ::poll(&waited, 1, static_cast<int>(kKillRound.count()));
    take_signals();
  }
}

std::vector<pid_t> children() {
  std::ifstream list("/proc/thread-self/children");
  return {std::istream_iterator<pid_t>(list), std::istream_iterator<pid_t>()};
}

/// Returns false if there are child processes but none can be killed.
bool Job::kill_children() {
  const std::vector<pid_t> found = children();
  // The kernel's list of children may be incomplete for a moment.
  bool is_killed = found.empty();
  for (const pid_t child : found) {
    // The child may have started another process a moment ago, so its process group is killed too.
    const pid_t group = ::getpgid(child);
    if (group > 0 && group != ::getpgrp()) is_killed = ::kill(-group, SIGKILL) == 0 || is_killed;
    is_killed = ::kill(child, SIGKILL) == 0 || is_killed;
  }
  return is_killed;
}

std::string Job::remaining_processes() const {
  std::string text;
  for (const pid_t child : children()) {
    std::ifstream file("/proc/" + std::to_string(child) + "/comm");
    std::string name;
    std::getline(file, name);
    text += (text.empty() ? "process " : ", ") + std::to_string(child) + " (" + name + ")";
  }
  return text;
}

constexpr const char* kUsage =
    "Usage: rest_fcgi_run [--peer USER]\n"
    "Starts one program for rest_fcgi. rest_fcgi sends the request through a socket, which is standard "
    "input.\n\n"
    "  --peer USER    accept requests only if this user or root is at the other end of the socket\n";

int complain(const std::string& text, int status) {
  std::fputs(("rest_fcgi_run: " + text + "\n").c_str(), stderr);
  return status;
}

bool read_header(std::array<char, wire::kHeader>& header, Streams& streams) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 3)> control{};
  iovec bytes{header.data(), header.size()};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(STDIN_FILENO, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  const cmsghdr* const sent = CMSG_FIRSTHDR(&message);
  if (sent != nullptr && sent->cmsg_type == SCM_RIGHTS) {
    std::array<int, 3> fds{-1, -1, -1};
    std::memcpy(fds.data(), CMSG_DATA(sent), std::min(sizeof fds, sent->cmsg_len - CMSG_LEN(0)));
    for (std::size_t i = 0; i < fds.size(); ++i) streams[i] = UniqueFd(fds[i]);
  }
  return got == static_cast<ssize_t>(header.size());
}

std::optional<StartOrder> read_order(Streams& streams) {
  std::array<char, wire::kHeader> header{};
  if (!read_header(header, streams)) return std::nullopt;
  const auto size = wire::length_in({header.data(), header.size()});
  if (!size) return std::nullopt;
  std::string body(*size, '\0');
  if (!read_all(STDIN_FILENO, body.data(), body.size())) return std::nullopt;
  return wire::read_order(body);
}

int run(int argc, char** argv) {
  const bool has_peer = argc == 3 && std::string_view(argv[1]) == "--peer" && *argv[2] != '\0';
  if (argc != 1 && !has_peer) {
    std::fputs(kUsage, stderr);
    return EX_USAGE;
  }
  if (has_peer && !is_peer(argv[2])) {
    return complain("refused: standard input must be a socket with the user " + std::string(argv[2]) +
                        " or root at its other end",
                    EX_NOPERM);
  }
  // Closed standard descriptors are opened, so that no other file gets their numbers.
  for (int fd = 0; fd >= 0 && fd <= STDERR_FILENO;) fd = ::open("/dev/null", O_RDWR);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  ::signal(SIGPIPE, SIG_IGN);
  Streams streams;
  const auto order = read_order(streams);
  if (!order)
    return complain(
        "found a malformed request on standard input; rest_fcgi and rest_fcgi_run must have the same version",
        EX_PROTOCOL);
  if (!streams[2].is_open()) {
    say(STDIN_FILENO, make_reply(Reply::Kind::failed, 0,
                                 "The program " + quoted_excerpt(order->argv[0]) +
                                     " cannot be started: Too many open files"));
    return EXIT_FAILURE;
  }
  Job(*order, STDIN_FILENO).run(std::move(streams));
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace rest_fcgi::helper

int main(int argc, char** argv) try {
  return rest_fcgi::helper::run(argc, argv);
} catch (const std::exception& error) {
  return rest_fcgi::helper::complain(error.what(), EX_OSERR);
}
