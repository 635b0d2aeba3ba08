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
  optional,  ///< a certificate may be missing; if there is one, it has to be valid
  required,  ///< a valid certificate is necessary
};

/// A port for HTTP/1.1, or with a certificate for HTTPS (TLS 1.2 and 1.3).
struct HttpOptions {
  std::string name;              ///< the netapi module, for messages: `rest_cherrypy`
  std::string host = "0.0.0.0";  ///< an IP address, or a name of this host
  std::uint16_t port = 0;
  std::string ssl_crt;    ///< path of the certificate and its chain in PEM form; empty: no TLS
  std::string ssl_key;    ///< path of the certificate's private key
  std::string ssl_chain;  ///< path of further certificates of the chain; empty: none
  ClientCertificates client_certificates = ClientCertificates::none;
  std::string ssl_ca_certs;  ///< path of a file or folder with the authorities for clients' certificates
  /// The common names (CN) of clients' certificates that are allowed; empty: any.
  std::vector<std::string> ssl_allowed_cn;
  /// Addresses and networks of web servers whose X-Forwarded-For and X-Real-IP are trusted.
  std::vector<std::string> trusted_proxies;
  std::size_t max_request_body_size = 1048576;    ///< bytes; beyond it: 413
  std::size_t max_head_size = 65536;              ///< bytes of request line and headers; beyond it: 431
  std::chrono::milliseconds head_timeout{10000};  ///< for the TLS handshake, and for the head
  std::chrono::milliseconds body_timeout{30000};  ///< for the next part of a body; see also `kLeastRate`
  std::chrono::milliseconds idle_timeout{10000};  ///< for the next request on a kept connection
  std::chrono::milliseconds send_timeout{30000};  ///< for the peer to read the next part of a reply
};

struct Options {
  /// `unix:PATH`, `tcp:HOST:PORT`, or `fd:0` for the socket on file descriptor 0. Empty: `fd:0` if that is a
  /// listening socket; otherwise there is no FastCGI, and `http` must not be empty.
  std::string listen;
  mode_t socket_mode = 0660;  ///< of a unix socket
  std::string socket_owner;   ///< user name; empty: unchanged
  std::string socket_group;   ///< group name; empty: unchanged
  bool allow_remote = false;  ///< whether `tcp:` may bind an address other than loopback
  std::vector<HttpOptions> http;
  std::size_t max_http_connections = 4096;  ///< beyond it the connection that waits longest is closed
  std::size_t max_body_bytes = std::size_t{256} << 20;  ///< of all requests together; beyond it: 503
  std::size_t max_streams = 2000;  ///< the applications' limit, which the limit of open files has to allow
  std::size_t min_threads = 4;     ///< idle threads that are kept
  std::size_t max_threads = 1024;  ///< requests that are answered at once
  std::size_t max_waiting = 1024;  ///< requests that wait while all threads are busy; beyond it: 503
  std::size_t max_request_body_size = 1048576;       ///< bytes
  std::chrono::milliseconds receive_timeout{30000};  ///< for the next bytes of a FastCGI request
  std::chrono::milliseconds send_timeout{30000};     ///< for the web server to read the next part of a reply
  std::chrono::milliseconds idle_thread_timeout{10000};  ///< after which a thread beyond `min_threads` ends
  std::chrono::milliseconds keep_conn_timeout{75000};    ///< for the next request on a kept connection
  std::chrono::milliseconds shutdown_timeout{30000};     ///< for requests in flight when the process ends
};

}  // namespace rest_fcgi::gateway
