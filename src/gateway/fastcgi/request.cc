// SPDX-License-Identifier: MIT
#include "gateway/fastcgi/request.h"

#include <fastcgi.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>
#include <variant>

#include "gateway/reply.h"
#include "gateway/sys.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/waiting.h"

namespace rest_fcgi::gateway {
namespace {

constexpr std::size_t kPart = 2048;

/// A request of more bytes is read in a `Waiting`, as one of which a part is missing.
constexpr std::size_t kQuickRequest = 16384;

/// A larger reply may fill the socket's buffer, so it is sent in a `Waiting`.
constexpr std::size_t kQuickReply = 65536;

/// The largest number of bytes that are reserved for a body before the body arrives.
constexpr std::size_t kEarlyRoom = std::size_t{1} << 20;

/// Returns whether a whole request has arrived. Web servers send the end of FCGI_STDIN last. It is a record
/// without content (FastCGI specification, 3.3).
bool has_arrived(int socket) noexcept {
  std::array<char, kQuickRequest> bytes;
  const ssize_t size = ::recv(socket, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (size < FCGI_HEADER_LEN) return false;
  const char* const record = bytes.data() + size - FCGI_HEADER_LEN;
  return record[0] == FCGI_VERSION_1 && record[1] == FCGI_STDIN && record[4] == 0 && record[5] == 0;
}

int init_keeping_handlers() {
  constexpr std::array kReplaced = {SIGPIPE, SIGUSR1, SIGTERM};
  std::array<struct sigaction, kReplaced.size()> ours = {};
  for (std::size_t i = 0; i < kReplaced.size(); ++i) ::sigaction(kReplaced[i], nullptr, &ours[i]);
  const int error = FCGX_Init();
  for (std::size_t i = 0; i < kReplaced.size(); ++i) ::sigaction(kReplaced[i], &ours[i], nullptr);
  return error;
}

}  // namespace

Result<void> init_libfcgi() {
  static const int error = init_keeping_handlers();
  if (error != 0) return Error{ErrorKind::internal, format("cannot initialize libfcgi: error {}", error), {}};
  return {};
}

FastCgiRequest::~FastCgiRequest() {
  forget_body();
  FCGX_Free(&libfcgi_, 0);
}

bool FastCgiRequest::receive(http::Environ& environ) {
  has_arrived_ = has_arrived(connection_.get());
  std::optional<Waiting> waiting;
  if (!has_arrived_) waiting.emplace();
  // The socket -1 makes FCGX_Accept_r fail instead of accepting another connection.
  FCGX_InitRequest(&libfcgi_, -1, 0);
  libfcgi_.ipcFd = connection_.get();
  libfcgi_.keepConnection = 1;  // `keepConnection` makes FCGX_Accept_r leave the connection open.
  libfcgi_.detached = 1;        // `detached` makes libfcgi close the connection without a wait for the peer.
  if (FCGX_Accept_r(&libfcgi_) != 0) {
    connection_.release();  // libfcgi has already closed the descriptor.
    return false;
  }
  // Refuses a request whose variables are incomplete. If the data ends between two variables, FCGX_Accept_r
  // succeeds, and only FCGX_GetError reports the mistake.
  if (FCGX_GetError(libfcgi_.in) != 0 || libfcgi_.role != FCGI_RESPONDER) return false;
  is_kept_ = std::exchange(libfcgi_.keepConnection, 1) != 0;
  id_ = libfcgi_.requestId;
  for (char** variable = libfcgi_.envp; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    if (equals != 0 && equals != std::string_view::npos) environ.set(text, equals);
  }
  return true;
}

void FastCgiRequest::refuse_body(ErrorKind kind, std::string why) {
  forget_body();
  body_error_ = Error{kind, std::move(why), {}};
}

void FastCgiRequest::refuse_large_body(const BodyLimits& limits) {
  refuse_body(ErrorKind::too_large,
              format("Request body is larger than {} ({} bytes)", limits.key, limits.max_size));
}

void FastCgiRequest::forget_body() noexcept {
  std::string().swap(body_);  // An assignment would keep the memory.
  if (budget_ != nullptr) budget_->remove(std::exchange(counted_, 0));
}

void FastCgiRequest::take_length(std::string_view content_length, const BodyLimits& limits) {
  if (content_length.empty()) return;
  if (!only_digits(content_length)) {
    constexpr std::size_t kShown = 40;
    return refuse_body(ErrorKind::malformed,
                       format("CONTENT_LENGTH: found '{}', expected a number of bytes in decimal digits",
                              content_length.substr(0, kShown)));
  }
  declared_ = parse_number<std::size_t>(content_length);
  if (!declared_ || *declared_ > limits.max_size) return refuse_large_body(limits);
  body_.reserve(std::min(*declared_, kEarlyRoom));
}

void FastCgiRequest::take(std::string_view bytes, const BodyLimits& limits) {
  received_ += bytes.size();
  if (body_error_) return;
  if (received_ > limits.max_size) return refuse_large_body(limits);
  counted_ += bytes.size();
  if (!budget_->add(bytes.size(), counted_)) {
    return refuse_body(
        ErrorKind::unavailable,
        "The bodies of all current requests together are larger than max_body_bytes; try again later");
  }
  body_ += bytes;
}

std::optional<Result<std::string_view>> FastCgiRequest::read_body(std::string_view content_length,
                                                                  const BodyLimits& limits,
                                                                  BodyBudget& budget) {
  std::optional<Waiting> waiting;
  if (!has_arrived_) waiting.emplace();
  budget_ = &budget;
  take_length(content_length, limits);
  const SteadyTime deadline = system_clock().steady() + limits.discard_time;
  std::array<char, kPart> part;
  for (int size = static_cast<int>(part.size()); size == static_cast<int>(part.size());) {
    size = FCGX_GetStr(part.data(), static_cast<int>(part.size()), libfcgi_.in);
    take({part.data(), static_cast<std::size_t>(size)}, limits);
    const bool is_tired = received_ > limits.max_discarded || system_clock().steady() > deadline;
    if (body_error_ && is_tired) {
      is_kept_ = false;
      break;
    }
  }
  const bool is_broken = FCGX_GetError(libfcgi_.in) != 0;
  FCGX_FreeStream(&libfcgi_.in);
  if (is_broken) return std::nullopt;
  if (!body_error_ && declared_ && received_ != *declared_) {
    refuse_body(ErrorKind::malformed, format("Request body: found {} bytes, expected {} as in CONTENT_LENGTH",
                                             received_, *declared_));
  }
  if (body_error_) return Result<std::string_view>(*body_error_);
  return Result<std::string_view>(body_);
}

bool FastCgiRequest::put(std::string_view text) noexcept {
  constexpr std::size_t kMost = 1u << 30;
  for (; !text.empty(); text.remove_prefix(std::min(text.size(), kMost))) {
    if (FCGX_PutStr(text.data(), static_cast<int>(std::min(text.size(), kMost)), libfcgi_.out) < 0)
      return false;
  }
  return true;
}

/// Returns false if the reply is incomplete.
bool FastCgiRequest::put_stream(http::Stream& stream) {
  for (;;) {
    const auto part = stream.next();
    if (!part) log::error(format("a reply was sent only in part: {}", part.error().message));
    if (!part || !put(*part)) return false;
    if (part->empty()) return true;
  }
}

FastCgiRequest::End FastCgiRequest::reply(http::Response response, bool is_head) {
  bool is_sent = put(cgi_head(response));
  if (!is_head && http::may_have_body(response.status)) {
    if (std::holds_alternative<std::unique_ptr<http::Feed>>(response.body)) {
      if (is_sent && FCGX_FFlush(libfcgi_.out) == 0) return End::feed;
    } else if (auto* stream = std::get_if<std::unique_ptr<http::Stream>>(&response.body)) {
      const Waiting waiting;
      const bool is_whole = is_sent && put_stream(**stream);
      if (!is_whole && FCGX_GetError(libfcgi_.out) == 0) return End::closed;
    } else {
      std::optional<Waiting> waiting;
      if (response.text().size() > kQuickReply) waiting.emplace();
      is_sent = is_sent && put(response.text());
    }
  }
  return finish();
}

FastCgiRequest::End FastCgiRequest::finish() {
  // Closes the output streams here, because FCGX_Finish_r loses their errors.
  FCGX_FClose(libfcgi_.err);
  FCGX_FClose(libfcgi_.out);
  const int error = FCGX_GetError(libfcgi_.out);
  FCGX_Finish_r(&libfcgi_);
  if (error == 0) return is_kept_ ? End::kept : End::closed;
  log::info(format("the web server did not read a reply: {}",
                   error == EAGAIN ? "send_timeout has passed" : errno_text(error)));
  return End::closed;
}

std::string cgi_head(const http::Response& response) {
  std::string head = "Status: ";
  head.append(std::to_string(static_cast<int>(response.status))).append(" ");
  head.append(http::reason(response.status)).append("\r\n");
  append_headers(response, head);
  return head.append("\r\n");
}

}  // namespace rest_fcgi::gateway
