// SPDX-License-Identifier: MIT
#include "rest_fcgi/process/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/helper_process.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/unique_fd.h"
#include "rest_fcgi/core/waiting.h"

namespace rest_fcgi::process {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using wire::Reply;
using How = Ended::How;

constexpr int kReadsInARow = 32;  // `kReadsInARow` limits the reads from one pipe between two calls of
                                  // poll(2).
// `kStartPatience` is the longest wait until rest_fcgi_run reports the start of the program.
constexpr std::chrono::seconds kStartPatience{60};

Error cannot_start(const Program& program, std::string_view cause) {
  return {ErrorKind::internal, format("The program '{}' cannot be started: {}", program.argv[0], cause)};
}

struct Streams {
  UniqueFd input;
  UniqueFd output;
  UniqueFd errors;
  std::array<UniqueFd, 3> theirs;
  UniqueFd wake;  ///< An eventfd. A stop request writes to `wake`, so that poll(2) returns.
};

/// Makes a pipe whose end `ours`, either `read` or `write`, is non-blocking. Returns false and sets errno on
/// failure.
bool make_pipe(UniqueFd& read, UniqueFd& write, const UniqueFd& ours) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  read = UniqueFd(ends[0]);
  write = UniqueFd(ends[1]);
  ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  // The program may run as another user and may open /dev/stdout, so every user may open this pipe.
  return ::fchmod(ends[0], 0666) == 0;
}

bool open_streams(const Program& program, Streams& streams) {
  streams.wake = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!streams.wake.is_open()) return false;
  auto& [in, out, err] = streams.theirs;
  if (program.input.empty() && !program.on_line) {
    in = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  } else if (!make_pipe(in, streams.input, streams.input)) {
    return false;
  }
  if (!in.is_open() || !make_pipe(streams.output, out, streams.output)) return false;
  if (!program.merge_errors) return make_pipe(streams.errors, err, streams.errors);
  err = UniqueFd(::fcntl(out.get(), F_DUPFD_CLOEXEC, 0));
  return err.is_open();
}

bool would_block() {
  return errno == EAGAIN || errno == EINTR;
}

/// One run of a program. Used by one thread.
class RunningProgram {
 public:
  RunningProgram(const Program& program, Streams streams, HelperProcess helper, milliseconds patience)
      : program_(program), streams_(std::move(streams)), helper_(std::move(helper)), patience_(patience) {}
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;
  ~RunningProgram();

  Result<Ended> wait(const std::stop_token& stop, std::string order);

 private:
  void poll_once();
  void send_order();
  void feed();
  [[nodiscard]] std::string_view unfed() const;
  void take(UniqueFd& fd, std::string& text, bool& cut);
  void take_output();
  void take_lines();
  void take_replies();
  void end_leftovers();
  void look_at_time(bool stop_requested);
  [[nodiscard]] int milliseconds_to_wait() const;
  Result<Ended> result(bool stop_requested);
  [[nodiscard]] Error lost(std::string_view what) const;

  const Program& program_;
  Streams streams_;
  HelperProcess helper_;
  const milliseconds patience_;
  std::string order_;         // `order_` has the bytes of the StartOrder that are still to be sent.
  Reply reply_;               // `reply_` is the latest reply of rest_fcgi_run, which may be incomplete.
  std::size_t received_ = 0;  // `received_` is the number of received bytes of `reply_`.
  std::string answers_;       // `answers_` has the results of `on_line`, which follow the input.
  std::size_t fed_ = 0;       // `fed_` is the number of sent bytes of the input and of `answers_`.
  Ended ended_;
  bool is_last_ = false;  // Whether rest_fcgi_run has sent its last reply.
  std::optional<SteadyTime> give_up_at_;
  bool is_exited_ = false;  // Whether the program has ended while its child processes still run.
  bool is_stopping_ = false;
  // Whether rest_fcgi_run closed the socket or has another protocol version.
  bool is_closed_ = false;
  bool is_given_up_ = false;
};

/// After an exception, the program may still run. Waits for the end of rest_fcgi_run, because the destructor
/// of `helper_` kills rest_fcgi_run and could leave the program running.
RunningProgram::~RunningProgram() {
  if (is_last_ || is_closed_ || is_given_up_) return;
  ::shutdown(helper_.socket(), SHUT_WR);
  const SteadyTime deadline = steady_clock::now() + program_.grace + patience_;
  pollfd end{helper_.socket(), POLLRDHUP, 0};
  while ((end.revents & (POLLHUP | POLLERR | POLLRDHUP)) == 0 && steady_clock::now() < deadline)
    ::poll(&end, 1, 100);
}

