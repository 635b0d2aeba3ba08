// SPDX-License-Identifier: MIT
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/core/unique_fd.h"
#include "rest_fcgi/master/events.h"
#include "rest_fcgi/master/shared_number.h"

/// What the processes of one user on this host say to each other about events. Who listens has a socket in a
/// folder; who has events connects to each of them and sends frames: a head, and the texts whose sizes it
/// names.
namespace rest_fcgi::embedded {

/// So many processes does one hear, and tell what happens.
inline constexpr std::size_t kMaxPeers = 256;

struct PeerEvent {
  std::string_view user;
  std::string_view tag;
  std::string_view data;
};

void append_frame(std::string& out, const PeerEvent& event);

/// Instead of events that were dropped.
void append_lost_frame(std::string& out);

struct PeerFrame {
  enum class Kind : std::uint8_t {
    event,
    lost,
    broken,  ///< nothing that this program sends
  };
  Kind kind = Kind::event;
  PeerEvent event;       ///< looks into the bytes
  std::size_t size = 0;  ///< of all of it
};

/// The first frame of the bytes; absent as long as it is not whole.
[[nodiscard]] std::optional<PeerFrame> first_frame(std::string_view bytes);

/// The address of a socket in an open folder, however long that one's path is.
[[nodiscard]] sockaddr_un socket_in(int folder, const std::string& name);

/// Hands on to the log what other processes of this host tell, and tells them what happens in this one.
///
/// The socket is there only while somebody listens, and the thread once there was anybody to hear or to tell.
/// Who tells never waits: what a listener does not take in time is dropped, and that listener told so.
/// Thread-safe.
class Peers {
 public:
  /// Makes the folder where it is missing. `most_pending`: bytes that wait for one listener. Errors:
  /// configuration, as the end of a sentence that begins with its path.
  [[nodiscard]] static Result<std::unique_ptr<Peers>> open(const std::string& folder,
                                                           std::shared_ptr<master::EventLog> log,
                                                           std::size_t most_pending = std::size_t{16} << 20);

  /// Waits for what was told to be sent, up to a second.
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// A reader of the log. When this came back, all that other processes tell from then on comes to the log,
  /// as long as that is wanted. Errors: those of `EventLog::reader`; unavailable, where others cannot be
  /// heard.
  [[nodiscard]] Result<std::unique_ptr<master::EventReader>> reader(const master::EventPermit& permit,
                                                                    std::string_view after);

  /// Does any other process listen? Costs one look at a number that processes share where none does and none
  /// began to.
  [[nodiscard]] bool wanted();

  /// Tells an event to those that listened at the last `wanted`.
  void publish(std::string_view tag, std::string_view data, std::string_view user);

 private:
  struct Teller {
    UniqueFd socket;
    std::string bytes{};  ///< of a frame that is not whole yet
  };
  struct Listener {
    UniqueFd socket;
    std::string name;
    std::string sending{};  ///< whole frames, of which `sent` bytes are sent
    std::size_t sent = 0;
    std::string pending{};  ///< whole frames behind these
    [[nodiscard]] bool has_all() const noexcept { return sent == sending.size() && pending.empty(); }
  };

  Peers(UniqueFd folder, master::SharedNumber listened, std::string owner, UniqueFd wake,
        std::shared_ptr<master::EventLog> log, std::size_t most_pending)
      : folder_(std::move(folder)),
        listened_(std::move(listened)),
        owner_(std::move(owner)),
        wake_(std::move(wake)),
        log_(std::move(log)),
        most_pending_(most_pending) {}

  static constexpr std::int64_t kNever = -1;

  // REQUIRES: mutex_
  [[nodiscard]] Result<void> listen();
  void stop_listening();
  void look();
  [[nodiscard]] Result<void> connect_to_all();
  [[nodiscard]] Result<void> connect(const std::string& name);
  [[nodiscard]] Result<void> start_thread();
  [[nodiscard]] bool send(Listener& listener);

  // On the thread:
  void run();
  [[nodiscard]] std::optional<int> time_to_wait();  // REQUIRES: mutex_
  void send_to_those_of(std::span<const pollfd> polled);
  [[nodiscard]] bool accept(int listening);
  void refuse();
  [[nodiscard]] bool receive(Teller& teller);
  [[nodiscard]] bool receive_some(Teller& teller);
  [[nodiscard]] bool take_frames(Teller& teller);
  void lose();

  const UniqueFd folder_;
  const master::SharedNumber listened_;  // how often processes of this user began to listen
  const std::string owner_;  // what the names of its sockets begin with, unlike those of any other process
  const UniqueFd wake_;
  const std::shared_ptr<master::EventLog> log_;
  const std::size_t most_pending_;
  std::vector<Teller> tellers_;        // of the thread
  std::optional<SteadyTime> refused_;  // when readers were told last that there are too many; of the thread

  // What `listened_` was when nobody else did: as long as it still is, `wanted` says no without the mutex.
  std::atomic<std::int64_t> nobody_at_{kNever};

  std::mutex mutex_;                 // guards all that follows
  UniqueFd listening_;               // open: somebody listens here; closed by the thread alone
  std::string name_;                 // of the socket
  std::uint64_t opened_ = 0;         // sockets so far
  std::vector<Listener> listeners_;  // grows anywhere, and shrinks on the thread alone
  std::int64_t seen_ = kNever;       // what `listened_` was before the last look into the folder
  std::optional<SteadyTime> retry_;  // not all listeners could be reached at the last look
  std::optional<SteadyTime> end_;    // this goes, and sends no longer
  Thread thread_;
};

}  // namespace rest_fcgi::embedded
