// SPDX-License-Identifier: MIT
#include "etcd/transfer.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::etcd {
namespace {

constexpr std::size_t kMostOfMessage = 200;

/// `http://HOST:PORT` of a URL.
std::string server_of(const std::string& url) {
  const std::size_t authority = url.find("://");
  return url.substr(0, authority == std::string::npos ? authority : url.find('/', authority + 3));
}

/// A child that is started meanwhile must not hold the connection.
curl_socket_t open_socket(void*, curlsocktype, curl_sockaddr* address) noexcept {
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

ErrorKind kind_of(CURLcode code, bool sent) {
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_UNKNOWN_OPTION:
    case CURLE_NOT_BUILT_IN:
      return sent ? ErrorKind::timeout : ErrorKind::configuration;
    case CURLE_OUT_OF_MEMORY:
      return ErrorKind::internal;
    default:
      return sent ? ErrorKind::timeout : ErrorKind::unavailable;
  }
}

}  // namespace

Transfer::Transfer(CURL* handle, const Options& options, const HttpRequest& request, Sink sink)
    : handle_(handle), server_(server_of(request.url)), body_(request.body), sink_(std::move(sink)) {
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_ERRORBUFFER, message_.data());
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count()));
  set(CURLOPT_WRITEFUNCTION, &Transfer::on_write);
  set(CURLOPT_WRITEDATA, this);
  set_limits();
  set_tls(options);
  set_method(request);
  set_headers(request);
}

Transfer::~Transfer() {
  curl_easy_reset(handle_);
  for (const curl_slist* header = headers_; header != nullptr; header = header->next) {
    wipe(header->data, std::strlen(header->data));
  }
  curl_slist_free_all(headers_);
}

void Transfer::set_limits() {
  set(CURLOPT_NOSIGNAL, 1L);
  // A name that is still looked up at the deadline is left to its thread.
  set(CURLOPT_QUICK_EXIT, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_PROXY, "");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  // On its plain port etcd takes HTTP/2 for gRPC.
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_OPENSOCKETFUNCTION, &open_socket);
}

void Transfer::set_tls(const Options& options) {
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!options.ca.empty()) {
    set(CURLOPT_CAINFO, options.ca.c_str());
    // The system's certificates would be good enough, too.
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
  if (!options.client_cert.empty()) {
    set(CURLOPT_SSLCERT, options.client_cert.c_str());
    set(CURLOPT_SSLKEY, options.client_key.c_str());
  }
}

void Transfer::set_method(const HttpRequest& request) {
  if (request.method == HttpRequest::Method::get) return set(CURLOPT_HTTPGET, 1L);
  if (request.method == HttpRequest::Method::remove) {
    set(CURLOPT_CUSTOMREQUEST, "DELETE");
    // On a kept connection that breaks libcurl sends a request without a body twice.
    return set(CURLOPT_FRESH_CONNECT, 1L);
  }
  set(CURLOPT_POST, 1L);
  if (request.method == HttpRequest::Method::put) set(CURLOPT_CUSTOMREQUEST, "PUT");
  // libcurl cannot read it twice, so that it sends it once also where a kept connection breaks.
  set(CURLOPT_READFUNCTION, &Transfer::on_read);
  set(CURLOPT_READDATA, this);
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body_.size()));
}

void Transfer::set_headers(const HttpRequest& request) {
  add_header("Expect", "");
  if (!body_.empty()) add_header("Content-Type", request.content_type);
  if (request.authorization.size() != 0) add_header("Authorization", request.authorization.reveal());
  set(CURLOPT_HTTPHEADER, headers_);
}

void Transfer::add_header(std::string_view name, std::string_view value) {
  WipedBytes line(name.begin(), name.end());
  line.reserve(name.size() + value.size() + 3);
  line.insert(line.end(), {':', ' '});
  line.insert(line.end(), value.begin(), value.end());
  line.push_back('\0');
  curl_slist* longer = curl_slist_append(headers_, line.data());
  if (longer == nullptr) {
    prepared_ = CURLE_OUT_OF_MEMORY;
    return;
  }
  headers_ = longer;
}

std::size_t Transfer::on_read(char* to, std::size_t size, std::size_t count, void* self) noexcept {
  std::string_view& rest = static_cast<Transfer*>(self)->body_;
  const std::size_t taken = std::min(size * count, rest.size());
  std::copy_n(rest.data(), taken, to);
  rest.remove_prefix(taken);
  return taken;
}

std::size_t Transfer::on_write(const char* data, std::size_t size, std::size_t count, void* self) noexcept {
  auto& transfer = *static_cast<Transfer*>(self);
  try {
    if (transfer.sink_({data, size * count})) return size * count;
  } catch (const std::bad_alloc&) {  // the same: there is no room for it
  }
  transfer.refused_ = true;
  return CURL_WRITEFUNC_ERROR;
}

Error Transfer::error(CURLcode code) const {
  long sent = 0;
  curl_easy_getinfo(handle_, CURLINFO_REQUEST_SIZE, &sent);
  if (refused_) return {ErrorKind::internal, format("{}: its reply is too large", server_)};
  const char* said = message_.front() != '\0' ? message_.data() : curl_easy_strerror(code);
  return {kind_of(code, sent > 0), format("{}: {}", server_, excerpt(said, kMostOfMessage))};
}

}  // namespace rest_fcgi::etcd