Result<Ended> RunningProgram::wait(const std::stop_token& stop, std::string order) {
  order_ = std::move(order);
  give_up_at_ = steady_clock::now() + kStartPatience;
  {
    // The callback calls shutdown(2) itself, because this process may end before `poll_once` returns.
    const std::stop_callback on_stop(stop, [this] {
      ::shutdown(helper_.socket(), SHUT_WR);
      ::eventfd_write(streams_.wake.get(), 1);
    });
    while (!is_last_ && !is_closed_ && !is_given_up_) {
      poll_once();
      look_at_time(stop.stop_requested());
    }
  }
  take_output();
  return result(stop.stop_requested());
}

void RunningProgram::poll_once() {
  const short socket_events = order_.empty() || is_stopping_ ? POLLIN : POLLIN | POLLOUT;
  std::array<pollfd, 5> waited = {{{helper_.socket(), socket_events, 0},
                                   {unfed().empty() ? -1 : streams_.input.get(), POLLOUT, 0},
                                   {streams_.output.get(), POLLIN, 0},
                                   {streams_.errors.get(), POLLIN, 0},
                                   {is_stopping_ ? -1 : streams_.wake.get(), POLLIN, 0}}};
  if (::poll(waited.data(), waited.size(), milliseconds_to_wait()) <= 0) return;
  if ((waited[0].revents & POLLOUT) != 0) send_order();
  if (waited[1].revents != 0) feed();
  if (waited[2].revents != 0 || waited[3].revents != 0) take_output();
  if ((waited[0].revents & ~POLLOUT) != 0) take_replies();
  if (is_exited_ && !streams_.output.is_open() && !streams_.errors.is_open()) end_leftovers();
}

/// The first byte carries the program's three standard descriptors, which this process then closes.
void RunningProgram::send_order() {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 3)> control{};
  iovec bytes{order_.data(), order_.size()};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (streams_.theirs[0].is_open()) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * 3);
    const std::array<int, 3> fds = {streams_.theirs[0].get(), streams_.theirs[1].get(),
                                    streams_.theirs[2].get()};
    std::memcpy(CMSG_DATA(header), fds.data(), sizeof fds);
  }
  const ssize_t sent = ::sendmsg(helper_.socket(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && would_block()) return;
  for (UniqueFd& fd : streams_.theirs) fd.reset();
  order_.erase(0, sent < 0 ? order_.size() : static_cast<std::size_t>(sent));
}

std::string_view RunningProgram::unfed() const {
  const std::size_t size = program_.input.size();
  return fed_ < size ? std::string_view(program_.input).substr(fed_)
                     : std::string_view(answers_).substr(fed_ - size);
}

void RunningProgram::feed() {
  const std::string_view left = unfed();
  const ssize_t written = ::write(streams_.input.get(), left.data(), left.size());
  if (written >= 0) {
    fed_ += static_cast<std::size_t>(written);
  } else if (would_block()) {
    return;
  }
  // Closes the pipe if all input is sent, or if the program has closed its standard input.
  if (written < 0 || (unfed().empty() && !program_.on_line)) streams_.input.reset();
}

void RunningProgram::take(UniqueFd& fd, std::string& text, bool& cut) {
  std::array<char, 65536> bytes;
  for (int i = 0; i < kReadsInARow && fd.is_open(); ++i) {
    const ssize_t got = ::read(fd.get(), bytes.data(), bytes.size());
    if (got < 0 && would_block()) return;
    if (got <= 0) return fd.reset();
    if (cut) continue;
    text.append(bytes.data(), static_cast<std::size_t>(got));
    if (program_.on_line && &fd == &streams_.output) take_lines();
    cut = text.size() > program_.output_limit;
    if (cut) text.resize(program_.output_limit);
  }
}

void RunningProgram::take_output() {
  take(streams_.output, ended_.output, ended_.output_cut);
  take(streams_.errors, ended_.errors, ended_.errors_cut);
}

