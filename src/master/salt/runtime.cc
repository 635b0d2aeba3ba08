// SPDX-License-Identifier: MIT
#include <filesystem>
#include <system_error>
#include <utility>

#include "master/salt/calls/messages.h"
#include "master/salt/events/event_bus.h"
#include "master/salt/events/event_socket.h"
#include "master/salt/requests/request_pool.h"
#include "rest_fcgi/core/address.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/master/salt/salt.h"

namespace rest_fcgi::salt {
namespace {

/// The limits of asynchronous wheels. The limits are small, because each wheel occupies a worker of the
/// master, and the request of each wheel may be large.
constexpr master::Workers::Limits kBackground{2, 50};

BusOptions bus_options(const Options& options) {
  BusOptions bus;
  if (!options.ipc_mode_tcp) bus.path = options.sock_dir + "/master_event_pub.ipc";
  bus.port = options.tcp_master_pub_port;
  return bus;
}

BusOptions pull_options(const Options& options) {
  BusOptions pull;
  if (!options.ipc_mode_tcp) pull.path = options.sock_dir + "/master_event_pull.ipc";
  pull.port = options.tcp_master_pull_port;
  pull.port_key = "tcp_master_pull_port";
  return pull;
}

}  // namespace

Runtime::Runtime(std::unique_ptr<RequestPool> requests, const Options& options, const Clock& clock,
                 master::JidReserve reserve_jids)
    : requests_(std::move(requests)),
      events_(std::make_shared<master::EventLog>(clock)),
      options_(options),
      pusher_(std::make_unique<EventPusher>(pull_options(options))),
      jids_(clock, std::move(reserve_jids)),
      workers_(kBackground) {}

Runtime::~Runtime() = default;

RequestStatistics Runtime::statistics() const {
  return requests_->statistics();
}

std::vector<std::string> Runtime::accepted_minions() const {
  const std::string folder = options_.pki_dir + "/minions";
  std::vector<std::string> minions;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (!name.starts_with('.')) minions.push_back(std::move(name));
  }
  if (error) {
    log::warning(format("pki_dir: {}: cannot be read: {}; the metrics lack minions until their first event",
                        folder, error.message()));
  }
  return minions;
}

Result<EventBus*> Runtime::bus() {
  const MutexLock lock(bus_mutex_);
  if (bus_) return bus_.get();
  auto started = EventBus::start(bus_options(options_), events_);
  if (!started) return std::move(started).error();
  bus_ = *std::move(started);
  return bus_.get();
}

Result<void> Runtime::check_event_bus() {
  const auto started = bus();
  return started ? (*started)->wait_until_joined(system_clock().steady()) : started.error();
}

Result<void> Runtime::ping_master(SteadyTime deadline) {
  return requests_->request(PriorityClass::publish, ping_load(), deadline).without_value();
}

std::size_t Runtime::shutdown(SteadyTime deadline) {
  const std::size_t running = workers_.close(deadline) ? 0 : 1;
  stop_.request_stop();
  EventBus* bus = nullptr;
  {
    const MutexLock lock(bus_mutex_);
    bus = bus_.get();
  }
  if (bus != nullptr) bus->stop();
  requests_->end();
  return running;
}

Result<std::shared_ptr<Runtime>> make_runtime(const Options& options, const Clock& clock,
                                              master::JidReserve reserve_jids) {
  PoolOptions pool;
  pool.uri = "tcp://" + host_port_text(options.interface, options.ret_port);
  pool.connections = options.master_connections;
  pool.worker_threads = options.worker_threads;
  pool.max_waiting_logins = options.max_waiting_logins;
  auto requests = RequestPool::make(pool);
  if (!requests) return std::move(requests).error();
  return std::make_shared<Runtime>(*std::move(requests), options, clock, std::move(reserve_jids));
}

std::string describe_event_firing(const Options& options) {
  const auto socket = connect_event_socket(pull_options(options), -1);
  if (socket) return "can be fired by this user";
  const bool refused = socket.error().kind == ErrorKind::authorization;
  return format("cannot be fired: {}{}", socket.error().message,
                refused ? "; instead, the runner event.send fires hooks if the caller may run it" : "");
}

std::string describe_event_bus(const Options& options) {
  const auto socket = EventSocket::connect(bus_options(options), -1);
  return socket ? "this user can connect" : format("cannot connect: {}", socket.error().message);
}

}  // namespace rest_fcgi::salt
