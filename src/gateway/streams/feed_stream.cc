// SPDX-License-Identifier: MIT
#include "gateway/streams/feed_stream.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <utility>

#include <boost/asio/io_context.hpp>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::gateway {
namespace {

using Outcome = Progress::Outcome;
using boost::asio::posix::stream_descriptor;

/// What one feed may send in its turn.
constexpr std::size_t kTurn = 64u << 10;

}  // namespace

FeedStream::FeedStream(SharedByStreams& shared, NewStream stream)
    : shared_(shared),
      socket_(shared.context),
      channel_(std::move(stream.channel)),
      framing_(stream.framing),
      feed_(std::move(stream.feed)),
      reader_(is_websocket() ? std::make_unique<WebSocketReader>() : nullptr),
      received_(std::move(stream.received)),
      moved_at_(shared.now),
      heard_at_(shared.now),
      pinged_at_(shared.now) {
  const int socket = stream.socket.get();
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);  // nothing waits from here on
  socket_.assign(socket);
  static_cast<void>(stream.socket.release());
  if (!stream.head.empty()) queue(std::move(stream.head));
}

/// Whatever goes wrong with one stream is the end of that one alone.
template <class Step>
void FeedStream::guarded(const Step& step) noexcept {
  if (state_ == State::gone) return;
  try {
    step();
  } catch (...) {
    log_exception("a stream was dropped");
    drop();
  }
}

void FeedStream::start() noexcept {
  guarded([this] {
    flush();
    take(std::exchange(received_, {}));
    read();
  });
}

bool FeedStream::turn() noexcept {
  if (state_ != State::open || !unsent_.empty()) return false;
  bool more = false;
  auto& parts = shared_.parts;
  guarded([&] {
    parts.clear();
    const auto end = feed_->take(parts, kTurn, shared_.wake);
    more = !parts.empty() && !end;
    if (!parts.empty()) send(parts);
    if (end) begin_end(*end);
  });
  parts.clear();  // lets go of their owners
  return more && state_ == State::open && unsent_.empty();
}

void FeedStream::sweep() noexcept {
  guarded([this] {
    const StreamLimits& limits = shared_.limits;
    const SteadyTime now = shared_.now;
    if (state_ == State::ending) {
      if (now >= deadline_) drop();
    } else if (!unsent_.empty()) {
      const auto patience = limits.blocked + std::chrono::seconds(taken_ / limits.rate);
      if (now - moved_at_ >= limits.blocked) return drop_late("its peer takes nothing");
      if (now - blocked_at_ >= patience) return drop_late("its peer takes too little");
      ask_for_end();
    } else if (is_websocket()) {
      if (now - heard_at_ >= limits.silence) return drop_late("its peer answers no ping");
      if (now - pinged_at_ < limits.ping) return;
      pinged_at_ = now;
      queue(control_frame(Opcode::ping, {}));
      flush();
    } else if (now - moved_at_ >= limits.keep_alive) {
      moved_at_ = now;
      if (const auto text = feed_->keep_alive(); !text.empty()) send({{nullptr, text}});
    }
  });
}

/// A session may end, and a feed fall behind, while its peer has not taken all that went out.
void FeedStream::ask_for_end() {
  auto& parts = shared_.parts;
  parts.clear();
  const auto end = feed_->take(parts, 0, shared_.wake);
  framing_.gather(parts, shared_.out);
  for (auto& part : shared_.out.rest()) unsent_.push_back(std::move(part));
  parts.clear();
  if (end) begin_end(*end);
}

void FeedStream::stop() noexcept {
  if (state_ != State::open) return;
  guarded([this] { begin_end({static_cast<std::uint16_t>(CloseCode::going_away), "the server stops"}); });
}

void FeedStream::drop_late(std::string_view why) noexcept {
  try {
    log::info(format("a stream was closed: {}", why));
  } catch (...) {
    log_exception("a stream was closed");
  }
  // What it did not take is of no use to it any more, and would stay in the kernel for long.
  const linger at_once = {1, 0};
  set_option(socket_.native_handle(), SOL_SOCKET, SO_LINGER, at_once);
  drop();
}

void FeedStream::drop() noexcept {
  if (state_ == State::gone) return;
  state_ = State::gone;
  feed_.reset();
  unsent_.clear();
  boost::system::error_code ignored;
  socket_.close(ignored);
  try {
    shared_.bury();
  } catch (...) {
    log_exception("a stream that is gone stays");
  }
}

/// REQUIRES: all that came before was sent.
void FeedStream::send(const std::vector<http::Feed::Part>& parts) {
  framing_.gather(parts, shared_.out);
  write();
}

