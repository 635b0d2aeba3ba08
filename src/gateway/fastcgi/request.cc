// SPDX-License-Identifier: MIT
#include "gateway/fastcgi/request.h"

#include <fastcgi.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "gateway/reply.h"
#include "gateway/sys.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::gateway {
namespace {

int init_keeping_handlers() {
  constexpr std::array kReplaced = {SIGPIPE, SIGUSR1, SIGTERM};
  std::array<struct sigaction, kReplaced.size()> ours = {};
  for (std::size_t i = 0; i < kReplaced.size(); ++i) ::sigaction(kReplaced[i], nullptr, &ours[i]);
  const int error = FCGX_Init();
  for (std::size_t i = 0; i < kReplaced.size(); ++i) ::sigaction(kReplaced[i], &ours[i], nullptr);
  return error;
}

/// Does `Incoming` refuse what libfcgi would not even read?
Result<void> check_reads() {
  std::array<int, 2> ends = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error{ErrorKind::internal, format("socketpair: {}", errno_text()), {}};
  }
  Request probe{UniqueFd(ends[0]), {}};
  const UniqueFd peer(ends[1]);
  constexpr std::array<char, 8> kNoHeader = {};
  static_cast<void>(::send(peer.get(), kNoHeader.data(), kNoHeader.size(), MSG_NOSIGNAL));
  probe.receive();
  if (!probe.problem().empty()) return {};
  return Error{
      ErrorKind::internal,
      "libfcgi does not read through this program's OS_Read, which guards it: a libfcgi that was linked "
      "without -Bsymbolic and -Bsymbolic-functions is needed",
      {}};
}

/// What a thread keeps for its next request.
constexpr std::size_t kKeptCapacity = 64u << 10;

constexpr std::size_t kUsualHead = 256;

/// The part of the stream that libfcgi has in its buffer, after it read from the connection where that was
/// empty. Empty at the end of the stream. libfcgi forgets the part, and the caller wipes it.
std::pair<unsigned char*, std::size_t> next_chunk(FCGX_Stream& stream) {
  // FCGX_GetStr would copy without telling where from; this is the only other call that fills the buffer.
  if (FCGX_GetChar(&stream) == EOF) return {nullptr, 0};
  unsigned char* begin = stream.rdNext - 1;
  stream.rdNext = stream.stop;
  return {begin, static_cast<std::size_t>(stream.stop - begin)};
}

}  // namespace

Result<void> init_libfcgi() {
  static const int error = init_keeping_handlers();
  if (error != 0) return Error{ErrorKind::internal, format("libfcgi does not start: error {}", error), {}};
  return check_reads();
}

Request::Request(UniqueFd connection, Patience patience)
    : connection_(std::move(connection)),
      send_timeout_(patience.send),
      incoming_(connection_.get(), patience.receive) {}

Request::~Request() {
  release_input();
}

void Request::release_input() noexcept {
  if (libfcgi_.in != nullptr) incoming_.wipe_buffer();
  FCGX_Free(&libfcgi_, 0);
}

bool Request::receive() {
  release_input();
  // No listening socket: where libfcgi gives a connection up and wants to accept another one, it fails.
  FCGX_InitRequest(&libfcgi_, -1, 0);
  libfcgi_.ipcFd = connection_.get();
  libfcgi_.keepConnection = 1;  // else FCGX_Accept_r closes the connection first
  libfcgi_.detached = 1;        // where libfcgi closes it, it does not wait for the peer
  incoming_.begin_request();
  if (FCGX_Accept_r(&libfcgi_) != 0) {
    connection_.release();  // closed by libfcgi
    return false;
  }
  keeps_connection_ = libfcgi_.keepConnection != 0;
  // libfcgi takes a connection that breaks between two variables for their end.
  return FCGX_GetError(libfcgi_.in) == 0 && libfcgi_.role == FCGI_RESPONDER;
}

void Request::take_variables(http::Environ& environ) {
  for (char** variable = libfcgi_.envp; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    // A name with a NUL byte inside has no equals sign either.
    if (equals != 0 && equals != std::string_view::npos) environ.set(text, equals);
    wipe(*variable, text.size());
  }
}

