// SPDX-License-Identifier: MIT
#include "rest_fcgi/watch/watch.h"

#include <signal.h>
#include <sys/socket.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include <curl/curl.h>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::watch {
namespace {

constexpr long kConnectTimeout = 10;  // seconds
constexpr std::size_t kMostQuoted = 200;

struct CurlDeleter {
  void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
};
using CurlEasy = std::unique_ptr<CURL, CurlDeleter>;

class TokenHeader {
 public:
  explicit TokenHeader(const Secret& token) {
    list_ = curl_slist_append(nullptr, format("X-Auth-Token: {}", token.reveal().text).c_str());
    if (list_ == nullptr) throw std::bad_alloc();
  }
  ~TokenHeader() { curl_slist_free_all(list_); }
  TokenHeader(const TokenHeader&) = delete;
  TokenHeader& operator=(const TokenHeader&) = delete;

  [[nodiscard]] const curl_slist* get() const noexcept { return list_; }

 private:
  curl_slist* list_;
};

struct Stream {
  CURL* handle;
  const Options& options;
  DataReader reader{};
  std::string refusal{};          ///< `refusal` is the beginning of a reply that is not an event stream.
  std::optional<Error> failed{};  ///< `failed` says why `on_bytes` ended the transfer.
};

bool is_event_stream(CURL* handle) {
  long status = 0;
  const char* type = nullptr;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(handle, CURLINFO_CONTENT_TYPE, &type);
  return status == 200 && type != nullptr && std::string_view(type).starts_with("text/event-stream");
}

Result<void> print_events(Stream& stream, std::string_view bytes) {
  std::string text;
  auto read =
      stream.reader.read(bytes, [&](std::string_view event) { text += line_of(event, stream.options); });
  if (!read) return read;
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return {};
  return Error{ErrorKind::internal, format("cannot write to standard output: {}", errno_text())};
}

std::size_t on_bytes(const char* data, std::size_t size, std::size_t count, void* to) noexcept {
  auto& stream = *static_cast<Stream*>(to);
  const std::string_view bytes(data, size * count);
  try {
    if (is_event_stream(stream.handle)) {
      if (auto printed = print_events(stream, bytes); !printed) stream.failed = std::move(printed).error();
    } else if (stream.refusal.size() <= kMostQuoted) {
      stream.refusal += bytes;
    }
  } catch (const std::bad_alloc&) {
    stream.failed = Error{ErrorKind::internal, "out of memory"};
  }
  return stream.failed ? 0 : bytes.size();
}

/// The URL contains the tag filter, so that the service sends less.
std::string events_url(const Options& options) {
  std::string url = options.url;
  while (url.ends_with('/')) url.pop_back();
  url += "/events";
  return options.tag == "*" ? url : url + "?tag=" + percent_encoded(options.tag);
}

void configure(CURL* handle, const std::string& url, const TokenHeader& header, Stream& stream) {
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, header.get());
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &on_bytes);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &stream);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, kConnectTimeout);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_PROXY, "");  // A proxy would see the token. libcurl itself does not read
                                                // SSL_CERT_FILE, but the programs curl and openssl do.
  if (const char* file = std::getenv("SSL_CERT_FILE"); file != nullptr && *file != '\0')
    curl_easy_setopt(handle, CURLOPT_CAINFO, file);
}

Error reason(const Stream& stream, CURLcode code, const char* message) {
  if (stream.failed) return *stream.failed;
  long status = 0;
  curl_easy_getinfo(stream.handle, CURLINFO_RESPONSE_CODE, &status);
  if (status == 0) {
    const char* mend =
        code == CURLE_PEER_FAILED_VERIFICATION
            ? "; set SSL_CERT_FILE to a file with the certificate of the server or of its authority"
            : "";
    return {ErrorKind::unavailable,
            format("{}{}", *message != '\0' ? message : curl_easy_strerror(code), mend)};
  }
  if (status == 401) {
    return {ErrorKind::authentication,
            "the service refuses the token (status 401): make a new one with rest_fcgi --mk-token"};
  }
  if (!is_event_stream(stream.handle)) {
    return {ErrorKind::unavailable,
            format("found a reply with status {}, expected an event stream of rest_cherrypy or rest_tornado: "
                   "{}",
                   status, escaped(excerpt(stream.refusal, kMostQuoted)))};
  }
  return {ErrorKind::unavailable,
          "the event stream ended: the service stopped, or the token expired or was revoked"};
}

}  // namespace

Error run(const Options& options, const Secret& token) {
  // Ctrl-C and a closed pipe have to end the process.
  sigset_t none;
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  const CurlEasy handle(curl_easy_init());
  if (!handle) throw std::bad_alloc();
  const TokenHeader header(token);
  Stream stream{handle.get(), options};
  const std::string url = events_url(options);
  std::array<char, CURL_ERROR_SIZE> message{};
  configure(handle.get(), url, header, stream);
  curl_easy_setopt(handle.get(), CURLOPT_ERRORBUFFER, message.data());
  Error error = reason(stream, curl_easy_perform(handle.get()), message.data());
  error.message = format("--watch: {}: {}", options.url, error.message);
  return error;
}

}  // namespace rest_fcgi::watch
