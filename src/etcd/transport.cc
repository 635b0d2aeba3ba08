// SPDX-License-Identifier: MIT
#include "etcd/transport.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <utility>

#include "etcd/base64.h"
#include "etcd/http_stream.h"
#include "etcd/transfer.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::etcd {
namespace {

/// More at once are fine, and closed when they are done.
constexpr std::size_t kMostIdle = 16;

Result<void> check_file(std::string_view name, const std::string& path) {
  if (path.empty() || std::ifstream(path).is_open()) return {};
  return Error{ErrorKind::configuration, format("etcd: {}: {}: cannot be read", name, path)};
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

Secret basic_authorization(const Options& options) {
  if (options.username.empty()) return {};
  const std::string_view password = options.password ? options.password->reveal().text : std::string_view();
  WipedBytes plain;
  plain.reserve(options.username.size() + 1 + password.size());
  plain.insert(plain.end(), options.username.begin(), options.username.end());
  plain.push_back(':');
  plain.insert(plain.end(), password.begin(), password.end());
  constexpr std::string_view kScheme = "Basic ";
  WipedBytes text(kScheme.begin(), kScheme.end());
  append_base64(text, {plain.data(), plain.size()});
  return Secret({text.data(), text.size()});
}

Result<std::unique_ptr<Transport>> Transport::make(Options options) {
  if (Result<void> checked = check(options); !checked) return std::move(checked).error();
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
  if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(most.count()));
  if (code == CURLE_OK) code = curl_easy_perform(handle);
  if (code != CURLE_OK) return transfer.error(code);
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &reply.status);
  return reply;
}

Result<std::unique_ptr<HttpStream>> Transport::open(const HttpRequest& request) {
  return std::make_unique<HttpStream>(options_, request);
}

}  // namespace rest_fcgi::etcd
