// SPDX-License-Identifier: MIT
#include "etcd/transport.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <functional>
#include <new>
#include <utility>

#include "rest_fcgi/core/access.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/waiting.h"

namespace rest_fcgi::etcd {
namespace {

constexpr std::size_t kMostIdleHandles = 16;

std::string server_of(const std::string& url) {
  const std::size_t authority = url.find("://");
  return url.substr(0, authority == std::string::npos ? authority : url.find('/', authority + 3));
}

/// Opens a socket that child processes do not inherit.
curl_socket_t open_socket(void*, curlsocktype, curl_sockaddr* address) noexcept {
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

ErrorKind kind_of(CURLcode code, bool was_sent) {
  if (was_sent) return ErrorKind::timeout;
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_UNKNOWN_OPTION:
    case CURLE_NOT_BUILT_IN:
      return ErrorKind::configuration;
    default:
      return ErrorKind::unavailable;
  }
}

CurlEasy make_handle() {
  CurlEasy handle(curl_easy_init());
  if (!handle) throw std::bad_alloc();
  return handle;
}

Result<void> check_files(const Options& options) {
  for (const auto& [name, path] : {std::pair<std::string_view, const std::string&>{"ca", options.ca},
                                   {"client_cert", options.client_cert},
                                   {"client_key", options.client_key}}) {
    if (path.empty() || std::ifstream(path).is_open()) continue;
    return wrong_setting(format("etcd.{}", name),
                         format("{}: cannot be read: {}", path, why_unreadable(path)));
  }
  if (options.client_cert.empty() == options.client_key.empty()) return {};
  const bool has_key = options.client_cert.empty();
  return wrong_setting(
      has_key ? "etcd.client_key" : "etcd.client_cert",
      format("found no {}, expected both or neither", has_key ? "client_cert" : "client_key"));
}

}  // namespace

/// One request and its reply on a libcurl handle. The destructor resets the handle for the next Transfer and
/// keeps the handle's open connections. The handle, `options` and the texts of `request` must outlive the
/// Transfer. A Transfer is not thread-safe.
class Transfer {
 public:
  /// A function that gets bytes of the reply and returns false if the reply is too large.
  using Sink = std::function<bool(std::string_view)>;

  Transfer(CURL* handle, const Options& options, const HttpRequest& request, Sink sink)
      : handle_(handle), server_(server_of(request.url)), body_(request.body), sink_(std::move(sink)) {
    set(CURLOPT_URL, request.url.c_str());
    set(CURLOPT_ERRORBUFFER, message_.data());
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count()));
    set(CURLOPT_WRITEFUNCTION, &Transfer::on_write);
    set(CURLOPT_WRITEDATA, this);
    set_limits();
    set_tls(options);
    set_method(request.method);
    set_headers(request);
  }

  ~Transfer() {
    curl_easy_reset(handle_);
    curl_slist_free_all(headers_);
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// REQUIRES: `code` is not CURLE_OK.
  [[nodiscard]] Error error(CURLcode code) const {
    long sent = 0;
    curl_easy_getinfo(handle_, CURLINFO_REQUEST_SIZE, &sent);
    if (is_too_large_) {
      return {ErrorKind::internal,
              format("{}: the reply has more than {} bytes", server_, Transport::kMaxReply)};
    }
    const char* said = message_.front() != '\0' ? message_.data() : curl_easy_strerror(code);
    return {kind_of(code, sent > 0), format("{}: {}", server_, excerpt(said, kMostQuoted))};
  }

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
    transfer.is_too_large_ = true;
    return CURL_WRITEFUNC_ERROR;
  }

  template <class T>
  void set(CURLoption option, T value) {
    const CURLcode code = curl_easy_setopt(handle_, option, value);
    if (prepared_ == CURLE_OK) prepared_ = code;
  }

  void set_limits() {
    set(CURLOPT_NOSIGNAL, 1L);
    // With CURLOPT_QUICK_EXIT, the end of a transfer does not wait for a DNS look-up in libcurl's resolver
    // thread.
    set(CURLOPT_QUICK_EXIT, 1L);
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_PROXY, "");
    set(CURLOPT_FOLLOWLOCATION, 0L);
    // Forbids HTTP/2, because etcd treats HTTP/2 without TLS as gRPC.
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
      // Without this call, libcurl would also trust the system's CA certificates.
      set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    }
    if (!options.client_cert.empty()) {
      set(CURLOPT_SSLCERT, options.client_cert.c_str());
      set(CURLOPT_SSLKEY, options.client_key.c_str());
    }
  }

  void set_method(HttpRequest::Method method) {
    if (method == HttpRequest::Method::get) return set(CURLOPT_HTTPGET, 1L);
    set(CURLOPT_POST, 1L);
    if (method == HttpRequest::Method::put) set(CURLOPT_CUSTOMREQUEST, "PUT");
    // Passes the body by a callback. libcurl cannot read the body twice and so cannot repeat the request by
    // itself.
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
    curl_slist* const longer = curl_slist_append(headers_, format("{}: {}", name, value).c_str());
    if (longer == nullptr) throw std::bad_alloc();
    headers_ = longer;
  }

  CURL* const handle_;
  const std::string server_;
  std::string_view body_;
  const Sink sink_;
  curl_slist* headers_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> message_{};
  CURLcode prepared_ = CURLE_OK;
  bool is_too_large_ = false;
};

