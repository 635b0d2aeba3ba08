// SPDX-License-Identifier: MIT
#include "gateway/http/connection.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <utility>

#include <boost/beast/http/read.hpp>
#include <openssl/err.h>

#include "gateway/client_certificates.h"
#include "gateway/reply.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::gateway {
namespace {

using boost::system::error_code;
using Stage = Connections::Stage;

/// The time in which the server reads and ignores the rest of a refused request.
constexpr std::chrono::milliseconds kLingerTime{2000};

constexpr std::size_t kFirstRead = 4096;

/// The space for a body in the read buffer, in bytes.
constexpr std::size_t kBodyBuffer = 65536;

/// The size in bytes of the shortest chunked body, `0 CR LF CR LF`.
constexpr std::size_t kLeastChunked = 5;

constexpr std::chrono::hours kBetweenWarnings{1};

/// The first byte of a TLS handshake (RFC 8446, 5.1).
constexpr char kTlsHandshake = 0x16;

constexpr Refusal kLate = {http::Status::request_timeout, "The request did not arrive in time"};
constexpr Refusal kForeignName = {http::Status::forbidden, "Client certificate CN not allowed"};
constexpr Refusal kPlain = {
    http::Status::bad_request,
    "This port expects HTTPS, but the request is plain HTTP; use a URL that begins with https://"};
constexpr Refusal kEarlyFrames = {http::Status::bad_request,
                                  "A WebSocket client must not send data before the reply to its handshake"};

SteadyTime now() {
  return system_clock().steady();
}

/// Returns whether `error` means that the connection has ended, and not that a request is malformed.
bool is_end(const error_code& error) {
  return error.category() !=
             boost::beast::http::make_error_code(boost::beast::http::error::bad_method).category() ||
         error == boost::beast::http::error::end_of_stream ||
         error == boost::beast::http::error::partial_message;
}

bool may_be_empty(const boost::beast::flat_buffer& buffer) {
  return buffer.size() == 0 || *static_cast<const char*>(buffer.data().data()) == '0';
}

UpgradeRequest upgrade_request(const http::Environ& environ) {
  using boost::beast::http::field;
  UpgradeRequest request(boost::beast::http::verb::get, "/", 11);
  // Beast requires a Host header, but accepts any value. RequestParser has already checked the client's Host.
  request.set(field::host, "-");
  request.set(field::connection, "Upgrade");
  request.set(field::upgrade, "websocket");
  request.set(field::sec_websocket_version, "13");
  request.set(field::sec_websocket_key, std::string(environ.get("HTTP_SEC_WEBSOCKET_KEY")));
  return request;
}

}  // namespace

HttpConnection::HttpConnection(Shared& shared, std::shared_ptr<const HttpPort> port, Socket socket, Peer peer)
    : shared_(shared),
      port_(std::move(port)),
      peer_(std::move(peer)),
      transport_(std::move(socket), port_->tls.get()),
      entry_(shared_.http_connections, transport_.socket().native_handle(), port_->options.is_monitoring),
      writer_(transport_, entry_, port_->options.send_timeout),
      buffer_(port_->options.max_head_size + kBodyBuffer) {}

Task<> HttpConnection::run() {
  try {
    const bool is_open = transport_.tls() == nullptr || co_await shake_hands();
    if (is_open) co_await serve();
  } catch (const boost::system::system_error&) {
    // The peer closed the connection, or read the reply too slowly.
  } catch (...) {
    log_exception("a connection was dropped after an exception");
  }
}

Task<bool> HttpConnection::shake_hands() {
  entry_.wait(Stage::request, now() + port_->options.head_timeout);
  error_code error;
  ERR_clear_error();
  co_await transport_.async_handshake(use_task_with(error));
  if (error.category() == asio::error::get_ssl_category() &&
      ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_HTTP_REQUEST) {
    transport_.drop_tls();
    co_await refuse(kPlain);
    co_return false;
  }
  if (error) {
    log_refused_certificate(error);
    co_return false;
  }
  is_allowed_ = has_allowed_name();
  co_return true;
}