/// From now on bytes wait.
void FeedStream::count_anew() noexcept {
  moved_at_ = blocked_at_ = shared_.now;
  taken_ = 0;
}

/// For `flush` to send, which is not called where other bytes wait.
void FeedStream::queue(std::string bytes) {
  if (unsent_.empty()) count_anew();
  if (!bytes.empty()) unsent_.push_back(http::Feed::Part::of(std::move(bytes)));
}

void FeedStream::flush() {
  shared_.out.begin(0);
  for (const auto& part : unsent_) shared_.out.add(part);
  write();
}

/// Sends what is gathered, which is all that has to go out, and keeps the rest.
void FeedStream::write() {
  if (unsent_.empty()) count_anew();
  const Progress progress = shared_.out.send(channel_);
  if (progress.outcome == Outcome::ended) return drop();
  std::vector<http::Feed::Part> rest = shared_.out.rest();
  if (progress.bytes != 0) moved_at_ = shared_.now;
  taken_ += progress.bytes;
  unsent_.swap(rest);
  if (!unsent_.empty()) return await_room();
  if (state_ == State::ending) end_connection();
}

void FeedStream::await_room() {
  if (std::exchange(awaits_room_, true)) return;
  socket_.async_wait(stream_descriptor::wait_write, [self = shared_from_this()](const auto& /*error*/) {
    self->awaits_room_ = false;
    self->guarded([&] {
      self->shared_.now = system_clock().steady();
      self->flush();
      if (self->state_ == State::gone || !self->unsent_.empty()) return;
      self->read();  // which it does not while it cannot answer
      if (self->turn()) (*self->shared_.wake)();
    });
  });
}

void FeedStream::begin_end(const http::Feed::End& why) {
  if (state_ != State::open) return;
  feed_.reset();
  state_ = State::ending;
  deadline_ = shared_.now + shared_.limits.end;
  queue(framing_.end(why));
  if (!awaits_room_) flush();
}

/// All was sent. The peer is still to see it, and a WebSocket's to answer.
void FeedStream::end_connection() noexcept {
  if (is_websocket() && !heard_close_) return;
  if (!std::exchange(connection_ended_, true)) channel_.finish();
}

void FeedStream::read() {
  if (awaits_bytes_) return;
  do {
    // A peer that does not take its answers asks no more.
    if (is_websocket() && !unsent_.empty()) return;
    const Progress progress = channel_.read(shared_.buffer);
    if (progress.outcome == Outcome::ended) return drop();
    if (progress.outcome != Outcome::moved) break;
    heard_at_ = shared_.now;
    take({shared_.buffer.data(), progress.bytes});
  } while (state_ != State::gone && channel_.holds_bytes());
  if (state_ != State::gone) await_bytes();
}

void FeedStream::await_bytes() {
  awaits_bytes_ = true;
  socket_.async_wait(stream_descriptor::wait_read, [self = shared_from_this()](const auto& /*error*/) {
    self->awaits_bytes_ = false;
    self->guarded([&] {
      self->shared_.now = system_clock().steady();
      self->read();
    });
  });
}

void FeedStream::take(std::string_view bytes) {
  if (bytes.empty()) return;
  if (is_websocket()) return take_messages(bytes);
  // A web server has no more to say than FCGI_ABORT_REQUEST.
  if (framing_.form() == Framing::Form::records && state_ == State::open) drop();
}

void FeedStream::take_messages(std::string_view bytes) {
  using Kind = WebSocketReader::Message::Kind;
  bool heard = false;
  while (!heard_close_) {
    const auto message = reader_->next(bytes);
    if (message.kind == Kind::none) break;
    if (message.kind == Kind::text || message.kind == Kind::binary) {
      heard = true;
      if (feed_) feed_->on_message(message.payload, message.kind == Kind::text);
    } else if (message.kind == Kind::ping) {
      if (feed_) queue(control_frame(Opcode::pong, message.payload));
    } else if (message.kind != Kind::pong) {
      answer(heard);  // what came before the close
      return take_close(message);
    }
  }
  answer(heard);
}

void FeedStream::answer(bool heard) {
  if (!awaits_room_ && !unsent_.empty()) flush();
  if (heard && turn()) (*shared_.wake)();
}

void FeedStream::take_close(const WebSocketReader::Message& message) {
  if (state_ == State::gone) return;
  heard_close_ = true;
  if (state_ == State::open) return begin_end({message.code, std::string(message.payload)});
  if (!awaits_room_) flush();
}

}  // namespace rest_fcgi::gateway
