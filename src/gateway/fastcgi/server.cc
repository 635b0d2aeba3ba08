// SPDX-License-Identifier: MIT
#include "gateway/fastcgi/server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <boost/asio/post.hpp>

#include "gateway/reply.h"
#include "gateway/sys.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::gateway {
namespace {

using Stage = Connections::Stage;

/// The read and write timeout of a request that the server refuses because all threads are busy.
constexpr std::chrono::milliseconds kRefusalTime{1000};

void set_timeouts(int socket, std::chrono::milliseconds receive, std::chrono::milliseconds send) noexcept {
  const auto time_of = [](std::chrono::milliseconds duration) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(duration);
    return timeval{seconds.count(), std::chrono::microseconds(duration - seconds).count()};
  };
  set_option(socket, SOL_SOCKET, SO_RCVTIMEO, time_of(receive));
  set_option(socket, SOL_SOCKET, SO_SNDTIMEO, time_of(send));
}

}  // namespace

FastCgiServer::FastCgiServer(Shared& shared, ListeningSocket socket)
    : shared_(shared),
      is_shared_(socket.is_shared),
      carries_streams_(socket.carries_streams),
      acceptor_(shared.pool.context(), std::move(socket), "FastCGI",
                {[this]() -> std::size_t {
                   if (!shared_.has_free_descriptor()) return 0;
                   if (!is_shared_) return Acceptor::kMostAtOnce;
                   return shared_.pool.has_free_call() ? 1 : 0;
                 },
                 [this] { shared_.free_descriptor(); },
                 [this](UniqueFd connection, const sockaddr_storage& peer) {
                   begin(std::move(connection), peer.ss_family);
                 }}) {}

void FastCgiServer::begin(UniqueFd connection, int family) {
  set_timeouts(connection.get(), shared_.options.receive_timeout, shared_.options.send_timeout);
  auto entry = std::make_unique<Connections::Entry>(shared_.fastcgi_connections, connection.get());
  // The acceptor must not wait for the request.
  asio::post(shared_.pool.context(),
             [this, connection = std::move(connection), family, entry = std::move(entry)]() mutable {
               answer_first(std::move(connection), family, std::move(entry));
             });
}

