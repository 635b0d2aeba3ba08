// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>

#include "gateway/body_budget.h"
#include "gateway/connections.h"
#include "gateway/file_reserve.h"
#include "gateway/overload_log.h"
#include "gateway/streams/streams.h"
#include "gateway/sys.h"
#include "gateway/thread_pool.h"
#include "rest_fcgi/core/memory.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/gateway/gateway.h"
#include "rest_fcgi/gateway/options.h"

namespace rest_fcgi::gateway {

/// The objects that the FastCGI and HTTP servers use. The pool's threads also own these objects, because a
/// thread inside a call of an application can outlive the gateway. Thread-safe.
class Shared {
 public:
  explicit Shared(const Options& its_options)
      : options(its_options),
        monitoring_files(std::any_of(options.http.begin(), options.http.end(),
                                     [](const HttpOptions& port) { return port.is_monitoring; })),
        bodies(options.max_body_bytes),
        pool({options.min_threads, options.max_threads, options.max_waiting, options.idle_thread_timeout}) {}

  /// Replaces the applications for new requests. Running requests keep the old applications.
  void replace(Applications applications) {
    auto changed = std::make_shared<const Applications>(std::move(applications));
    const MutexLock lock(mutex_);
    applications_.swap(changed);
  }

  /// Returns the current applications. The caller must release the pointer after each request, so that a
  /// reload can destroy the old applications.
  [[nodiscard]] std::shared_ptr<const Applications> applications() const {
    const MutexLock lock(mutex_);
    return applications_;
  }

  /// Counts a refused request. `port` is the name of the HTTP port, or empty for FastCGI.
  void note_refused(std::string_view port, http::Status status) {
    if (status == http::Status::service_unavailable) overload.note();
    const auto current = applications();
    if (current->on_refused) current->on_refused(port, status);
  }

  /// Returns the largest number of HTTP connections now. The descriptors that other connections use, two for
  /// each FastCGI connection, or that stay free, reduce this number.
  [[nodiscard]] std::size_t most_http_connections() const {
    const std::size_t reserve = std::min(kReservedFiles, max_files / 4);
    const std::size_t others =
        std::min(max_files, reserve + streams.count() + 2 * fastcgi_connections.count());
    return std::max<std::size_t>(std::min(options.max_http_connections, max_files - others), 1);
  }

  /// Makes space for an HTTP connection, as `Connections::make_room`. Further connections to the port for
  /// monitoring have space even if this program works on all connections.
  [[nodiscard]] std::size_t make_http_room(bool is_monitoring) {
    const std::size_t most = most_http_connections();
    if (!is_monitoring) return has_free_descriptor() ? http_connections.make_room(most) : 0;
    const std::size_t room = http_connections.make_room(most);
    return room == 0 && http_connections.count() < most + kMonitoringConnections ? 1 : room;
  }

  /// Returns whether the process can open a descriptor without those for the monitoring port. If not, closes
  /// a connection that waits for its peer.
  [[nodiscard]] bool has_free_descriptor() {
    if (monitoring_files.fill()) return true;
    free_descriptor();
    return false;
  }

  /// Closes a connection that waits for its peer, because the process has no free descriptor. Prefers HTTP
  /// connections, because a web server may be about to use its kept FastCGI connection.
  void free_descriptor() {
    if (!http_connections.close_one()) static_cast<void>(fastcgi_connections.close_one());
  }

  /// The number of descriptors that stay free for the database, programs and logs, but at most a quarter of
  /// all descriptors.
  static constexpr std::size_t kReservedFiles = 256;
  static constexpr std::size_t kMonitoringConnections = 8;

  const Options options;
  const std::size_t max_files = file_limit();
  FileReserve monitoring_files;
  BodyBudget bodies;
  OverloadLog overload;
  Connections http_connections;
  Connections fastcgi_connections;
  TrimWhenQuiet trim;
  ThreadPool pool;
  Streams streams;  // Streams with TLS use the pool's timers, so `streams` is destroyed before the pool.

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const Applications> applications_ GUARDED_BY(mutex_);
};

}  // namespace rest_fcgi::gateway