void HttpConnection::log_refused_certificate(const error_code& error) {
  if (port_->options.client_certificates == ClientCertificates::none) return;
  const std::string why = certificate_refusal(*transport_.tls(), static_cast<unsigned long>(error.value()));
  if (why.empty()) return;
  log::info(
      format("{}: {}: the client's certificate is refused: {}", port_->options.name, peer_.address, why));
}

bool HttpConnection::has_allowed_name() {
  const std::vector<std::string>& allowed = port_->options.ssl_allowed_cn;
  if (allowed.empty()) return true;
  const std::optional<std::string> name = common_name(*transport_.tls());
  if (name && std::find(allowed.begin(), allowed.end(), *name) != allowed.end()) return true;
  log::warning(format(
      "{}: {}: the client is not in ssl_allowed_cn: {}", port_->options.name, peer_.address,
      name ? format("its certificate has CN {}", quoted_excerpt(*name)) : "its certificate has no CN"));
  return false;
}

Task<> HttpConnection::serve() {
  for (bool is_first = true, is_kept = true; is_kept; is_first = false) {
    if (!co_await read_begin(is_first)) co_return;
    std::optional<RequestParser> parser;
    parser.emplace(RequestLimits{port_->options.max_head_size, port_->options.max_request_body_size,
                                 port_->body_too_large},
                   buffer_, shared_.bodies);
    const auto refusal = co_await read_request(*parser);
    if (refusal) {
      parser.reset();
      co_await refuse(*refusal);
      co_return;
    }
    is_kept = co_await answer(parser);
    if (buffer_.size() == 0) buffer_.shrink_to_fit();
  }
}

/// Returns false if the connection ends before the first byte of a request.
Task<bool> HttpConnection::read_begin(bool is_first) {
  const HttpOptions& options = port_->options;
  entry_.wait(Stage::request, now() + (is_first ? options.head_timeout : options.idle_timeout));
  for (;;) {
    // Skips line ends: some clients send an empty line after a body (RFC 9112, 2.2).
    while (buffer_.size() != 0) {
      const char first = *static_cast<const char*>(buffer_.data().data());
      if (first != '\r' && first != '\n') {
        entry_.wait(Stage::request, now() + options.head_timeout);
        co_return true;
      }
      buffer_.consume(1);
    }
    error_code error;
    const std::size_t size =
        co_await transport_.async_read_some(buffer_.prepare(kFirstRead), use_task_with(error));
    if (error) co_return false;
    buffer_.commit(size);
  }
}

/// Returns a Refusal if the request must be refused. Throws if the connection ended.
Task<std::optional<Refusal>> HttpConnection::read_request(RequestParser& parser) {
  const char first = *static_cast<const char*>(buffer_.data().data());
  if (first == kTlsHandshake) {
    warn_of_peer(
        port_->next_tls_warning,
        "the client speaks TLS (https://), but this port has no TLS: use http://, or set ssl_crt and "
        "ssl_key without disable_ssl.");
  }
  if (auto refusal = refusal_of_first_byte(first)) co_return refusal;
  error_code error;
  // Most heads arrive in one piece, and need no asynchronous read.
  buffer_.consume(parser.put(buffer_.data(), error));
  if (error == boost::beast::http::error::need_more)
    co_await boost::beast::http::async_read_header(transport_, buffer_, parser, use_task_with(error));
  if (!error && !is_allowed_) co_return kForeignName;
  if (!error) error = co_await read_body(parser);
  if (!error) co_return std::nullopt;
  if (entry_.is_late()) co_return kLate;
  if (is_end(error)) throw boost::system::system_error(error);
  co_return parser.refusal(error);
}

