// SPDX-License-Identifier: MIT
#include "gateway/http/connection.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include <boost/asio/io_context.hpp>

#include "gateway/http/client_certificates.h"
#include "gateway/reply.h"
#include "gateway/streams/streams.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Outcome = Progress::Outcome;
using Stage = RequestReader::Stage;

/// Bytes a second that bodies, and readers of replies, have to do in the long run; a modem does as much.
constexpr std::size_t kRate = 4096;

/// How long what a refused peer still sends is read and thrown away.
constexpr milliseconds kLingerTime{2000};

/// Steps on one connection before others have theirs.
constexpr int kTurns = 16;

constexpr std::chrono::hours kBetweenProxyWarnings{1};

constexpr Refusal kLate = {http::Status::request_timeout, "The request did not come in time"};
constexpr Refusal kBusy = {
    http::Status::service_unavailable,
    "All threads are busy and as many requests wait as may (max_threads, max_waiting)"};
constexpr Refusal kBodies = {
    http::Status::service_unavailable,
    "The bodies of all requests together are larger than may be in memory (max_body_bytes)"};
constexpr Refusal kForeignName = {http::Status::forbidden, "Client certificate CN not allowed"};
constexpr Refusal kPlain = {http::Status::bad_request,
                            "This port speaks HTTPS, and this is a request of HTTP"};

SteadyTime now() {
  return system_clock().steady();
}

/// When what began at `since` and came to `bytes` is late: `patience` after now, and in all no slower than
/// kRate.
SteadyTime due(SteadyTime since, std::size_t bytes, milliseconds patience) {
  return std::min(now() + patience, since + patience + seconds(bytes / kRate));
}

}  // namespace

HttpConnection::HttpConnection(std::shared_ptr<HttpShared> shared, std::shared_ptr<const HttpPort> port,
                               UniqueFd socket, std::string peer, std::string peer_port)
    : shared_(std::move(shared)),
      port_(std::move(port)),
      peer_(std::move(peer)),
      peer_port_(std::move(peer_port)),
      socket_(shared_->loop->context(), socket.release()),
      channel_(socket_.native_handle(), port_->tls.get()),
      state_(channel_.has_tls() ? State::handshake : State::reading),
      since_(now()),
      deadline_(since_ + port_->options.head_timeout),
      reader_({.max_head_size = port_->options.max_head_size,
               .max_body_size = port_->options.max_request_body_size}),
      is_allowed_(!channel_.has_tls()) {
  const std::lock_guard lock(shared_->mutex);
  ++shared_->open;
}

HttpConnection::~HttpConnection() {
  close();
}

std::optional<HttpConnection::Waits> HttpConnection::waits() const noexcept {
  switch (state_) {
    case State::reading:
      return Waits{reader_.stage() == Stage::body ? Waits::for_a_body : Waits::for_a_head, since_};
    case State::handshake:
    case State::lingering:
      return Waits{Waits::for_a_head, since_};
    case State::writing:
      return Waits{Waits::to_be_read, since_};
    default:
      return std::nullopt;
  }
}

void HttpConnection::start() {
  wait_or_close({Outcome::wants_read});
}

void HttpConnection::advance() noexcept {
  try {
    for (int turn = 0; turn < kTurns; ++turn) {
      if (!step()) return;
    }
    shared_->loop->post([self = shared_from_this()] { self->advance(); });
  } catch (...) {
    log_exception("a connection was dropped");
    close();
  }
}

bool HttpConnection::step() {
  switch (state_) {
    case State::handshake:
      return lend_handshake();
    case State::shaken:
      return take_handshake();
    case State::reading:
      return read();
    case State::whole:
      return submit();
    case State::writing:
      return write();
    case State::lingering:
      return linger();
    case State::lent:
    case State::closed:
      break;
  }
  return false;
}

void HttpConnection::expire(SteadyTime at) noexcept {
  if (abandoned_) return close();
  if (!deadline_ || at < *deadline_ || state_ == State::lent) return;
  deadline_.reset();
  const bool begun = reader_.stage() == Stage::head || reader_.stage() == Stage::body;
  if (state_ != State::reading || !begun) return close();
  try {
    refuse(kLate);
    nudge();
  } catch (...) {
    close();
  }
}

