// SPDX-License-Identifier: MIT
#include "etcd/http_stream.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::etcd {

HttpStream::HttpStream(const Options& options, const HttpRequest& request)
    : url_(request.url),
      body_(request.body.begin(), request.body.end()),
      easy_(make_curl_easy()),
      multi_(curl_multi_init()) {
  if (!multi_) throw std::bad_alloc();
  HttpRequest own = request;
  own.body = {body_.data(), body_.size()};
  transfer_ = std::make_unique<Transfer>(easy_.get(), options, own, [this](std::string_view bytes) {
    came_ += bytes;
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
  while (came_.empty() && !ended_) {
    if (Result<void> advanced = advance(); !advanced) ended_ = std::move(advanced).error();
    if (!came_.empty() || ended_) break;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) break;
    constexpr std::int64_t kLongest = 60000;
    curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(std::min(left, kLongest)), nullptr);
  }
  if (came_.empty() && ended_) return *ended_;
  return std::exchange(came_, {});
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
  return Error{ErrorKind::timeout, format("{}: the reply ended", url_)};
}

long HttpStream::status() const {
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  return status;
}

}  // namespace rest_fcgi::etcd
