// SPDX-License-Identifier: MIT
#include <string_view>

#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::config {
namespace {

bool same(const etcd::Options& one, const etcd::Options& other) {
  const auto password = [](const etcd::Options& options) {
    return options.password == nullptr ? std::string_view() : options.password->reveal().text;
  };
  return one.endpoints == other.endpoints && one.username == other.username && one.ca == other.ca &&
         one.client_cert == other.client_cert && one.client_key == other.client_key &&
         equal_in_constant_time(password(one), password(other));
}

void compare_etcd(const returner::EtcdOptions& now, const returner::EtcdOptions& then,
                  std::vector<std::string>& keys) {
  if (now.root != then.root) keys.emplace_back("etcd.returner_root");
  if (now.ttl != then.ttl) keys.emplace_back("etcd.ttl");
  if (now.require_v2 != then.require_v2 || now.encode_values != then.encode_values ||
      now.unicode_errors != then.unicode_errors || now.is_chosen != then.is_chosen ||
      !same(now.writing, then.writing) || !same(now.reading, then.reading)) {
    keys.emplace_back("etcd.returner");
  }
}

}  // namespace

std::vector<std::string> restart_keys(const Settings& running, const Settings& wanted) {
  std::vector<std::string> keys;
  const auto compare = [&keys](const char* key, const auto& now, const auto& then) {
    if (now != then) keys.emplace_back(key);
  };
  const gateway::Options& now = running.gateway;
  const gateway::Options& then = wanted.gateway;
  compare("listen", now.listen, then.listen);
  compare("socket_mode", now.socket_mode, then.socket_mode);
  compare("socket_owner", now.socket_owner, then.socket_owner);
  compare("socket_group", now.socket_group, then.socket_group);
  compare("allow_remote", now.allow_remote, then.allow_remote);
  compare("min_threads", now.min_threads, then.min_threads);
  compare("max_threads", now.max_threads, then.max_threads);
  compare("max_waiting", now.max_waiting, then.max_waiting);
  compare("max_request_body_size", now.max_request_body_size, then.max_request_body_size);
  compare("receive_timeout", now.receive_timeout, then.receive_timeout);
  compare("send_timeout", now.send_timeout, then.send_timeout);
  compare("idle_thread_timeout", now.idle_thread_timeout, then.idle_thread_timeout);
  compare("keep_conn_timeout", now.keep_conn_timeout, then.keep_conn_timeout);
  compare("shutdown_timeout", now.shutdown_timeout, then.shutdown_timeout);
  const returner::Options& cache = running.returner;
  const returner::Options& next_cache = wanted.returner;
  compare("master_job_cache", cache.master_job_cache, next_cache.master_job_cache);
  compare("ext_job_cache", cache.ext_job_cache, next_cache.ext_job_cache);
  compare("keep_jobs_seconds", cache.keep_jobs_seconds, next_cache.keep_jobs_seconds);
  compare("sqlite3.database", cache.sqlite3.database, next_cache.sqlite3.database);
  compare("sqlite3.timeout", cache.sqlite3.timeout, next_cache.sqlite3.timeout);
  compare_etcd(cache.etcd, next_cache.etcd, keys);
  compare("jobs_spool_bytes", cache.spool_bytes, next_cache.spool_bytes);
  compare("jobs_kept", running.returner.max_jobs, wanted.returner.max_jobs);
  compare("jobs_bytes_kept", running.returner.max_bytes, wanted.returner.max_bytes);
  compare("interface", running.salt.interface, wanted.salt.interface);
  compare("ret_port", running.salt.ret_port, wanted.salt.ret_port);
  compare("sock_dir", running.salt.sock_dir, wanted.salt.sock_dir);
  compare("ipc_mode", running.salt.ipc_mode_tcp, wanted.salt.ipc_mode_tcp);
  compare("tcp_master_pub_port", running.salt.tcp_master_pub_port, wanted.salt.tcp_master_pub_port);
  compare("worker_threads", running.salt.worker_threads, wanted.salt.worker_threads);
  compare("master_connections", running.salt.master_connections, wanted.salt.master_connections);
  compare("embedded: max_workers", running.embedded.max_workers, wanted.embedded.max_workers);
  compare("embedded: max_queued", running.embedded.max_queued, wanted.embedded.max_queued);
  compare("embedded: max_queued_bytes", running.embedded.max_queued_bytes, wanted.embedded.max_queued_bytes);
  compare("host_number", running.embedded.jid_share.mine, wanted.embedded.jid_share.mine);
  compare("embedded: proc_dir", running.embedded.proc_dir, wanted.embedded.proc_dir);
  return keys;
}

}  // namespace rest_fcgi::config