void HttpConnection::nudge() noexcept {
  if (state_ == State::lent || state_ == State::closed) return;
  boost::system::error_code ignored;
  socket_.cancel(ignored);  // what waits goes on, and waits again where it still has to
}

void HttpConnection::close() noexcept {
  if (state_ == State::closed) return;
  state_ = State::closed;
  deadline_.reset();
  forget_request();
  unread_ = WipedBytes();
  outgoing_.drop();
  boost::system::error_code ignored;
  socket_.close(ignored);
  const std::lock_guard lock(shared_->mutex);
  --shared_->open;
  shared_->one_closed.notify_all();
}

bool HttpConnection::wait_or_close(Progress progress) {
  // Whose body is coming is answered yet.
  const bool unasked =
      state_ == State::handshake || (state_ == State::reading && reader_.stage() != Stage::body);
  const bool last_chance = unasked && shared_->stopping;
  if (progress.outcome == Outcome::ended || (last_chance && now() >= since_ + kFarewell)) {
    close();
    return false;
  }
  if (last_chance) deadline_ = std::min(deadline_.value_or(SteadyTime::max()), since_ + kFarewell);
  using Socket = boost::asio::posix::stream_descriptor;
  socket_.async_wait(progress.outcome == Outcome::wants_read ? Socket::wait_read : Socket::wait_write,
                     [self = shared_from_this()](const boost::system::error_code&) { self->advance(); });
  return false;
}

/// Keys take a processor longer than all else here does.
bool HttpConnection::lend_handshake() {
  state_ = State::lent;
  shared_->handshakes->post([self = shared_from_this()] {
    try {
      self->shake_hands();
    } catch (...) {
      log_exception("a connection was dropped");
      self->handshake_ = {};
    }
    self->hand_back(State::shaken);
  });
  return false;
}

/// Goes on with the handshake. When it is done the client's certificate is known.
void HttpConnection::shake_hands() {
  handshake_ = channel_.shake_hands();
  if (handshake_.outcome == Outcome::ended) log_refused_certificate();
  if (handshake_.outcome == Outcome::moved) is_allowed_ = has_allowed_name();
}

void HttpConnection::log_refused_certificate() const {
  if (channel_.tls() == nullptr || port_->options.client_certificates == ClientCertificates::none) return;
  const std::string why = certificate_refusal(*channel_.tls());
  if (why.empty()) return;
  log::info(format("{}: {}: the client's certificate is refused: {}", port_->options.name, peer_, why));
}

bool HttpConnection::has_allowed_name() const {
  const std::vector<std::string>& allowed = port_->options.ssl_allowed_cn;
  if (allowed.empty()) return true;
  const std::optional<std::string> name = common_name(*channel_.tls());
  if (name && std::find(allowed.begin(), allowed.end(), *name) != allowed.end()) return true;
  log::warning(
      format("{}: {}: ssl_allowed_cn does not name the client: {}", port_->options.name, peer_,
             name ? format("its certificate has CN {}", rest_fcgi::quoted(*name)) : "it shows no CN"));
  return false;
}

bool HttpConnection::take_handshake() {
  if (channel_.turned_plain()) {
    refuse(kPlain);
    return true;
  }
  state_ = handshake_.outcome == Outcome::moved ? State::reading : State::handshake;
  return handshake_.outcome == Outcome::moved || wait_or_close(handshake_);
}

bool HttpConnection::read() {
  if (!unread_.empty()) {
    const WipedBytes bytes = std::exchange(unread_, {});
    return take({bytes.data(), bytes.size()});
  }
  const Progress progress = channel_.read(shared_->buffer);
  if (progress.outcome != Outcome::moved) return wait_or_close(progress);
  const struct Wiper {
    std::span<char> bytes;
    ~Wiper() { wipe(bytes.data(), bytes.size()); }
  } wiper{std::span(shared_->buffer).first(progress.bytes)};
  return take({wiper.bytes.data(), wiper.bytes.size()});
}

