// SPDX-License-Identifier: MIT
#include "rest_fcgi/watch/watch.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include <curl/curl.h>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::watch {
namespace {

constexpr long kConnectTimeout = 10;  // seconds
constexpr std::size_t kMostQuoted = 200;

/// The pauses before further connections. Each failed connection doubles the pause.
constexpr std::chrono::milliseconds kFirstPause{400};
constexpr std::chrono::milliseconds kLongestPause{5000};

struct CurlDeleter {
  void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
};
using CurlEasy = std::unique_ptr<CURL, CurlDeleter>;

class Headers {
 public:
  Headers(const Secret& token, const std::string& last_id) {
    add(format("X-Auth-Token: {}", token.reveal().text));
    if (!last_id.empty()) add(format("Last-Event-ID: {}", last_id));
  }
  ~Headers() { curl_slist_free_all(list_); }
  Headers(const Headers&) = delete;
  Headers& operator=(const Headers&) = delete;

  [[nodiscard]] const curl_slist* get() const noexcept { return list_; }

 private:
  void add(const std::string& line) {
    curl_slist* const longer = curl_slist_append(list_, line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    list_ = longer;
  }

  curl_slist* list_ = nullptr;
};

/// One connection to the service.
struct Stream {
  CURL* handle;
  const Options& options;
  std::string& last_id;  ///< `last_id` is the id of the last event, with which the next connection continues.
  FieldReader reader{};
  bool is_open = false;           ///< Whether the reply is an event stream.
  std::string refusal{};          ///< `refusal` is the beginning of a reply that is not an event stream.
  std::string comment{};          ///< `comment` is the last comment. The service says there why it ends.
  std::optional<Error> failed{};  ///< `failed` says why `on_bytes` ended the transfer.
};

/// Writes a line to standard error.
void say(const std::string& text) {
  const std::string line = format("rest_fcgi: --watch: {}\n", text);
  std::fputs(log::for_standard_error(log::Level::info, line).c_str(), stderr);
}

bool is_event_stream(CURL* handle) {
  long status = 0;
  const char* type = nullptr;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(handle, CURLINFO_CONTENT_TYPE, &type);
  return status == 200 && type != nullptr && std::string_view(type).starts_with("text/event-stream");
}

Result<void> print_events(Stream& stream, std::string_view bytes) {
  if (!std::exchange(stream.is_open, true)) {
    // The service names the user in a header, in percent encoding.
    curl_header* user = nullptr;
    const bool is_named =
        curl_easy_header(stream.handle, "X-Auth-User", 0, CURLH_HEADER, -1, &user) == CURLHE_OK;
    const auto& tags = stream.options.tags;
    say(format(
        "watching {}{}, {}", stream.options.url,
        is_named ? format(" as {}", escaped(excerpt(user->value, kMostQuoted))) : "",
        tags.empty() ? "all events" : format("events with the tag {}", escaped(joined(tags, " or ")))));
  }
  std::string text;
  auto read = stream.reader.read(bytes, [&](std::string_view name, std::string_view value) {
    if (name == "data") text += line_of(value, stream.options);
    if (name == "id") stream.last_id = value;
    if (name.empty()) stream.comment = value;
  });
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
  if (code != CURLE_OK) {
    return {ErrorKind::unavailable,
            "the connection broke: the service was killed, or this program read too slowly and lost events"};
  }
  return {ErrorKind::unavailable, format("the service ended the event stream: {}",
                                         stream.comment.empty() ? "it stops, or the token is not valid now"
                                                                : escaped(stream.comment))};
}

/// Prints the events of one connection. Returns why it ended, and whether it was an event stream.
std::pair<Error, bool> follow(const Options& options, const Secret& token, std::string& last_id) {
  const CurlEasy owner(curl_easy_init());
  if (!owner) throw std::bad_alloc();
  CURL* const handle = owner.get();
  const Headers headers(token, last_id);
  Stream stream{handle, options, last_id};
  // The URL contains the tag filters, so that the service sends less.
  std::string url = options.url + "/events";
  for (const std::string& tag : options.tags)
    url += format("{}tag={}", &tag == options.tags.data() ? '?' : '&', percent_encoded(tag));
  std::array<char, CURL_ERROR_SIZE> message{};
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &on_bytes);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &stream);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, kConnectTimeout);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_PROXY, "");  // A proxy would see the token.
  // libcurl itself does not read SSL_CERT_FILE, but the programs curl and openssl do.
  if (const char* file = std::getenv("SSL_CERT_FILE"); file != nullptr && *file != '\0')
    curl_easy_setopt(handle, CURLOPT_CAINFO, file);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, message.data());
  Error error = reason(stream, curl_easy_perform(handle), message.data());
  error.message = format("{}: {}", options.url, error.message);
  return {std::move(error), stream.is_open};
}

bool shows_colours() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  return ::isatty(STDOUT_FILENO) != 0 && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

}  // namespace

Error run(Options options, const Secret& token) {
  // Ctrl-C and a closed pipe have to end the process.
  sigset_t none;
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  options.in_colour = shows_colours();
  while (options.url.ends_with('/')) options.url.pop_back();
  std::string last_id;
  std::chrono::milliseconds pause = kFirstPause;
  for (bool is_first = true;; is_first = false) {
    auto [error, was_open] = follow(options, token, last_id);
    if (error.kind != ErrorKind::unavailable || (is_first && !was_open)) {
      error.message = format("--watch: {}", error.message);
      return error;
    }
    if (was_open) {
      say(format("{}; connecting again", error.message));
      pause = kFirstPause;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace rest_fcgi::watch