HttpStream::HttpStream(const Options& options, const HttpRequest& request)
    : url_(request.url), body_(request.body), easy_(make_handle()), multi_(curl_multi_init()) {
  if (!multi_) throw std::bad_alloc();
  HttpRequest own = request;
  own.body = body_;
  transfer_ = std::make_unique<Transfer>(easy_.get(), options, own, [this](std::string_view bytes) {
    received_ += bytes;
    return true;
  });
  if (transfer_->prepared() != CURLE_OK) {
    ended_ = transfer_->error(transfer_->prepared());
  } else if (curl_multi_add_handle(multi_.get(), easy_.get()) != CURLM_OK) {
    throw std::bad_alloc();
  }
}

HttpStream::~HttpStream() {
  curl_multi_remove_handle(multi_.get(), easy_.get());
}

Result<std::string> HttpStream::read(Deadline deadline) {
  while (received_.empty() && !ended_) {
    if (Result<void> advanced = advance(); !advanced) ended_ = std::move(advanced).error();
    if (!received_.empty() || ended_) break;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) break;
    constexpr std::int64_t kLongest = 60000;
    const Waiting waiting;
    curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(std::min(left, kLongest)), nullptr);
  }
  if (received_.empty() && ended_) return *ended_;
  return std::exchange(received_, {});
}

Result<void> HttpStream::advance() {
  int running = 0;
  if (const CURLMcode code = curl_multi_perform(multi_.get(), &running); code != CURLM_OK) {
    return Error{ErrorKind::internal, format("{}: {}", url_, curl_multi_strerror(code))};
  }
  int left = 0;
  const CURLMsg* message = curl_multi_info_read(multi_.get(), &left);
  if (message == nullptr) return {};
  if (message->data.result != CURLE_OK) return transfer_->error(message->data.result);
  return Error{ErrorKind::timeout, format("{}: the server ended the reply, expected an open stream", url_)};
}

long HttpStream::status() const {
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  return status;
}

Result<std::unique_ptr<Transport>> Transport::make(Options options) {
  if (Result<void> checked = check_files(options); !checked) return std::move(checked).error();
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) {
    return Error{ErrorKind::configuration, format("etcd: libcurl: {}", curl_easy_strerror(started))};
  }
  return std::unique_ptr<Transport>(new Transport(std::move(options)));
}

Result<HttpReply> Transport::exchange(const HttpRequest& request, Deadline deadline) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
  if (left <= milliseconds(0)) {
    return Error{ErrorKind::unavailable,
                 format("{}: the deadline passed before the request was sent", request.url)};
  }
  MutexLock lock(mutex_);
  CurlEasy handle = idle_.empty() ? make_handle() : std::move(idle_.back());
  if (!idle_.empty()) idle_.pop_back();
  lock.unlock();

  HttpReply reply;
  {
    const Transfer transfer(handle.get(), options_, request, [&reply](std::string_view bytes) {
      if (bytes.size() > kMaxReply - reply.body.size()) return false;
      reply.body += bytes;
      return true;
    });
    CURLcode code = transfer.prepared();
    const auto timeout = static_cast<long>(std::min(left, options_.try_timeout).count());
    if (code == CURLE_OK) code = curl_easy_setopt(handle.get(), CURLOPT_TIMEOUT_MS, timeout);
    const Waiting waiting;
    if (code == CURLE_OK) code = curl_easy_perform(handle.get());
    if (code != CURLE_OK) return transfer.error(code);
    curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &reply.status);
  }
  lock.lock();
  if (idle_.size() < kMostIdleHandles) idle_.push_back(std::move(handle));
  return reply;
}

std::unique_ptr<HttpStream> Transport::open(const HttpRequest& request) {
  return std::make_unique<HttpStream>(options_, request);
}

}  // namespace rest_fcgi::etcd