bool HttpConnection::take(std::string_view bytes) {
  const Stage before = reader_.stage();
  const std::string_view rest = bytes.substr(reader_.take(bytes));
  unread_.assign(rest.begin(), rest.end());
  const bool moved_on = reader_.stage() != before;
  const bool has_head = reader_.stage() == Stage::body || reader_.stage() == Stage::complete;
  if (has_head && !is_allowed_) {
    refuse(kForeignName);
    return true;
  }
  if (!has_room_for_body()) {
    refuse(kBodies);
    return true;
  }
  switch (reader_.stage()) {
    case Stage::idle:
      break;
    case Stage::head:
      if (moved_on) since_ = now();
      deadline_ = since_ + port_->options.head_timeout;
      break;
    case Stage::body:
      if (moved_on) since_ = now();
      deadline_ = due(since_, reader_.body_size(), port_->options.body_timeout);
      if (reader_.expects_continue() && reader_.body_size() == 0 && !std::exchange(continue_sent_, true)) {
        constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
        // Nothing else is on its way out, so that it fits.
        if (channel_.write(kContinue).bytes != kContinue.size()) {
          close();
          return false;
        }
      }
      break;
    case Stage::complete:
      state_ = State::whole;
      break;
    case Stage::refused:
      refuse(reader_.refusal());
      break;
  }
  return true;
}

/// False: a thread has the connection now, or had it when it was no longer the one that leads.
bool HttpConnection::submit() {
  state_ = State::lent;
  deadline_.reset();
  if (shared_->loop->begin_work()) {
    answer();
    if (!shared_->loop->end_work()) {
      hand_back(State::writing);
      return false;
    }
    state_ = State::writing;
    return true;
  }
  if (shared_->pool->submit([self = shared_from_this()] {
        self->answer();
        self->hand_back(State::writing);
      }))
    return false;
  refuse(kBusy);
  return true;
}

/// Counts what came of the body. False: all bodies together are more than may be in memory.
bool HttpConnection::has_room_for_body() {
  const std::size_t came = reader_.body_size() - body_counted_;
  if (came == 0) return true;
  body_counted_ += came;
  shared_->trim.note_work();
  return shared_->pool->bodies().add(came);
}

void HttpConnection::forget_request() noexcept {
  reader_.reset();
  shared_->pool->bodies().remove(std::exchange(body_counted_, 0));
}

void HttpConnection::refuse(Refusal refusal) {
  log::info(format("{}: a request from {} is refused with {}: {}", port_->options.name, peer_,
                   static_cast<int>(refusal.status), refusal.sentence));
  forget_request();
  unread_ = WipedBytes();
  outgoing_.refuse(refusal);
  refused_ = true;
  state_ = State::writing;
  since_ = now();
}

bool HttpConnection::write() {
  if (outgoing_.has_feed()) {
    give_away();
    return false;
  }
  if (const Progress progress = outgoing_.flush(channel_); progress.outcome != Outcome::moved) {
    deadline_ = due(since_, outgoing_.sent(), port_->options.send_timeout);
    return wait_or_close(progress);
  }
  deadline_.reset();
  if (outgoing_.broken_off()) {
    close();
    return false;
  }
  if (outgoing_.has_stream()) {
    state_ = State::lent;
    shared_->pool->submit([self = shared_from_this()] { self->go_on_streaming(); }, true);
    return false;
  }
  return end_reply();
}

/// A feed has no end: others hold the socket from now on, and this is none of the connections any more.
void HttpConnection::give_away() {
  shared_->pool->streams().add({UniqueFd(socket_.release()),
                                std::move(channel_),
                                outgoing_.feed_framing(),
                                outgoing_.unsent_head(),
                                {unread_.begin(), unread_.end()},
                                outgoing_.release_feed()});
  close();
}

bool HttpConnection::end_reply() {
  outgoing_.drop();
  since_ = now();
  if (!outgoing_.closes()) {
    state_ = State::reading;
    deadline_ = since_ + port_->options.idle_timeout;
    // Most often the next request is not there yet.
    return !unread_.empty() || channel_.holds_bytes() || wait_or_close({Outcome::wants_read});
  }
  channel_.finish();
  if (!refused_ && unread_.empty()) {
    close();
    return false;
  }
  state_ = State::lingering;
  deadline_ = since_ + kLingerTime;
  return true;
}

