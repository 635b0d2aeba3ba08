// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/posix/stream_descriptor.hpp>

#include "gateway/http/channel.h"
#include "gateway/streams/gathered.h"
#include "gateway/streams/websocket.h"
#include "gateway/sys.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway {

/// How patient streams are.
struct StreamLimits {
  std::chrono::milliseconds blocked{30000};  ///< for a peer that takes nothing of what waits for it
  std::size_t rate = 4096;  ///< bytes a second that such a peer has to take in the long run, as of a reply
  std::chrono::milliseconds keep_alive{15000};  ///< without a word from us, after which `keep_alive` goes out
  std::chrono::milliseconds ping{30000};        ///< between two pings on a WebSocket
  std::chrono::milliseconds silence{65000};     ///< of a WebSocket's peer: two pings and a while
  std::chrono::milliseconds end{2000};          ///< for the peer to take what is left, and to close its side
  std::chrono::milliseconds sweep{500};         ///< how often it is looked who took too long
};

/// What a front end hands over.
struct NewStream {
  UniqueFd socket;
  Channel channel;  ///< of the socket
  Framing framing;
  std::string head;      ///< what of it was not sent yet
  std::string received;  ///< what the peer sent behind its request
  std::unique_ptr<http::Feed> feed;
};

/// What all streams of a loop share. Used by the loop's thread.
struct SharedByStreams {
  SharedByStreams(boost::asio::io_context& its_context, const StreamLimits& its_limits, http::Wake its_wake,
                  std::function<void()> its_bury)
      : context(its_context), limits(its_limits), wake(std::move(its_wake)), bury(std::move(its_bury)) {}

  boost::asio::io_context& context;
  const StreamLimits limits;
  const http::Wake wake;             ///< asks all feeds soon
  const std::function<void()> bury;  ///< forgets soon whatever is gone
  SteadyTime now;                    ///< about
  std::vector<http::Feed::Part> parts;
  Gathered out;
  std::array<char, 65536> buffer = {};
};

/// One connection on which the parts of a feed go out, and on a WebSocket messages come in. Owns both. Used
/// by the loop's thread.
class FeedStream : public std::enable_shared_from_this<FeedStream> {
 public:
  /// `shared` has to live for as long as anything waits in the loop.
  FeedStream(SharedByStreams& shared, NewStream stream);
  FeedStream(const FeedStream&) = delete;
  FeedStream& operator=(const FeedStream&) = delete;

  /// Begins to listen to the peer.
  void start() noexcept;

  /// Sends what the feed has. True: it may have more.
  bool turn() noexcept;

  /// Does what its time has come for.
  void sweep() noexcept;

  /// Ends the feed, since the gateway does.
  void stop() noexcept;

  /// Closes the connection.
  void drop() noexcept;

  [[nodiscard]] bool gone() const noexcept { return state_ == State::gone; }

 private:
  enum class State {
    open,
    ending,  ///< the feed is gone, the end of the stream on its way, and then the peer closes its side
    gone,
  };

  template <class Step>
  void guarded(const Step& step) noexcept;

  void send(const std::vector<http::Feed::Part>& parts);
  void queue(std::string bytes);
  void ask_for_end();
  void count_anew() noexcept;
  void flush();
  void write();
  void await_room();
  void begin_end(const http::Feed::End& why);
  void end_connection() noexcept;
  void drop_late(std::string_view why) noexcept;

  void read();
  void await_bytes();
  void take(std::string_view bytes);
  void take_messages(std::string_view bytes);
  void answer(bool heard);
  void take_close(const WebSocketReader::Message& message);

  [[nodiscard]] bool is_websocket() const noexcept { return framing_.form() == Framing::Form::messages; }

  SharedByStreams& shared_;
  boost::asio::posix::stream_descriptor socket_;
  Channel channel_;
  const Framing framing_;
  std::unique_ptr<http::Feed> feed_;
  std::unique_ptr<WebSocketReader> reader_;
  std::string received_;  ///< until the start

  State state_ = State::open;
  std::vector<http::Feed::Part> unsent_;  ///< bytes as they go out; the feed is not asked before they have
  bool awaits_room_ = false;
  bool awaits_bytes_ = false;
  bool heard_close_ = false;       ///< or what makes that of no interest
  bool connection_ended_ = false;  ///< from our side
  SteadyTime moved_at_;            ///< bytes went out, or first had to wait
  SteadyTime blocked_at_;          ///< since when some bytes always have to wait
  std::size_t taken_ = 0;          ///< bytes since then
  SteadyTime heard_at_;
  SteadyTime pinged_at_;
  SteadyTime deadline_;  ///< of the end
};

}  // namespace rest_fcgi::gateway
