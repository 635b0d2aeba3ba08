// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rest_fcgi::gateway {

/// The default size limit of a request's body, in bytes.
inline constexpr std::size_t kMaxBody = std::size_t{32} << 20;

/// Whether a port asks its clients for a TLS certificate (Salt's `ssl_cert_reqs`).
enum class ClientCertificates {
  none,
  optional,  ///< With `optional`, the port accepts clients without a certificate, but refuses invalid ones.
  required,  ///< With `required`, the port refuses clients without a valid certificate.
};

/// A port or unix socket for HTTP/1.1, with TLS 1.2 and 1.3 if `ssl_crt` is set.
struct HttpOptions {
  std::string name;              ///< `name` is the netapi module, such as `rest_cherrypy`.
  std::string host = "0.0.0.0";  ///< `host` is an IP address or a name of this host.
  std::uint16_t port = 0;
  std::string unix_path{};  ///< `unix_path` is the path of a unix socket, which replaces `host` and `port`.
  bool is_monitoring = false;  ///< With `is_monitoring`, the port answers even if all threads are busy.
  std::string ssl_crt;    ///< `ssl_crt` is the PEM file of the certificate and its chain. Empty without TLS.
  std::string ssl_key;    ///< `ssl_key` is the PEM file of the private key.
  std::string ssl_chain;  ///< `ssl_chain` is a PEM file with further certificates of the chain, or empty.
  ClientCertificates client_certificates = ClientCertificates::none;
  /// The file or folder with the CA certificates that sign clients' certificates.
  std::string ssl_ca_certs;
  /// The common names (CN) that clients' certificates may have. An empty list allows all names.
  std::vector<std::string> ssl_allowed_cn;
  /// The web servers whose headers X-Forwarded-For and X-Real-IP are trusted.
  std::vector<std::string> trusted_proxies;
  std::size_t max_request_body_size = kMaxBody;  ///< A body above `max_request_body_size` bytes gets 413.
  /// The configuration key of `max_request_body_size`, which the reply 413 names.
  std::string body_limit_key = "max_request_body_size";
  /// `max_head_size` limits the request line with the headers, in bytes. A larger size gives status 431.
  std::size_t max_head_size = 65536;
  /// The time limit of the TLS handshake, and also the time limit of reading a request's head.
  std::chrono::milliseconds head_timeout{10000};
  /// The longest wait for the next part of a request's body.
  std::chrono::milliseconds body_timeout{30000};
  /// The longest wait for the next request on a kept HTTP connection.
  std::chrono::milliseconds idle_timeout{10000};
  /// The longest wait until the client reads the next part of a reply.
  std::chrono::milliseconds send_timeout{30000};
};

struct Options {
  /// The address for FastCGI: `unix:PATH`, `tcp:HOST:PORT`, or `fd:0` for file descriptor 0. An empty text
  /// means `fd:0` if descriptor 0 is a listening socket, and otherwise no FastCGI.
  std::string listen;
  mode_t socket_mode = 0660;
  std::string socket_owner;  ///< `socket_owner` is the owner of the unix socket. Empty for no change.
  std::string socket_group;  ///< `socket_group` is the group of the unix socket. Empty for no change.
  /// Whether all applications answer `/health` and `/ready`. The sockets then stay open until the end of a
  /// stop.
  bool answers_health = false;
  bool allow_remote = false;  ///< With `allow_remote`, `tcp:` may bind an address other than loopback.
  std::vector<HttpOptions> http;
  /// The largest number of open HTTP connections. For a further connection, the server closes a connection
  /// that waits for its client.
  std::size_t max_http_connections = 4096;
  /// The largest size in bytes of all bodies in memory. A request beyond this limit gets status 503.
  std::size_t max_body_bytes = std::size_t{256} << 20;
  /// The largest number of open event streams.
  std::size_t max_streams = 2000;
  std::size_t min_threads = 4;     ///< `min_threads` is the number of threads that stay when they are idle.
  std::size_t max_threads = 1024;  ///< `max_threads` is the largest number of concurrent requests.
  /// `max_waiting` limits the requests that wait for a thread. A further request gets status 503.
  std::size_t max_waiting = 1024;
  std::size_t max_request_body_size = kMaxBody;  ///< `max_request_body_size` limits FastCGI bodies, in bytes.
  /// The configuration key of `max_request_body_size`, which the reply 413 names.
  std::string body_limit_key = "max_request_body_size";
  std::string advice{};  ///< What the user can do if there is nothing to listen on. May be empty.
  /// `receive_timeout` is the longest wait for the next bytes of a FastCGI request.
  std::chrono::milliseconds receive_timeout{30000};
  /// The longest wait until the web server reads the next part of a reply.
  std::chrono::milliseconds send_timeout{30000};
  /// The idle time after which a thread beyond `min_threads` ends.
  std::chrono::milliseconds idle_thread_timeout{10000};
  /// The longest wait for the next request on a kept FastCGI connection.
  std::chrono::milliseconds keep_conn_timeout{75000};
  /// The longest wait for running requests when the process ends.
  std::chrono::milliseconds shutdown_timeout{30000};
};

}  // namespace rest_fcgi::gateway
