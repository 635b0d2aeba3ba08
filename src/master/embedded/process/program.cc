// SPDX-License-Identifier: MIT
#include "master/embedded/process/program.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "master/embedded/process/child.h"
#include "master/embedded/process/running_program.h"
#include "rest_fcgi/core/format.h"

#ifndef REST_FCGI_PREFIX  // the Makefile says where everything is installed
#define REST_FCGI_PREFIX "/usr/local"
#endif

namespace rest_fcgi::embedded {
namespace {

std::string errno_text(int error) {
  return format("[Errno {}] {}", error, std::system_category().message(error));
}

Error cannot_start(const Program& program, int error) {
  return {ErrorKind::internal,
          format("The program '{}' cannot be started: {}", program.argv[0], errno_text(error))};
}

Error explained(const Program& program, const ChildFailure& failure) {
  switch (failure.step) {
    case ChildStep::identity:
      return {
          ErrorKind::internal,
          format("The program '{}' cannot run as the user of id {}: {}; only a process of root's may change "
                 "its user.",
                 program.argv[0], program.identity->uid, errno_text(failure.error))};
    case ChildStep::folder:
      return {ErrorKind::internal, format("{}: '{}'", errno_text(failure.error), program.cwd)};
    case ChildStep::exec:
      return {failure.error == ENOENT ? ErrorKind::not_found : ErrorKind::internal,
              format("{}: '{}'", errno_text(failure.error), program.argv[0])};
    case ChildStep::descriptors:
      break;
  }
  return cannot_start(program, failure.error);
}

/// The system would take a text with a NUL byte for a shorter one.
Result<void> check_texts(const Program& program) {
  const auto holds_nul = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  if (std::any_of(program.argv.begin(), program.argv.end(), holds_nul) ||
      std::any_of(program.environment.begin(), program.environment.end(), holds_nul) ||
      holds_nul(program.cwd)) {
    return Error{ErrorKind::invocation, "embedded null byte"};
  }
  return {};
}

/// Where the program may lie: what Python tries, too.
std::vector<std::string> candidates_for(const Program& program) {
  const std::string& name = program.argv[0];
  if (name.find('/') != std::string::npos) return {name};
  std::string path = "/bin:/usr/bin";
  for (const std::string& variable : program.environment) {
    if (variable.starts_with("PATH=")) path = variable.substr(5);
  }
  std::vector<std::string> candidates;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string folder = path.substr(begin, end - begin);
    candidates.push_back(folder.empty() ? name : format("{}/{}", folder, name));
    begin = end + 1;
  }
  return candidates;
}

/// `texts` as exec takes them. Borrows.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// The same descriptor where none of the standard ones is, of which this process may have none.
UniqueFd beyond_standard(UniqueFd fd) {
  if (!fd.is_open() || fd.get() > STDERR_FILENO) return fd;
  return UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

struct Pipe {
  UniqueFd read = UniqueFd();
  UniqueFd write = UniqueFd();
  [[nodiscard]] bool is_open() const noexcept { return read.is_open() && write.is_open(); }
};

Pipe make_pipe() {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  return {beyond_standard(UniqueFd(ends[0])), beyond_standard(UniqueFd(ends[1]))};
}

/// All descriptors that a program and this process share.
struct Channels {
  Pipe input;
  Pipe output;
  Pipe errors;
  Pipe report;

  /// False where the system has none left, which errno tells.
  bool open(const Program& program) {
    if (program.input.empty() && !program.on_line) {
      input.read = beyond_standard(UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
    } else {
      input = make_pipe();
    }
    output = make_pipe();
    if (!program.merge_errors) errors = make_pipe();
    report = make_pipe();
    return input.read.is_open() && ((program.input.empty() && !program.on_line) || input.write.is_open()) &&
           output.is_open() && (program.merge_errors || errors.is_open()) && report.is_open();
  }

  void close_childs_ends() {
    for (UniqueFd* fd : {&input.read, &output.write, &errors.write, &report.write}) *fd = UniqueFd();
  }
};

/// Forks with all signals blocked: no handler of ours may run in the child.
pid_t fork_into(const ChildPlan& plan) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) become_program(plan);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

/// Absent: the program runs.
std::optional<ChildFailure> read_report(int report) {
  ChildFailure failure;
  ssize_t got = 0;
  do {
    got = ::read(report, &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof failure) return std::nullopt;
  return failure;
}

bool changes_identity(const std::optional<Identity>& identity) {
  return identity && (identity->uid != ::geteuid() || identity->gid != ::getegid());
}

/// The pid, once the program runs.
Result<pid_t> start(const Program& program, Channels& channels) {
  const std::vector<std::string> candidates = candidates_for(program);
  const std::vector<char*> paths = pointers_to(candidates);
  const std::vector<char*> argv = pointers_to(program.argv);
  const std::vector<char*> environment = pointers_to(program.environment);
  ChildPlan plan;
  plan.candidates = paths.data();
  plan.argv = argv.data();
  plan.environment = environment.data();
  plan.cwd = program.cwd.c_str();
  plan.umask = program.umask;
  if (changes_identity(program.identity)) {
    plan.change_identity = true;
    plan.uid = program.identity->uid;
    plan.gid = program.identity->gid;
    plan.groups = program.identity->groups;
  }
  plan.input = channels.input.read.get();
  plan.output = channels.output.write.get();
  plan.errors = program.merge_errors ? plan.output : channels.errors.write.get();
  plan.report = channels.report.write.get();
  const pid_t pid = fork_into(plan);
  if (pid < 0) return cannot_start(program, errno);
  channels.close_childs_ends();
  if (const auto failure = read_report(channels.report.read.get())) {
    ::waitpid(pid, nullptr, 0);
    return explained(program, *failure);
  }
  return pid;
}

}  // namespace

Identity identity_of(const Account& account) {
  Identity identity{account.uid, account.gid, {}};
  int count = 64;
  do {
    identity.groups.resize(static_cast<std::size_t>(count));
  } while (::getgrouplist(account.name.c_str(), account.gid, identity.groups.data(), &count) < 0 &&
           static_cast<std::size_t>(count) > identity.groups.size());
  identity.groups.resize(static_cast<std::size_t>(std::max(count, 0)));
  return identity;
}

std::string shipped(const std::string& name) {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = own.parent_path() / name;
  if (!error && std::filesystem::exists(beside, error)) return beside;
  return REST_FCGI_PREFIX "/lib/rest_fcgi/" + name;
}

Result<Ended> ProgramRunner::run(const Program& program, const std::stop_token& stop) const {
  if (Result<void> checked = check_texts(program); !checked) return std::move(checked).error();
  Channels channels;
  if (!channels.open(program)) return cannot_start(program, errno);
  auto wake = RunningProgram::make_wake();
  if (!wake.is_open()) return cannot_start(program, errno);
  const Result<pid_t> pid = start(program, channels);
  if (!pid) return pid.error();
  RunningProgram running(program, *pid,
                         {std::move(channels.input.write), std::move(channels.output.read),
                          std::move(channels.errors.read), std::move(wake)});
  return running.wait(stop);
}

}  // namespace rest_fcgi::embedded
