// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rest_fcgi::gateway {

/// Whether a port asks clients for a certificate in the TLS handshake: Salt's `ssl_cert_reqs`.
enum class ClientCertificates {
  none,      ///< clients are not asked for a certificate
  optional,  ///< clients may have no certificate; a certificate that a client sends has to be valid
  required,  ///< clients need a valid certificate
};

/// A port for HTTP/1.1. If there is a certificate, the port uses HTTPS (TLS 1.2 and 1.3).
struct HttpOptions {
  std::string name;              ///< the netapi module's name, which messages show: `rest_cherrypy`
  std::string host = "0.0.0.0";  ///< address to listen on: an IP address, or a name of this host
  std::uint16_t port = 0;
  bool is_monitoring = false;  ///< the port answers even while `max_threads` requests run
  std::string ssl_crt;         ///< path of the certificate and its chain in PEM form; empty means no TLS
  std::string ssl_key;         ///< path of the certificate's private key
  std::string ssl_chain;       ///< path of further certificates of the chain; may be empty
  ClientCertificates client_certificates = ClientCertificates::none;
  /// The path of a file or folder with the CA certificates that sign clients' certificates.
  std::string ssl_ca_certs;
  /// The allowed common names (CN) of clients' certificates. If the list is empty, any name is allowed.
  std::vector<std::string> ssl_allowed_cn;
  /// Addresses and networks of web servers whose X-Forwarded-For and X-Real-IP are trusted.
  std::vector<std::string> trusted_proxies;
  std::size_t max_request_body_size = 1048576;  ///< largest body in bytes; a larger body gets status 413
  /// The largest size of request line and headers in bytes. A larger head gets 431.
  std::size_t max_head_size = 65536;
  /// The time limit of the TLS handshake, and of reading the request's head.
  std::chrono::milliseconds head_timeout{10000};
  /// The longest wait for the next part of a body; the lowest rate `kLeastRate` limits the whole body.
  std::chrono::milliseconds body_timeout{30000};
  /// The longest wait for the next request on a kept HTTP connection.
  std::chrono::milliseconds idle_timeout{10000};
  /// The longest wait until the client reads the next part of a reply.
  std::chrono::milliseconds send_timeout{30000};
};

struct Options {
  /// The address for FastCGI: `unix:PATH`, `tcp:HOST:PORT`, or `fd:0` for the socket on file descriptor 0. If
  /// empty, `fd:0` is used if file descriptor 0 is a listening socket. Otherwise there is no FastCGI, and
  /// `http` must not be empty.
  std::string listen;
  mode_t socket_mode = 0660;  ///< mode of the unix socket
  std::string socket_owner;   ///< user that owns the unix socket; if empty, the owner is not changed
  std::string socket_group;   ///< group of the unix socket; if empty, the group is not changed
  bool allow_remote = false;  ///< whether `tcp:` may bind an address other than loopback
  std::vector<HttpOptions> http;
  /// The largest number of open connections. A further connection closes the one that waits longest.
  std::size_t max_http_connections = 4096;
  /// The largest size in bytes of all bodies in memory. A request beyond this limit gets 503.
  std::size_t max_body_bytes = std::size_t{256} << 20;
  /// The largest number of open event streams. The gateway raises the limit of open files for this number.
  std::size_t max_streams = 2000;
  std::size_t min_threads = 4;     ///< number of threads that stay when they are idle
  std::size_t max_threads = 1024;  ///< largest number of requests that run at the same time
  /// The largest number of requests that wait while all threads are busy. A further request gets 503.
  std::size_t max_waiting = 1024;
  std::size_t max_request_body_size = 1048576;       ///< largest body of a FastCGI request in bytes
  std::chrono::milliseconds receive_timeout{30000};  ///< longest wait for the next bytes of a FastCGI request
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