void RunningProgram::take_lines() {
  std::string& text = ended_.output;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    if (end - begin > program_.output_limit) break;
    answers_ += program_.on_line(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  text.erase(0, begin);
}

void RunningProgram::take_replies() {
  char* const to = reinterpret_cast<char*>(&reply_);
  const ssize_t got = ::recv(helper_.socket(), to + received_, sizeof reply_ - received_, MSG_DONTWAIT);
  if (got < 0 && would_block()) return;
  is_closed_ = got <= 0;
  received_ += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  if (received_ < sizeof reply_) return;
  received_ = 0;
  is_closed_ = reply_.version != wire::kVersion;
  if (is_closed_) return;
  reply_.text.back() = '\0';
  if (reply_.kind == Reply::Kind::started) {
    ended_.pid = reply_.number;
    give_up_at_.reset();
    if (program_.time_limit) {
      give_up_at_ = steady_clock::now() + *program_.time_limit + program_.grace + patience_;
    }
  } else if (reply_.kind == Reply::Kind::exited) {
    is_exited_ = true;
  } else {
    is_last_ = true;
  }
}

void RunningProgram::end_leftovers() {
  is_exited_ = false;
  ::shutdown(helper_.socket(), SHUT_WR);
  give_up_at_ = steady_clock::now() + patience_;
}

void RunningProgram::look_at_time(bool stop_requested) {
  const SteadyTime now = steady_clock::now();
  if (stop_requested && !is_stopping_) {
    is_stopping_ = true;
    streams_.input.reset();
    give_up_at_ = now + program_.grace + patience_;
  }
  is_given_up_ = give_up_at_ && now >= *give_up_at_;
}

int RunningProgram::milliseconds_to_wait() const {
  if (!give_up_at_) return -1;
  const auto left = std::chrono::ceil<milliseconds>(*give_up_at_ - steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

Result<Ended> RunningProgram::result(bool stop_requested) {
  if (is_last_ && reply_.kind == Reply::Kind::missing) return Error{ErrorKind::not_found, reply_.text.data()};
  if (is_last_ && reply_.kind == Reply::Kind::failed) return Error{ErrorKind::internal, reply_.text.data()};
  if (!is_last_ && is_given_up_) return lost("no longer answers");
  if (!is_last_ && !stop_requested)
    return lost(
        "ended before the program; it may refuse this user, or its socket may have reached MaxConnections");
  ended_.code = is_last_ ? reply_.number : -SIGKILL;
  const bool is_timed_out = is_last_ && reply_.kind == Reply::Kind::timed_out;
  if (is_timed_out) {
    ended_.how = How::timed_out;
  } else if (stop_requested || reply_.kind == Reply::Kind::stopped) {
    ended_.how = How::stopped;
  } else if (ended_.code < 0) {
    ended_.how = How::killed;
  }
  if (!is_last_ || reply_.text[0] == '\0') return std::move(ended_);
  const std::string left =
      format("The program '{}' left processes that cannot be ended, because they run as another user: {}",
             program_.argv[0], reply_.text.data());
  if (is_timed_out || ended_.how == How::stopped) return Error{ErrorKind::internal, left};
  log::warning(left);
  return std::move(ended_);
}

Error RunningProgram::lost(std::string_view what) const {
  return {ErrorKind::unavailable,
          format("The program '{}' is lost: rest_fcgi_run {}.", program_.argv[0], what)};
}

}  // namespace

Result<Ended> ProgramRunner::run(const Program& program, const std::stop_token& stop) const {
  // execve(2) would read a text only up to a NUL byte.
  const auto holds_nul = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  if (std::any_of(program.argv.begin(), program.argv.end(), holds_nul) ||
      std::any_of(program.environment.begin(), program.environment.end(), holds_nul) ||
      holds_nul(program.cwd)) {
    return Error{ErrorKind::invocation, "embedded null byte"};
  }
  if (stop.stop_requested()) return Ended{.how = How::stopped, .code = -SIGTERM};
  std::string order = wire::to_bytes(program);
  if (order.empty()) {
    return Error{ErrorKind::internal, format("[Errno 7] Argument list too long: '{}'", program.argv[0])};
  }
  const Waiting waiting;
  Streams streams;
  if (!open_streams(program, streams)) return cannot_start(program, errno_text());
  Result<HelperProcess> helper = HelperProcess::start(helper_, patience_);
  if (!helper) return Error{helper.error().kind, cannot_start(program, helper.error().message).message};
  return RunningProgram(program, std::move(streams), *std::move(helper), patience_)
      .wait(stop, std::move(order));
}

}  // namespace rest_fcgi::process