bool HttpConnection::linger() {
  const Progress progress = channel_.read(shared_->buffer);
  if (progress.outcome != Outcome::moved) return wait_or_close(progress);
  wipe(shared_->buffer.data(), progress.bytes);
  return true;
}

void HttpConnection::answer() noexcept {
  try {
    http::Response response = call_application();
    outgoing_.begin(std::move(response),
                    {.http_1_0 = reader_.is_http_1_0(),
                     .is_head = reader_.environ().get("REQUEST_METHOD") == "HEAD",
                     .keeps_connection = reader_.keeps_connection() && !shared_->stopping,
                     .websocket_key = reader_.environ().get("HTTP_SEC_WEBSOCKET_KEY")});
    forget_request();
    continue_sent_ = false;
    since_ = now();
    static_cast<void>(outgoing_.flush(channel_));  // the loop sees how far it came
  } catch (...) {
    log_exception("a reply was dropped");
    outgoing_.break_off();
  }
}

void HttpConnection::go_on_streaming() noexcept {
  try {
    since_ = now();
    outgoing_.go_on();
    static_cast<void>(outgoing_.flush(channel_));
  } catch (...) {
    log_exception("a reply was cut off");
    outgoing_.break_off();
  }
  hand_back(State::writing);
}

void HttpConnection::hand_back(State next) noexcept {
  try {
    shared_->loop->post([self = shared_from_this(), next] {
      self->state_ = next;
      self->advance();
    });
  } catch (...) {
    log_exception("a connection was lost");
    abandoned_ = true;
  }
}

/// Returns the address of the client: of the peer, or the one that a trusted proxy names.
std::string HttpConnection::find_client(const http::Environ& environ) const {
  const std::string_view forwarded_for = environ.get("HTTP_X_FORWARDED_FOR");
  const std::string_view real_ip = environ.get("HTTP_X_REAL_IP");
  if (forwarded_for.empty() && real_ip.empty()) return peer_;
  if (!port_->proxies.has(peer_)) {
    warn_of_proxy(
        "X-Forwarded-For and X-Real-IP of this address are ignored. If a web server sends its requests from "
        "there, "
        "name the address in rest_fcgi: trusted_proxies; else all its clients count as one.");
    return peer_;
  }
  std::string client = http::client_behind(port_->proxies, peer_, forwarded_for, real_ip);
  const bool names_two = !forwarded_for.empty() && !real_ip.empty() && !port_->proxies.has(real_ip) &&
                         client != http::Addresses::normalized(real_ip);
  if (names_two) {
    warn_of_proxy(
        "X-Forwarded-For and X-Real-IP name different clients, and X-Forwarded-For counts. One of them may "
        "come "
        "from a client: have the web server set both.");
  }
  return client;
}

/// Logs a warning about this peer, at most once an hour: a client may cause it with each request.
void HttpConnection::warn_of_proxy(std::string_view text) const {
  SteadyTime due = shared_->next_proxy_warning;
  if (now() < due || !shared_->next_proxy_warning.compare_exchange_strong(due, now() + kBetweenProxyWarnings))
    return;
  log::warning(format("{}: {}: {}", port_->options.name, peer_, text));
}

http::Response HttpConnection::call_application() {
  shared_->trim.note_work();
  http::Environ& environ = reader_.environ();
  const std::string client = find_client(environ);
  environ.set("REMOTE_ADDR", client);
  if (client == peer_) environ.set("REMOTE_PORT", peer_port_);
  environ.set("SERVER_PORT", std::to_string(port_->options.port));
  if (environ.get("SERVER_NAME").empty()) environ.set("SERVER_NAME", port_->options.host);
  const bool encrypted =
      port_->tls || (environ.get("HTTP_X_FORWARDED_PROTO") == "https" && port_->proxies.has(peer_));
  if (encrypted) environ.set("HTTPS", "on");
  environ.set("REQUEST_SCHEME", encrypted ? "https" : "http");
  environ.set("rest_fcgi.streams", "1");
  environ.set("rest_fcgi.websocket", "1");
  return answer_of(shared_->pool->applications()->http.at(port_->index), environ);
}

}  // namespace rest_fcgi::gateway
