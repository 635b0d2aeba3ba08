// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rest_fcgi::gateway {

/// Whether clients of a port show a certificate in the TLS handshake: Salt's `ssl_cert_reqs`.
enum class ClientCertificates {
  none,      ///< they are not asked for one
  optional,  ///< one that is shown has to be good
  required,  ///< they have to show a good one
};

/// A port on which we speak HTTP/1.1 ourselves, and with a certificate HTTPS (TLS 1.2 and 1.3).
struct HttpOptions {
  std::string name;              ///< what listens there, for messages and the log: `rest_cherrypy`
  std::string host = "0.0.0.0";  ///< an IP address, or a name of this host
  std::uint16_t port = 0;
  std::string ssl_crt;    ///< path of the certificate in PEM form, with what it is signed by; empty: no TLS
  std::string ssl_key;    ///< path of its private key
  std::string ssl_chain;  ///< path of further certificates that are sent with it; empty: none
  ClientCertificates client_certificates = ClientCertificates::none;
  std::string
      ssl_ca_certs;  ///< path of a file or a folder of the certificates that clients are checked against
  /// Each request over TLS has to come with a certificate whose CN is one of these; empty: any.
  std::vector<std::string> ssl_allowed_cn;
  /// Addresses and networks of web servers: what they say about their clients is believed.
  std::vector<std::string> trusted_proxies;
  std::size_t queue_size =
      65535;  ///< connections that the kernel keeps until they are accepted; it has a limit, too
  std::size_t max_request_body_size = 1048576;    ///< bytes; beyond it: 413
  std::size_t max_head_size = 65536;              ///< bytes of request line and headers; beyond it: 431
  std::chrono::milliseconds head_timeout{10000};  ///< for TLS to begin, and for a head to come whole
  std::chrono::milliseconds body_timeout{
      30000};  ///< for the next part of a body; and see `kRate` in connection.cc
  std::chrono::milliseconds idle_timeout{10000};  ///< for the next request on a kept connection
  std::chrono::milliseconds send_timeout{30000};  ///< for the peer to take the next part of our reply
};

struct Options {
  /// `unix:PATH`, `tcp:HOST:PORT`, or `fd:0` for the socket on file descriptor 0. Empty: `fd:0` if that is a
  /// listening socket; else there is no FastCGI, which is an error unless there is `http`.
  std::string listen;
  mode_t socket_mode = 0660;  ///< of a unix socket
  std::string socket_owner;   ///< user name; empty: as it comes
  std::string socket_group;   ///< group name; empty: as it comes
  bool allow_remote = false;  ///< may `tcp:` bind another address than loopback? FastCGI has no encryption
  std::vector<HttpOptions> http;
  std::size_t max_http_connections = 4096;  ///< beyond it who waits longest for a request makes room
  std::size_t max_body_bytes = std::size_t{256} << 20;  ///< of all requests in memory; beyond it: 503
  std::size_t max_streams = 2000;  ///< that the applications let be open at once, for which there are files
  std::size_t min_threads = 4;     ///< kept idle, beside those at work
  std::size_t max_threads = 1024;  ///< beside those of the HTTP listener, one of which may answer a request
  std::size_t max_waiting = 1024;  ///< connections of FastCGI, and requests of HTTP, kept while all threads
                                   ///< are busy; more are told 503
  std::size_t max_request_body_size = 1048576;       ///< bytes
  std::chrono::milliseconds receive_timeout{30000};  ///< for the next bytes, and all variables
  std::chrono::milliseconds send_timeout{30000};  ///< for the web server to take the next part of our reply
  std::chrono::milliseconds idle_thread_timeout{10000};  ///< after which a thread beyond `min_threads` ends
  std::chrono::milliseconds keep_conn_timeout{75000};    ///< for the next request on a kept connection
  std::chrono::milliseconds shutdown_timeout{30000};  ///< for what is in flight when the process has to end
};

}  // namespace rest_fcgi::gateway
