// SPDX-License-Identifier: MIT
#include "etcd/transport.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <new>
#include <utility>

#include "rest_fcgi/core/access.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::etcd {

namespace {

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

/// A new one. Throws std::bad_alloc.
CurlEasy make_curl_easy() {
  CurlEasy handle(curl().easy_init());
  if (!handle) throw std::bad_alloc();
  return handle;
}

/// More at once are fine, and closed when they are done.
constexpr std::size_t kMostIdle = 16;

Result<void> check_file(std::string_view name, const std::string& path) {
  if (path.empty() || std::ifstream(path).is_open()) return {};
  return Error{ErrorKind::configuration,
               format("etcd.{}: {}: cannot be read: {}", name, path, why_unreadable(path))};
}

Result<void> check(const Options& options) {
  for (const auto& [name, path] : {std::pair<std::string_view, const std::string&>{"ca", options.ca},
                                   {"client_cert", options.client_cert},
                                   {"client_key", options.client_key}}) {
    if (Result<void> readable = check_file(name, path); !readable) return readable;
  }
  if (options.client_cert.empty() == options.client_key.empty()) return {};
  return Error{ErrorKind::configuration, format("etcd: {} without {}; both go together, or neither",
                                                options.client_key.empty() ? "client_cert" : "client_key",
                                                options.client_key.empty() ? "client_key" : "client_cert")};
}

}  // namespace

/// One exchange on an easy handle: sets it up, feeds it the request's body, and takes the reply's. The
/// handle, `options` and what `request` borrows have to outlive it; when it goes, the handle keeps its
/// connections and forgets all else. Not synchronized.
class Transfer {
 public:
  /// Takes some of the reply's body. False: that is enough, the transfer breaks off.
  using Sink = std::function<bool(std::string_view)>;

  Transfer(CURL* handle, const Options& options, const HttpRequest& request, Sink sink);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// What became of it, as `Transport` tells it. REQUIRES: code is not CURLE_OK.
  [[nodiscard]] Error error(CURLcode code) const {
    long sent = 0;
    curl().easy_getinfo(handle_, CURLINFO_REQUEST_SIZE, &sent);
    if (refused_) return {ErrorKind::internal, format("{}: its reply is too large", server_)};
    const char* said = message_.front() != '\0' ? message_.data() : curl().easy_strerror(code);
    return {kind_of(code, sent > 0), format("{}: {}", server_, excerpt(said, kMostOfText))};
  }

  /// The first option that libcurl did not take; CURLE_OK: it took all.
  [[nodiscard]] CURLcode prepared() const noexcept { return prepared_; }

 private:
  static std::size_t on_read(char* to, std::size_t size, std::size_t count, void* self) noexcept {
    std::string_view& rest = static_cast<Transfer*>(self)->body_;
    const std::size_t taken = std::min(size * count, rest.size());
    std::copy_n(rest.data(), taken, to);
    rest.remove_prefix(taken);
    return taken;
  }

  static std::size_t on_write(const char* data, std::size_t size, std::size_t count, void* self) noexcept {
    auto& transfer = *static_cast<Transfer*>(self);
    if (transfer.sink_({data, size * count})) return size * count;
    transfer.refused_ = true;
    return CURL_WRITEFUNC_ERROR;
  }

  template <class T>
  void set(CURLoption option, T value) {
    const CURLcode code = curl().easy_setopt(handle_, option, value);
    if (prepared_ == CURLE_OK) prepared_ = code;
  }
  void set_limits() {
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

  void set_tls(const Options& options) {
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

  void set_method(const HttpRequest& request) {
    if (request.method == HttpRequest::Method::get) return set(CURLOPT_HTTPGET, 1L);
    set(CURLOPT_POST, 1L);
    if (request.method == HttpRequest::Method::put) set(CURLOPT_CUSTOMREQUEST, "PUT");
    // libcurl cannot read it twice, so that it sends it once also where a kept connection breaks.
    set(CURLOPT_READFUNCTION, &Transfer::on_read);
    set(CURLOPT_READDATA, this);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body_.size()));
  }

  void set_headers(const HttpRequest& request) {
    add_header("Expect", "");
    if (!body_.empty()) add_header("Content-Type", request.content_type);
    if (request.authorization.size() != 0) add_header("Authorization", request.authorization.reveal());
    set(CURLOPT_HTTPHEADER, headers_);
  }

  void add_header(std::string_view name, std::string_view value) {
    WipedBytes line(name.begin(), name.end());
    line.reserve(name.size() + value.size() + 3);
    line.insert(line.end(), {':', ' '});
    append(line, value);
    line.push_back('\0');
    curl_slist* longer = curl().slist_append(headers_, line.data());
    if (longer == nullptr) {
      prepared_ = CURLE_OUT_OF_MEMORY;
      return;
    }
    headers_ = longer;
  }

