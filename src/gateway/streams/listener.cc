// SPDX-License-Identifier: MIT
#include "gateway/streams/listener.h"

#include <sys/socket.h>

#include <array>
#include <utility>

#include <boost/beast/core/flat_buffer.hpp>

#include "gateway/sys.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::gateway {
namespace {

namespace websocket = boost::beast::websocket;

/// The largest number of bytes that a listener takes from its feed at a time.
constexpr std::size_t kTurn = 64u << 10;

constexpr std::size_t kMaxMessage = 64u << 10;

/// Between two messages, the buffer for messages keeps at most this capacity in bytes.
constexpr std::size_t kKeptCapacity = 4096;

websocket::close_reason close_reason(const http::Feed::End& why) {
  websocket::close_reason reason(static_cast<websocket::close_code>(why.code));
  std::size_t size = std::min(why.reason.size(), reason.reason.max_size());
  // The loop stops at size 0 at the latest, because the empty text is valid UTF-8.
  while (!is_utf8(std::string_view(why.reason).substr(0, size))) --size;
  reason.reason.assign(why.reason.data(), size);
  return reason;
}

Transport in_context(Transport transport, asio::io_context& context) {
  transport.move_to(context);
  return transport;
}

void log_end(const std::exception_ptr& failure) noexcept {
  if (!failure) return;
  try {
    std::rethrow_exception(failure);
  } catch (const boost::system::system_error&) {
    return;
  } catch (...) {
    log_exception("an event stream was dropped after an exception");
  }
}

}  // namespace

Listener::Listener(ListenerGroup& group, NewStream stream)
    : group_(group),
      link_(in_context(std::move(stream.transport), group.context)),
      answered_(group.context.get_executor(), Timer::time_point::max()),
      framing_(stream.framing),
      feed_(std::move(stream.feed)),
      upgrade_(std::move(stream.upgrade)),
      headers_(std::move(stream.headers)) {}

void Listener::start() {
  link_.on_teardown = [this] { begin_end(); };
  link_.owner = weak_from_this();
  const auto ended = [self = shared_from_this()](const std::exception_ptr& failure) {
    log_end(failure);
    self->drop();
  };
  if (!is_websocket()) asio::co_spawn(group_.context, listen(), ended);
  asio::co_spawn(group_.context, talk(), [self = shared_from_this()](const std::exception_ptr& failure) {
    log_end(failure);
    if (failure)
      // Ends `listen`, which would otherwise wait until the peer closes the connection.
      self->drop();
  });
}

Task<> Listener::talk() {
  if (upgrade_) co_await accept();
  for (;;) {
    std::vector<http::Feed::Part> parts;
    auto why = take(parts);
    const bool is_quiet = parts.empty();
    if (!is_quiet) co_await send(std::move(parts));
    if (early_end_) {
      co_await send(std::exchange(backlog_, {}));
      why = std::move(early_end_);
    }
    if (why) co_return co_await end(*std::move(why));
    if (is_gone_ || deadline_) co_return;
    if (!is_quiet || !backlog_.empty()) continue;
    if (std::exchange(has_heard_, false)) answered_.cancel();
    boost::system::error_code ignored;
    co_await group_.news.async_wait(use_task_with(ignored));
  }
}

std::optional<http::Feed::End> Listener::take(std::vector<http::Feed::Part>& parts) {
  parts.swap(backlog_);
  if (!parts.empty() || deadline_ || !feed_) return std::nullopt;
  if (group_.is_stopping) return http::Feed::End{websocket::close_code::going_away, "the server stops"};
  auto why = take_from_feed(parts, kTurn);
  const bool is_due = std::exchange(is_keep_alive_due_, false);
  if (is_due && parts.empty() && !why) parts.push_back({nullptr, feed_->keep_alive()});
  return why;
}

std::optional<http::Feed::End> Listener::take_from_feed(std::vector<http::Feed::Part>& parts,
                                                        std::size_t most_bytes) {
  auto why = feed_->take(parts, most_bytes, group_.wake);
  if (why && why->is_slow) note_slow(why->reason);
  return why;
}

Task<> Listener::send(std::vector<http::Feed::Part> parts) {
  IovecBuffer out;
  framing_.gather(parts, out);
  if (!out.buffers().empty()) co_await link_.write(out.buffers());
}

Task<> Listener::end(http::Feed::End why) {
  feed_.reset();
  begin_end();
  if (is_websocket()) {
    co_return co_await websocket_->async_close(close_reason(why), use_task);
  }
  const std::string text = framing_.end();
  co_await link_.write(asio::buffer(text));
  co_await link_.transport().finish();
}

void Listener::begin_end() {
  if (!deadline_) deadline_ = system_clock().steady() + group_.limits.end;
  answered_.cancel();
}

