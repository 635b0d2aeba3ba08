// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <string>

#include "config/sections.h"

namespace rest_fcgi::config {
namespace {

constexpr Range kPorts{1, 65535};
constexpr std::chrono::milliseconds kTenthOfASecond{100};
constexpr std::chrono::seconds kHour{3600};

/// Where to connect to, for a master that listens there.
std::string address_of(const std::string& interface) {
  if (interface == "0.0.0.0") return "127.0.0.1";
  return interface == "::" ? "::1" : interface;
}

void read_port(Reader& top, std::string_view key, unsigned& port) {
  std::size_t number = port;
  top.count(key, number, kPorts);
  port = static_cast<unsigned>(number);
}

/// The workers that take what no other pool does: of `worker_pools` (3008) those of the pool with the command
/// `*`.
void read_workers(Reader& top, std::size_t& workers) {
  constexpr Range kWorkers{1, 1024};
  top.count("worker_threads", workers, kWorkers);
  const Node* pools = top.map("worker_pools");
  if (pools == nullptr) return;
  for (const Entry& entry : pools->entries) {
    if (!entry.value.is(Kind::map)) continue;
    Reader pool(&entry.value, format("worker_pools: {}", entry.key), top.mistakes());
    const Node* commands = pool.list("commands");
    const bool takes_all =
        commands != nullptr && std::any_of(commands->items.begin(), commands->items.end(),
                                           [](const Node& item) { return item.text == "*"; });
    if (takes_all) pool.count("worker_count", workers, kWorkers);
  }
}

void read_transport(Reader& top) {
  const Node* transport = top.value("transport");
  if (transport == nullptr || (transport->is(Kind::string) && transport->text == "zeromq")) return;
  top.unexpected(*transport, "transport", "zeromq, the only one that this engine speaks");
}

}  // namespace

void read_real_master(Reader& top, const std::string& sock_dir, Settings& settings) {
  salt::Options& options = settings.salt;
  std::string interface = "0.0.0.0";
  top.text("interface", interface);
  options.interface = address_of(interface);
  read_port(top, "ret_port", options.ret_port);
  read_port(top, "tcp_master_pub_port", options.tcp_master_pub_port);
  read_transport(top);
  options.sock_dir = sock_dir;
  if (const auto mode = top.choice("ipc_mode", {"ipc", "tcp"})) options.ipc_mode_tcp = *mode == "tcp";
  read_workers(top, options.worker_threads);
  top.text("ext_job_cache", options.ext_job_cache);
  top.flag("order_masters", options.order_masters);
  std::chrono::milliseconds syndic_wait = std::chrono::seconds(5);
  top.seconds("syndic_wait", syndic_wait, kTenthOfASecond, kHour);
  if (options.order_masters) settings.client.syndic_wait = syndic_wait;
}

void read_salt_section(Reader& section, salt::Options& options) {
  section.count("master_connections", options.master_connections, {1, 1024});
  section.flag("inline_login", options.inline_login);
}

}  // namespace rest_fcgi::config
