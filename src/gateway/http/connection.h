// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/posix/stream_descriptor.hpp>

#include "gateway/http/channel.h"
#include "gateway/http/loop.h"
#include "gateway/http/outgoing.h"
#include "gateway/http/reader.h"
#include "gateway/pool.h"
#include "gateway/sys.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/memory.h"
#include "rest_fcgi/gateway/options.h"
#include "rest_fcgi/http/addresses.h"
#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway {

/// One of the ports. Immutable once open.
struct HttpPort {
  HttpOptions options;
  std::size_t index;  ///< of its application
  std::unique_ptr<TlsContext> tls;
  http::Addresses proxies;  ///< they say whose requests they pass on
};

/// What connections share with the server that accepted them.
struct HttpShared {
  explicit HttpShared(std::shared_ptr<Pool> its_pool) : pool(std::move(its_pool)) {}

  const std::shared_ptr<Pool> pool;
  const std::shared_ptr<Loop> loop = std::make_shared<Loop>();
  /// Begins TLS, one connection after the other, so that many that come at once hold up no request.
  const std::shared_ptr<Loop> handshakes = std::make_shared<Loop>();
  std::atomic<bool> stopping = false;  ///< no further request is read
  std::atomic<SteadyTime> next_proxy_warning = SteadyTime::min();
  TrimWhenQuiet trim;
  std::array<char, 65536> buffer = {};  ///< for bytes just read; the leader's only, which wipes it

  std::mutex mutex;
  std::condition_variable one_closed;
  std::size_t open = 0;  ///< connections; guarded by mutex
};

/// One connection: reads a request in the loop, answers it there where that is quick and else has a thread of
/// the pool answer, sends in the loop what that thread did not, and reads the next. Owns the socket. Used by
/// the thread that leads the loop; while it is lent to another, it is that thread's alone.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  /// `peer` is its address and `peer_port` its port. May throw std::bad_alloc.
  HttpConnection(std::shared_ptr<HttpShared> shared, std::shared_ptr<const HttpPort> port, UniqueFd socket,
                 std::string peer, std::string peer_port);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  /// Does what can be done without waiting, and then waits in the loop for more.
  void advance() noexcept;

  /// Begins to wait in the loop.
  void start();

  /// Ends what took too long.
  void expire(SteadyTime now) noexcept;

  /// No longer waits for what may not come: to be called when the server stops.
  void nudge() noexcept;

  [[nodiscard]] bool closed() const noexcept { return state_ == State::closed; }

  /// How much is lost where it is closed to make room for others, and since when it has waited: the least
  /// goes first. None: its request is at work.
  struct Waits {
    enum { for_a_head, for_a_body, to_be_read } what;
    SteadyTime since;
    auto operator<=>(const Waits&) const = default;
  };
  [[nodiscard]] std::optional<Waits> waits() const noexcept;

  /// Closes it, unless a thread has it; then it goes when that thread is done. For when the loop ends.
  void give_up() noexcept {
    if (state_ != State::lent) close();
  }

  /// REQUIRES: no thread has it.
  void close() noexcept;

 private:
  enum class State {
    handshake,
    shaken,     ///< a step of the handshake was done
    reading,    ///< nothing of a request, or a part of one, is there
    whole,      ///< a request is there
    lent,       ///< a thread works on it
    writing,    ///< the answer goes out
    lingering,  ///< the peer may still be sending, and would not see an answer on a connection that is reset
    closed,
  };

  // In the loop. What returns false waits or is at its end.
  bool step();
  bool lend_handshake();
  bool take_handshake();
  void shake_hands();
  void log_refused_certificate() const;
  [[nodiscard]] bool has_allowed_name() const;
  bool read();
  bool take(std::string_view bytes);
  bool submit();
  bool write();
  void give_away();
  bool end_reply();
  bool linger();
  bool wait_or_close(Progress progress);
  void refuse(Refusal refusal);
  [[nodiscard]] bool has_room_for_body();
  void forget_request() noexcept;

  // Where it is lent to.
  void answer() noexcept;
  void go_on_streaming() noexcept;
  [[nodiscard]] http::Response call_application();
  [[nodiscard]] std::string find_client(const http::Environ& environ) const;
  void warn_of_proxy(std::string_view text) const;
  void hand_back(State next) noexcept;

  const std::shared_ptr<HttpShared> shared_;
  const std::shared_ptr<const HttpPort> port_;
  const std::string peer_;
  const std::string peer_port_;
  boost::asio::posix::stream_descriptor socket_;
  Channel channel_;
  State state_;
  std::atomic<bool> abandoned_ = false;  ///< it is lent, and who had it could not hand it back
  SteadyTime since_;                     ///< when this state, or this part of a request, began
  std::optional<SteadyTime> deadline_;   ///< of what is waited for

  Progress handshake_;  ///< how far its last step came
  RequestReader reader_;
  std::size_t body_counted_ = 0;  ///< bytes of its body that stand in `HttpShared::bodies`
  WipedBytes unread_;             ///< what came after the request that is answered

  Outgoing outgoing_;
  bool is_allowed_ = false;     ///< to send requests: `ssl_allowed_cn` names the client, or is empty
  bool refused_ = false;        ///< and the peer may still be sending
  bool continue_sent_ = false;  ///< or not needed
};

}  // namespace rest_fcgi::gateway