Task<> Listener::accept() {
  websocket_ = std::make_unique<WebSocket>(link_);
  websocket::stream_base::timeout timeout{};
  // The handshake needs no timeout, because it only sends a response, and `sweep` limits each write.
  timeout.handshake_timeout = websocket::stream_base::none();
  timeout.idle_timeout = group_.limits.silence;
  timeout.keep_alive_pings = true;
  websocket_->set_option(timeout);
  websocket_->set_option(websocket::stream_base::decorator([this](websocket::response_type& reply) {
    reply.set(boost::beast::http::field::server, "rest_fcgi");
    for (const auto& [name, value] : headers_) reply.set(name, value);
  }));
  websocket_->read_message_max(kMaxMessage);
  websocket_->auto_fragment(false);
  co_await websocket_->async_accept(*upgrade_, use_task);
  upgrade_.reset();
  asio::co_spawn(group_.context, listen(), [self = shared_from_this()](const std::exception_ptr& failure) {
    log_end(failure);
    self->drop();
  });
}

Task<> Listener::listen() {
  if (is_websocket()) co_await hear_messages();
  std::array<char, 512> ignored_bytes;
  for (;;) {
    co_await link_.async_read_some(asio::buffer(ignored_bytes), use_task);
    // During a FastCGI reply, the web server sends only FCGI_ABORT_REQUEST. Received bytes therefore end the
    // stream.
    if (framing_.form() == Framing::Form::records && !deadline_) co_return;
  }
}

Task<> Listener::hear_messages() {
  boost::beast::flat_buffer message;
  for (;;) {
    // Waits for the end of a pending write, so that a peer that does not read its answers cannot send more
    // messages.
    co_await link_.wait_until_free();
    boost::system::error_code error;
    co_await websocket_->async_read(message, use_task_with(error));
    if (error.category() == websocket::make_error_code(websocket::error::closed).category()) break;
    // Throws, because the connection has ended and another read would never return.
    if (error) throw boost::system::system_error(error);
    const std::string_view text(static_cast<const char*>(message.data().data()), message.size());
    if (websocket_->got_text() && !is_utf8(text)) {
      // Ends the stream, because the text is not UTF-8. Beast does not notice malformed UTF-8 if the last
      // frame of a message is empty.
      feed_.reset();
      early_end_ = http::Feed::End{websocket::close_code::bad_payload, ""};
      group_.news.cancel();
    }
    if (feed_) {
      feed_->on_message(text, websocket_->got_text());
      // Sends the feed's answers before the next read. The next read may get a close frame, and Beast then
      // sends no more messages.
      has_heard_ = true;
      group_.news.cancel();
      while (has_heard_ && !deadline_) co_await answered_.async_wait(use_task_with(error));
    }
    message.clear();
    if (message.capacity() > kKeptCapacity) message.shrink_to_fit();
  }
  feed_.reset();
  begin_end();
}

bool Listener::sweep(SteadyTime now) {
  if (is_gone_) return false;
  if (deadline_) {
    if (now >= *deadline_) drop();
  } else if (link_.writing()) {
    check_blocked(now, *link_.writing());
  } else if (!is_websocket() && now - link_.written_at() >= group_.limits.keep_alive) {
    is_keep_alive_due_ = !feed_->keep_alive().empty();
  }
  return is_keep_alive_due_;
}

void Listener::check_blocked(SteadyTime now, const Link::Progress& writing) {
  const StreamLimits& limits = group_.limits;
  if (now - writing.moved_at >= limits.blocked) return drop_late("its client reads nothing");
  const auto patience = limits.blocked + std::chrono::seconds(writing.bytes / limits.rate);
  if (now - writing.began_at >= patience) return drop_late("its client reads too slowly");
  // Calls the feed although a write is pending, because the session may have ended, or the event log may have
  // dropped events that the feed has not read. With the size 0, the feed reads no events.
  std::vector<http::Feed::Part> parts;
  early_end_ = take_from_feed(parts, 0);
  for (auto& part : parts) {
    backlog_.push_back(part.owner ? std::move(part) : http::Feed::Part::of(std::string(part.text)));
  }
  if (!early_end_) return;
  feed_.reset();
  begin_end();
}

void Listener::note_slow(std::string_view why) {
  ++group_.slow;
  log::info(format("an event stream was closed: {}", why));
}

void Listener::drop_late(std::string_view why) {
  note_slow(why);
  // Makes close(2) discard data that the peer has not read.
  set_option(link_.transport().socket().native_handle(), SOL_SOCKET, SO_LINGER, linger{1, 0});
  drop();
}

void Listener::drop() {
  if (std::exchange(is_gone_, true)) return;
  feed_.reset();
  begin_end();
  link_.close();
  (*group_.wake)();
}

}  // namespace rest_fcgi::gateway