Task<error_code> HttpConnection::read_body(RequestParser& parser) {
  const auto timeout = port_->options.body_timeout;
  const SteadyTime since = now();
  entry_.wait(Stage::body, since + timeout);
  if (parser.expects_continue() && !parser.is_done() && buffer_.size() == 0) co_await writer_.send_continue();
  error_code error;
  // Waits until an empty chunked body is complete. Beast before Boost 1.86 fails an assertion if such a body
  // arrives byte by byte (https://github.com/boostorg/beast/pull/2861).
  while (parser.chunked() && buffer_.size() < kLeastChunked && may_be_empty(buffer_)) {
    const std::size_t size =
        co_await transport_.async_read_some(buffer_.prepare(kFirstRead), use_task_with(error));
    if (error) co_return error;
    buffer_.commit(size);
  }
  parser.eager(true);
  while (!parser.is_done() && !error) {
    co_await boost::beast::http::async_read_some(transport_, buffer_, parser, use_task_with(error));
    const auto in_all = since + timeout + std::chrono::seconds(parser.body_size() / kLeastRate);
    entry_.wait(Stage::body, std::min(now() + timeout, in_all));
  }
  co_return error;
}

/// Returns whether the connection may have another request.
Task<bool> HttpConnection::answer(std::optional<RequestParser>& parser) {
  entry_.work();
  http::Environ& environ = parser->finish();
  environ.received = now();
  add_variables(environ);
  std::optional<http::Response> made = answer_at_once(environ);
  if (!made) {
    auto call = port_->options.is_monitoring ? shared_.pool.try_begin_monitoring_call()
                                             : shared_.pool.try_begin_call();
    if (!call) call = co_await shared_.pool.begin_call();
    if (call) made = call_application(environ);
  }
  if (!made) {
    parser.reset();
    co_await refuse(kBusy);
    co_return false;
  }
  http::Response response = *std::move(made);
  const ResponseOptions options = {
      .is_http_1_0 = parser->is_http_1_0(),
      .is_head = environ.get("REQUEST_METHOD") == "HEAD",
      .keeps_connection = parser->keep_alive() && !shared_.http_connections.is_stopping()};
  if (response.status == http::Status::switching_protocols) {
    if (buffer_.size() != 0) {
      co_await refuse(kEarlyFrames);
    } else {
      upgrade(std::move(response), environ);
    }
    co_return false;
  }
  parser.reset();
  auto* feed = std::get_if<std::unique_ptr<http::Feed>>(&response.body);
  auto kept_feed = feed == nullptr || options.is_head ? nullptr : std::move(*feed);
  const bool is_kept = co_await writer_.send(std::move(response), options);
  if (kept_feed) {
    entry_.work();
    const auto form = options.is_http_1_0 ? Framing::Form::bare : Framing::Form::chunks;
    shared_.streams.add({std::move(transport_), Framing(form), std::move(kept_feed)});
  } else if (!is_kept) {
    co_await linger();
  }
  co_return is_kept;
}

void HttpConnection::upgrade(http::Response response, const http::Environ& environ) {
  shared_.streams.add({std::move(transport_), Framing(Framing::Form::messages),
                       std::move(std::get<std::unique_ptr<http::Feed>>(response.body)),
                       upgrade_request(environ), std::move(response.headers)});
}

/// Overload refuses many requests, so `Shared::overload` logs their number instead of each request.
Task<> HttpConnection::refuse(Refusal refusal) {
  shared_.note_refused(port_->options.name, refusal.status);
  if (refusal.status != http::Status::service_unavailable) {
    log::info(format("{}: a request from {} is refused with {}: {}", port_->options.name, peer_.address,
                     static_cast<int>(refusal.status), refusal.sentence));
  }
  co_await writer_.refuse(refusal);
  co_await linger();
}

