// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "gateway/http/request_parser.h"

namespace rest_fcgi::gateway::test {

/// Passes the bytes of a test to a RequestParser in the same way as HttpConnection.
class ParserDriver {
 public:
  explicit ParserDriver(const RequestLimits& limits)
      : buffer_(limits.max_head_size + 4096), parser_(limits, buffer_, budget_) {}

  std::size_t take(std::string_view bytes) {
    std::size_t skipped = 0;
    if (buffer_.size() == 0 && !has_begun_) {
      skipped = std::min(bytes.find_first_not_of("\r\n"), bytes.size());
      bytes.remove_prefix(skipped);
      if (bytes.empty()) return skipped;
      refusal_ = refusal_of_first_byte(bytes.front());
      if (refusal_) return skipped;
      has_begun_ = true;
    }
    const std::size_t size = std::min(bytes.size(), buffer_.max_size() - buffer_.size());
    boost::asio::buffer_copy(buffer_.prepare(size), boost::asio::buffer(bytes.data(), size));
    buffer_.commit(size);
    parse();
    const bool is_over = is_complete() || refusal_;
    const std::size_t used = is_over ? size - std::min(size, buffer_.size()) : size;
    return skipped + used;
  }

  [[nodiscard]] bool is_complete() { return !refusal_ && parser_.is_done(); }
  [[nodiscard]] const std::optional<Refusal>& refusal() const { return refusal_; }
  [[nodiscard]] RequestParser& parser() { return parser_; }

 private:
  void parse() {
    boost::beast::error_code error;
    while (buffer_.size() != 0 && !parser_.is_done() && !error) {
      const bool begins_body = parser_.is_header_done() && !has_body_;
      const bool may_be_empty = *static_cast<const char*>(buffer_.data().data()) == '0';
      if (begins_body && parser_.chunked() && buffer_.size() < 5 && may_be_empty) return;
      has_body_ = has_body_ || begins_body;
      parser_.eager(parser_.is_header_done());
      buffer_.consume(parser_.put(buffer_.data(), error));
    }
    if (error == boost::beast::http::error::need_more && buffer_.size() < buffer_.max_size()) return;
    if (error == boost::beast::http::error::need_more) error = boost::beast::http::error::buffer_overflow;
    if (error) refusal_ = parser_.refusal(error);
  }

  BodyBudget budget_{std::size_t{1} << 30};
  boost::beast::flat_buffer buffer_;
  RequestParser parser_;
  std::optional<Refusal> refusal_;
  bool has_begun_ = false;
  bool has_body_ = false;
};

}  // namespace rest_fcgi::gateway::test