int Request::reply(std::string_view head, std::string_view body, bool last) {
  // libfcgi would copy them through 8 KiB at a time, which it holds for as long as a request lasts.
  const std::array<http::Feed::Part, 2> parts = {{{nullptr, head}, {nullptr, body}}};
  const Framing framing(Framing::Form::records, libfcgi_.requestId);
  framing.gather(parts, records_);
  if (last) records_.add_glue(framing.end({}));
  Channel channel(connection_.get(), nullptr);
  for (;;) {
    const Progress sent = records_.send(channel);
    if (sent.outcome == Progress::Outcome::moved) return 0;
    if (sent.outcome == Progress::Outcome::ended) return errno;
    pollfd room = {connection_.get(), POLLOUT, 0};
    if (::poll(&room, 1, poll_timeout(send_timeout_)) == 0) return EAGAIN;
  }
}

void Body::refuse(ErrorKind kind, std::string message) {
  error_ = Error{kind, std::move(message), {}};
  bytes_ = WipedBytes();
  release();
}

/// Counts bytes in the budget. Returns false if they do not fit.
bool Body::count(std::size_t bytes) {
  if (budget_ == nullptr) return true;
  counted_ += bytes;
  return budget_->add(bytes);
}

void Body::release() noexcept {
  if (budget_ != nullptr) budget_->remove(std::exchange(counted_, 0));
}

void Body::accept_length(std::string_view content_length) {
  if (content_length.empty()) return;
  if (!only_digits(content_length)) {
    constexpr std::size_t kShown = 40;
    return refuse(ErrorKind::malformed,
                  format("CONTENT_LENGTH is '{}', and has to be a number of bytes in decimal digits",
                         content_length.substr(0, kShown)));
  }
  const auto length = parse_number<std::size_t>(content_length);
  if (!length || *length > limits_.max_size) {
    return refuse(ErrorKind::too_large,
                  format("Request body is larger than max_request_body_size ({} bytes)", limits_.max_size));
  }
  declared_ = length;
  bytes_.reserve(*length);
}

void Body::take(std::string_view chunk) {
  received_ += chunk.size();
  if (!error_ && received_ > limits_.max_size) {
    refuse(ErrorKind::too_large,
           format("Request body is larger than max_request_body_size ({} bytes)", limits_.max_size));
  }
  if (!error_ && !count(chunk.size())) {
    refuse(ErrorKind::unavailable,
           "The bodies of all requests together are larger than may be in memory (max_body_bytes)");
  }
  if (error_) {
    discarded_ += chunk.size();
  } else if (!declared_ || received_ <= *declared_) {
    append(bytes_, chunk);
  }
}

void Body::check_length() {
  if (error_ || !declared_ || received_ == *declared_) return;
  refuse(ErrorKind::malformed,
         format("Request body has {} bytes, and CONTENT_LENGTH says {}", received_, *declared_));
}

bool Body::tired_of_discarding(SteadyTime deadline) const {
  if (!error_) return false;
  return discarded_ > limits_.max_discarded || system_clock().steady() > deadline;
}

Body::End Body::read(FCGX_Stream& stream, std::string_view content_length) {
  wipe();
  accept_length(content_length);
  const SteadyTime deadline = system_clock().steady() + limits_.discard_time;
  for (auto [begin, size] = next_chunk(stream); size != 0; std::tie(begin, size) = next_chunk(stream)) {
    take({reinterpret_cast<const char*>(begin), size});
    rest_fcgi::wipe(begin, size);
    if (tired_of_discarding(deadline)) return End::abandoned;
  }
  if (FCGX_GetError(&stream) != 0) return End::broken;
  check_length();
  return End::complete;
}

Result<std::string_view> Body::content() const {
  if (error_) return *error_;
  return std::string_view(bytes_.data(), bytes_.size());
}

void Body::wipe() noexcept {
  release();
  if (bytes_.capacity() > kKeptCapacity) bytes_ = WipedBytes();
  rest_fcgi::wipe(bytes_.data(), bytes_.size());
  bytes_.clear();
  declared_.reset();
  received_ = 0;
  discarded_ = 0;
  error_.reset();
}

void write_head(const http::Response& response, std::string& head) {
  head.reserve(kUsualHead);
  head.assign("Status: ").append(std::to_string(static_cast<int>(response.status)));
  head.append(" ").append(http::reason(response.status)).append("\r\n");
  append_headers(response, head);
  head.append("\r\n");
}

}  // namespace rest_fcgi::gateway
