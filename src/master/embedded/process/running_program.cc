// SPDX-License-Identifier: MIT
#include "master/embedded/process/running_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

using std::chrono::steady_clock;

constexpr int kReadsInARow = 32;  // so that a program that never stops to write cannot keep us from the clock

/// glibc's own pidfd_open cannot be linked from C++ in all versions.
UniqueFd open_process(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

void never_block(const UniqueFd& fd) {
  if (fd.is_open()) ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

bool would_block() {
  return errno == EAGAIN || errno == EINTR;
}

}  // namespace

UniqueFd RunningProgram::make_wake() {
  return UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

RunningProgram::RunningProgram(const Program& program, pid_t pid, Ends ends)
    : program_(program), ends_(std::move(ends)), process_(open_process(pid)) {
  ended_.pid = pid;
  for (const UniqueFd* fd : {&ends_.input, &ends_.output, &ends_.errors}) never_block(*fd);
  if (program.time_limit) term_at_ = steady_clock::now() + *program.time_limit;
}

Result<Ended> RunningProgram::wait(const std::stop_token& stop) {
  if (!process_.is_open()) {
    const int error = errno;
    kill_group();
    reap();
    return Error{ErrorKind::internal, format("The program '{}' cannot be watched: {}", program_.argv[0],
                                             std::system_category().message(error))};
  }
  {
    // Signals at once: whoever requests a stop may end this process before this thread wakes up. It goes
    // before the process is reaped, while the number is still nobody else's.
    const std::stop_callback on_stop(stop, [this] {
      ::kill(-ended_.pid, SIGTERM);
      ::eventfd_write(ends_.wake.get(), 1);
    });
    while (!is_over()) {
      poll_once();
      look_at_time(stop.stop_requested());
    }
  }
  // It may have ended of the signal before this thread looked.
  if (ended_.how == Ended::How::exited && stop.stop_requested()) ended_.how = Ended::How::stopped;
  take_output();
  // While the process is a zombie its group's number is nobody else's.
  if (ended_.how != Ended::How::exited) kill_group();
  reap();
  return std::move(ended_);
}

bool RunningProgram::is_over() const noexcept {
  return is_gone_ && (is_killed_ || (!ends_.output.is_open() && !ends_.errors.is_open()));
}

int RunningProgram::milliseconds_to_wait() const {
  const std::optional<SteadyTime>& next = ended_.how == Ended::How::exited ? term_at_ : kill_at_;
  if (!next || is_killed_) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

void RunningProgram::poll_once() {
  // A stop that was seen needs no second look; closed descriptors are -1, which poll passes over.
  const int wake = ended_.how == Ended::How::exited ? ends_.wake.get() : -1;
  std::array<pollfd, 5> waited = {{{unfed().empty() ? -1 : ends_.input.get(), POLLOUT, 0},
                                   {ends_.output.get(), POLLIN, 0},
                                   {ends_.errors.get(), POLLIN, 0},
                                   {is_gone_ ? -1 : process_.get(), POLLIN, 0},
                                   {wake, POLLIN, 0}}};
  if (::poll(waited.data(), waited.size(), milliseconds_to_wait()) <= 0) return;
  if (waited[0].revents != 0) feed();
  if (waited[1].revents != 0 || waited[2].revents != 0) take_output();
  if (waited[3].revents != 0) is_gone_ = true;
}

std::string_view RunningProgram::unfed() const {
  const std::size_t size = program_.input.size();
  return fed_ < size ? std::string_view(program_.input).substr(fed_)
                     : std::string_view(answers_).substr(fed_ - size);
}

void RunningProgram::feed() {
  const std::string_view left = unfed();
  const ssize_t written = ::write(ends_.input.get(), left.data(), left.size());
  if (written >= 0) {
    fed_ += static_cast<std::size_t>(written);
  } else if (would_block()) {
    return;
  }
  // It has all, or wants no more.
  if (written < 0 || (unfed().empty() && !program_.on_line)) ends_.input = UniqueFd();
}

void RunningProgram::take(UniqueFd& fd, std::string& text, bool& cut) {
  std::array<char, 65536> bytes;
  for (int i = 0; i < kReadsInARow && fd.is_open(); ++i) {
    const ssize_t got = ::read(fd.get(), bytes.data(), bytes.size());
    if (got < 0 && would_block()) return;
    if (got <= 0) {
      fd = UniqueFd();
      return;
    }
    if (cut) continue;
    text.append(bytes.data(), static_cast<std::size_t>(got));
    if (program_.on_line && &fd == &ends_.output) take_lines();
    cut = text.size() > program_.output_limit;
    if (cut) text.resize(program_.output_limit);
  }
}

void RunningProgram::take_output() {
  take(ends_.output, ended_.output, ended_.output_cut);
  take(ends_.errors, ended_.errors, ended_.errors_cut);
}

void RunningProgram::take_lines() {
  std::string& text = ended_.output;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    answers_ += program_.on_line(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  text.erase(0, begin);
}

void RunningProgram::look_at_time(bool stop_requested) {
  if (is_over()) return;
  const SteadyTime now = steady_clock::now();
  if (ended_.how == Ended::How::exited) {
    if (stop_requested) {
      end(Ended::How::stopped);
    } else if (term_at_ && now >= *term_at_) {
      end(Ended::How::timed_out);
    }
  } else if (!is_killed_ && now >= *kill_at_) {
    kill_group();
  }
}

void RunningProgram::end(Ended::How how) {
  ended_.how = how;
  kill_at_ = steady_clock::now() + program_.grace;
  ends_.input = UniqueFd();
  ::kill(-ended_.pid, SIGTERM);
}

void RunningProgram::kill_group() {
  is_killed_ = true;
  ::kill(-ended_.pid, SIGKILL);
}

void RunningProgram::reap() {
  int status = 0;
  while (::waitpid(ended_.pid, &status, 0) < 0 && errno == EINTR) {
  }
  ended_.code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  if (ended_.how == Ended::How::exited && WIFSIGNALED(status)) ended_.how = Ended::How::killed;
}

}  // namespace rest_fcgi::embedded