  CURL* const handle_;
  const std::string server_;
  std::string_view body_;
  const Sink sink_;
  curl_slist* headers_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> message_{};
  CURLcode prepared_ = CURLE_OK;
  bool refused_ = false;
};

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
  curl().easy_reset(handle_);
  for (const curl_slist* header = headers_; header != nullptr; header = header->next) {
    wipe(header->data, std::strlen(header->data));
  }
  curl().slist_free_all(headers_);
}

HttpStream::HttpStream(const Options& options, const HttpRequest& request)
    : url_(request.url),
      body_(request.body.begin(), request.body.end()),
      easy_(make_curl_easy()),
      multi_(curl().multi_init()) {
  if (!multi_) throw std::bad_alloc();
  HttpRequest own = request;
  own.body = {body_.data(), body_.size()};
  transfer_ = std::make_unique<Transfer>(easy_.get(), options, own, [this](std::string_view bytes) {
    came_ += bytes;
    return true;
  });
  if (transfer_->prepared() != CURLE_OK) {
    ended_ = transfer_->error(transfer_->prepared());
  } else if (curl().multi_add_handle(multi_.get(), easy_.get()) != CURLM_OK) {
    throw std::bad_alloc();
  }
}

HttpStream::~HttpStream() {
  curl().multi_remove_handle(multi_.get(), easy_.get());
}

Result<std::string> HttpStream::read(Deadline deadline) {
  while (came_.empty() && !ended_) {
    if (Result<void> advanced = advance(); !advanced) ended_ = std::move(advanced).error();
    if (!came_.empty() || ended_) break;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) break;
    constexpr std::int64_t kLongest = 60000;
    curl().multi_poll(multi_.get(), nullptr, 0, static_cast<int>(std::min(left, kLongest)), nullptr);
  }
  if (came_.empty() && ended_) return *ended_;
  return std::exchange(came_, {});
}

Result<void> HttpStream::advance() {
  int running = 0;
  if (const CURLMcode code = curl().multi_perform(multi_.get(), &running); code != CURLM_OK) {
    return Error{ErrorKind::internal, format("{}: {}", url_, curl().multi_strerror(code))};
  }
  int left = 0;
  const CURLMsg* message = curl().multi_info_read(multi_.get(), &left);
  if (message == nullptr) return {};
  if (message->data.result != CURLE_OK) return transfer_->error(message->data.result);
  return Error{ErrorKind::timeout, format("{}: the reply ended", url_)};
}

long HttpStream::status() const {
  long status = 0;
  curl().easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  return status;
}

Result<std::unique_ptr<Transport>> Transport::make(Options options) {
  if (Result<void> checked = check(options); !checked) return std::move(checked).error();
  if (Result<void> loaded = load_curl(); !loaded) return std::move(loaded).error();
  return std::unique_ptr<Transport>(new Transport(std::move(options)));
}

CurlEasy Transport::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      CurlEasy handle = std::move(idle_.back());
      idle_.pop_back();
      return handle;
    }
  }
  return make_curl_easy();
}

void Transport::give_back(CurlEasy handle) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMostIdle) idle_.push_back(std::move(handle));
}

Result<HttpReply> Transport::exchange(const HttpRequest& request, Deadline deadline) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
  if (left <= milliseconds(0)) {
    return Error{ErrorKind::unavailable, format("{}: no time was left", request.url)};
  }
  CurlEasy handle = take();
  Result<HttpReply> reply = exchange_on(handle.get(), request, std::min(left, options_.try_timeout));
  // One that failed goes, with all of its connections.
  if (reply) give_back(std::move(handle));
  return reply;
}

Result<HttpReply> Transport::exchange_on(CURL* handle, const HttpRequest& request,
                                         std::chrono::milliseconds most) const {
  HttpReply reply;
  const Transfer transfer(handle, options_, request, [&reply](std::string_view bytes) {
    if (bytes.size() > kMaxReply - reply.body.size()) return false;
    reply.body += bytes;
    return true;
  });
  CURLcode code = transfer.prepared();
  if (code == CURLE_OK)
    code = curl().easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(most.count()));
  if (code == CURLE_OK) code = curl().easy_perform(handle);
  if (code != CURLE_OK) return transfer.error(code);
  curl().easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &reply.status);
  return reply;
}

std::unique_ptr<HttpStream> Transport::open(const HttpRequest& request) {
  return std::make_unique<HttpStream>(options_, request);
}

}  // namespace rest_fcgi::etcd