/// If bytes of the first request have already arrived, answers the request. `serve` waits for the first bytes
/// of every other request.
void FastCgiServer::answer_first(UniqueFd connection, int family, std::unique_ptr<Connections::Entry> entry) {
  std::chrono::milliseconds patience = shared_.options.receive_timeout;
  char byte = 0;
  if (::recv(connection.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0) {
    if (const auto call = shared_.pool.try_begin_call()) {
      entry->work();
      connection = answer(std::move(connection));
      if (!connection || shared_.fastcgi_connections.is_stopping()) return;
      patience = shared_.options.keep_conn_timeout;
    }
  }
  asio::co_spawn(shared_.pool.context(), serve(std::move(connection), family, std::move(entry), patience),
                 asio::detached);
}

Task<> FastCgiServer::serve(UniqueFd connection, int family, std::unique_ptr<Connections::Entry> entry,
                            std::chrono::milliseconds patience) {
  Socket socket(co_await asio::this_coro::executor, {family, 0}, connection.release());
  // libfcgi reads from a copy of the descriptor, because libfcgi may close its descriptor.
  UniqueFd copy(::fcntl(socket.native_handle(), F_DUPFD_CLOEXEC, 0));
  for (bool is_first = true;; is_first = false) {
    entry->wait(Stage::request, system_clock().steady() + patience);
    boost::system::error_code error;
    co_await socket.async_wait(Socket::wait_read, use_task_with(error));
    if (error) co_return;
    entry->work();
    // libfcgi needs a blocking socket, and Asio makes the socket non-blocking at its first wait. The call is
    // not Asio's `native_non_blocking`, after which each further wait would make the socket non-blocking
    // again.
    if (is_first) ::fcntl(copy.get(), F_SETFL, ::fcntl(copy.get(), F_GETFL) & ~O_NONBLOCK);
    if (const auto call = shared_.pool.try_begin_call()) {
      copy = answer(std::move(copy));
    } else {
      copy = co_await answer_late(std::move(copy));
      set_timeouts(socket.native_handle(), shared_.options.receive_timeout, shared_.options.send_timeout);
    }
    if (!copy || shared_.fastcgi_connections.is_stopping()) co_return;
    patience = shared_.options.keep_conn_timeout;
  }
}

/// Returns the connection if the web server wants to keep it open.
UniqueFd FastCgiServer::answer(UniqueFd connection) {
  try {
    FastCgiRequest request(std::move(connection));
    http::Environ environ;
    if (request.receive(environ)) return answer(request, environ, {});
    log::debug("a connection ended before it sent a whole request");
  } catch (...) {
    log_exception("a request was dropped after an exception");
  }
  return {};
}

/// Reads the CGI variables before a thread is free, because some requests are answered at once.
Task<UniqueFd> FastCgiServer::answer_late(UniqueFd connection) {
  try {
    const SteadyTime since = system_clock().steady();
    const int socket = connection.get();
    FastCgiRequest request(std::move(connection));
    http::Environ environ;
    {
      set_timeouts(socket, kRefusalTime, kRefusalTime);
      if (!request.receive(environ)) co_return UniqueFd();
      const auto applications = shared_.applications();
      auto response = applications->at_once ? applications->at_once(environ) : std::nullopt;
      if (response)
        co_return answer_at_once(request, *std::move(response), environ.get("REQUEST_METHOD") == "HEAD");
    }
    const auto call = co_await shared_.pool.begin_call();
    if (!call) {
      shared_.note_refused({}, kBusy.status);
      co_return answer_at_once(request, reply_to(kBusy), environ.get("REQUEST_METHOD") == "HEAD");
    }
    set_timeouts(socket, shared_.options.receive_timeout, shared_.options.send_timeout);
    co_return answer(request, environ, system_clock().steady() - since);
  } catch (...) {
    log_exception("a request was dropped after an exception");
  }
  co_return UniqueFd();
}

/// Reads the body and calls the application. `waited` is the time for which the request waited for a thread.
UniqueFd FastCgiServer::answer(FastCgiRequest& request, http::Environ& environ,
                               std::chrono::nanoseconds waited) {
  const Options& options = shared_.options;
  shared_.trim.note_work();
  auto body = request.read_body(environ.get("CONTENT_LENGTH"),
                                {.max_size = options.max_request_body_size,
                                 .key = options.body_limit_key,
                                 .discard_time = options.receive_timeout},
                                shared_.bodies);
  if (!body) {
    log::debug("a connection ended in the middle of a request's body");
    return {};
  }
  environ.body = *std::move(body);
  if (!environ.body && environ.body.error().kind == ErrorKind::unavailable) shared_.overload.note();
  environ.received = system_clock().steady() - waited;
  return reply(request, environ);
}

/// Sends a response without a call of the application. The web server sends the whole body before it reads
/// the reply, so the body is read first.
UniqueFd FastCgiServer::answer_at_once(FastCgiRequest& request, http::Response response, bool is_head) {
  if (!request.read_body({}, {.max_size = 0, .discard_time = kRefusalTime}, shared_.bodies)) return {};
  const auto end = request.reply(std::move(response), is_head);
  return end == FastCgiRequest::End::kept ? request.release_connection() : UniqueFd();
}

UniqueFd FastCgiServer::reply(FastCgiRequest& request, http::Environ& environ) {
  if (environ.get("REQUEST_ID").empty())
    environ.set("REQUEST_ID", std::string(environ.get("HTTP_X_REQUEST_ID")));
  environ.set("rest_fcgi.streams", carries_streams_ ? "1" : "");
  environ.set("rest_fcgi.websocket", "");
  http::Response response = answer_of(shared_.applications()->fastcgi, environ);
  environ.body = std::string_view();
  request.forget_body();
  auto* feed = std::get_if<std::unique_ptr<http::Feed>>(&response.body);
  auto kept_feed = feed == nullptr ? nullptr : std::move(*feed);
  switch (request.reply(std::move(response), environ.get("REQUEST_METHOD") == "HEAD")) {
    case FastCgiRequest::End::kept:
      return request.release_connection();
    case FastCgiRequest::End::closed:
      break;
    case FastCgiRequest::End::feed: {
      UniqueFd connection = request.release_connection();
      sockaddr_storage address = {};
      socklen_t size = sizeof address;
      ::getsockname(connection.get(), reinterpret_cast<sockaddr*>(&address), &size);
      Socket socket(shared_.pool.context(), {address.ss_family, 0}, connection.release());
      shared_.streams.add({Transport(std::move(socket), nullptr),
                           Framing(Framing::Form::records, request.id()), std::move(kept_feed)});
    }
  }
  return {};
}

}  // namespace rest_fcgi::gateway
