// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "master/salt/events/event.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/unique_fd.h"

/// The sockets on which a master publishes events and accepts events.
namespace rest_fcgi::salt {

/// Connects to an event socket of the master, and returns a non-blocking socket. Waits at most a second. The
/// wait ends early with an error if the descriptor `stop` becomes readable; -1 means no descriptor. Fails
/// with `unavailable` if no process listens, with `authorization` and the missing permission, or with
/// `configuration` for a malformed address.
Result<UniqueFd> connect_event_socket(const BusOptions& where, int stop);

struct FileIdentity {
  dev_t device;
  ino_t inode;
  bool operator==(const FileIdentity&) const = default;
};

/// Returns the device and inode of the file at `path`. Returns std::nullopt for a missing file, and for an
/// empty path (TCP).
[[nodiscard]] std::optional<FileIdentity> socket_file_at(const std::string& path);

/// Returns whether another file has replaced the file `connected` at `path` since the connection was made.
/// The connection then leads to an earlier master. Returns false for a missing file, because the connection
/// may still work.
[[nodiscard]] bool is_replaced(const std::string& path, const std::optional<FileIdentity>& connected);

/// A connection to the socket on which a master publishes events. A wait ends if the descriptor `stop`
/// becomes readable; -1 means no descriptor. `stop` must outlive the connection. Used by one thread.
class EventSocket {
 public:
  /// Connects to the socket. Fails with the errors of `connect_event_socket`.
  static Result<EventSocket> connect(const BusOptions& where, int stop);

  /// Returns received bytes, which are valid until the next call. Returns no bytes if none arrive within
  /// `patience`. Fails with `unavailable` if the connection is lost.
  Result<std::string_view> read(std::chrono::milliseconds patience);

 private:
  using Buffer = std::array<char, 64 << 10>;
  EventSocket(UniqueFd fd, int stop) : fd_(std::move(fd)), stop_(stop), buffer_(std::make_unique<Buffer>()) {}

  UniqueFd fd_;
  int stop_;
  std::unique_ptr<Buffer> buffer_;
};

/// Fires events on the socket on which a master accepts events, as Salt's `fire_event` does. The master sends
/// no reply. The connection is made for the first event, and again after a loss. 4 bytes with the length
/// precede each event, as Salt 3006 to 3008 expect. Thread-safe.
class EventPusher {
 public:
  /// `where` has the path of `master_event_pull.ipc`, or Salt's `tcp_master_pull_port`.
  explicit EventPusher(BusOptions where) : where_(std::move(where)) {}

  /// Fires an event in at most 5 seconds. `data` is a msgpack map. Fails with `unavailable` if no master
  /// listens, with `authorization` and the missing permission, or with `timeout`. After a timeout, the master
  /// may still read the event.
  Result<void> fire(std::string_view tag, std::string_view data, SteadyTime deadline);

 private:
  class Turn;
  [[nodiscard]] bool is_alive() const;
  Result<void> connect();
  /// Writes the whole frame or closes the connection. Fails with `unavailable` or `timeout`.
  Result<void> write(std::string_view frame, SteadyTime deadline);

  const BusOptions where_;
  // std::timed_mutex is not used, because the thread sanitizer of g++ 12 does not fully support it.
  Mutex mutex_;
  std::condition_variable freed_;
  bool taken_ GUARDED_BY(mutex_) = false;  // `taken_` says whether a `Turn` owns the connection.
  UniqueFd connection_;                    // Only the thread with the `Turn` uses `connection_`.
  std::optional<FileIdentity> file_;  // `file_` identifies the socket's file at the time of the connection.
};

/// Returns the reason for EACCES from a connect to the unix socket at `path`: the folder or socket, and the
/// missing permission. May query the sources in nsswitch.conf. Thread-safe.
[[nodiscard]] std::string refused_path(const std::string& path);

/// Returns the reason for EACCES if the socket at `path` itself refuses the connection, and not a folder
/// above it. `status` is the result of stat(2) for the socket.
[[nodiscard]] std::string refused_socket(const std::string& path, const struct stat& status);

}  // namespace rest_fcgi::salt