/// Ends sending, and ignores the peer's bytes until the peer or `entry_` closes the connection. An immediate
/// close would reset the connection, and the peer could lose the reply.
Task<> HttpConnection::linger() {
  entry_.wait(Stage::request, now() + kLingerTime);
  co_await transport_.finish();
  transport_.drop_tls();
  std::array<char, 4096> ignored;
  for (error_code end; !end;) co_await transport_.async_read_some(asio::buffer(ignored), use_task_with(end));
}

/// Returns the client's address that a trusted proxy names. Without such a proxy, returns the peer's address.
std::string HttpConnection::find_client(const http::Environ& environ) const {
  const std::string_view forwarded_for = environ.get("HTTP_X_FORWARDED_FOR");
  const std::string_view real_ip = environ.get("HTTP_X_REAL_IP");
  if (forwarded_for.empty() && real_ip.empty()) return peer_.address;
  if (!port_->proxies.has(peer_.address)) {
    warn_of_peer(
        port_->next_proxy_warning,
        "X-Forwarded-For and X-Real-IP of this address are ignored. If this is the address of a web server "
        "of yours, add it to rest_fcgi: trusted_proxies; otherwise all clients of the web server count as "
        "one client.");
    return peer_.address;
  }
  std::string client = http::client_behind(port_->proxies, peer_.address, forwarded_for, real_ip);
  const bool names_two = !forwarded_for.empty() && !real_ip.empty() && !port_->proxies.has(real_ip) &&
                         client != http::Addresses::normalized(real_ip);
  if (names_two) {
    warn_of_peer(
        port_->next_proxy_warning,
        "X-Forwarded-For and X-Real-IP name different clients, and X-Forwarded-For counts. A client may have "
        "sent one of the two headers: configure the web server so that it sets both.");
  }
  return client;
}

/// Logs a warning with the peer's address. Each request could cause the warning, so each port logs at most
/// one such warning an hour. `next` is the time of the next warning.
void HttpConnection::warn_of_peer(std::atomic<SteadyTime>& next, std::string_view text) const {
  SteadyTime due = next;
  if (now() < due || !next.compare_exchange_strong(due, now() + kBetweenWarnings)) return;
  log::warning(format("{}: {}: {}", port_->options.name, peer_.address, text));
}

void HttpConnection::add_variables(http::Environ& environ) const {
  const std::string client = find_client(environ);
  environ.set("REMOTE_ADDR", client);
  if (client == peer_.address) environ.set("REMOTE_PORT", peer_.port);
  if (port_->proxies.has(peer_.address))
    environ.set("REQUEST_ID", std::string(environ.get("HTTP_X_REQUEST_ID")));
  environ.set("SERVER_PORT", std::to_string(port_->options.port));
  if (environ.get("SERVER_NAME").empty()) environ.set("SERVER_NAME", port_->options.host);
  const bool is_from_proxy = port_->proxies.has(peer_.address);
  const bool encrypted = port_->tls || (is_from_proxy && environ.get("HTTP_X_FORWARDED_PROTO") == "https");
  if (!is_from_proxy && !environ.get("HTTP_X_FORWARDED_HOST").empty())
    environ.set("HTTP_X_FORWARDED_HOST", "");
  if (encrypted) environ.set("HTTPS", "on");
  environ.set("REQUEST_SCHEME", encrypted ? "https" : "http");
  environ.set("rest_fcgi.streams", "1");
  environ.set("rest_fcgi.websocket", "1");
}

std::optional<http::Response> HttpConnection::answer_at_once(const http::Environ& environ) const {
  const auto applications = shared_.applications();
  const AtOnce& answer =
      port_->options.is_monitoring ? applications->monitoring_at_once : applications->at_once;
  return answer ? answer(environ) : std::nullopt;
}

http::Response HttpConnection::call_application(const http::Environ& environ) {
  shared_.trim.note_work();
  std::optional<FileReserve::Use> files;
  if (port_->options.is_monitoring) files.emplace(shared_.monitoring_files);
  return answer_of(shared_.applications()->http.at(port_->index), environ);
}

}  // namespace rest_fcgi::gateway
