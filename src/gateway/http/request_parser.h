// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>

#include "gateway/body_budget.h"
#include "gateway/reply.h"
#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway {

/// Returns a Refusal if the first byte of a connection is not HTTP but, for example, TLS.
[[nodiscard]] std::optional<Refusal> refusal_of_first_byte(char first) noexcept;

struct RequestLimits {
  std::size_t max_head_size = 65536;
  std::size_t max_body_size = 1048576;
  /// The sentence of the refusal of a larger body, which names the configuration key and its value.
  std::string_view body_too_large = "Request body is larger than max_request_body_size";
  static constexpr std::size_t kMaxHeaders = 256;
  /// The largest size in bytes of all CGI variables.
  static constexpr std::size_t kMaxVariables = 262144;
};

/// Parses one request of HTTP/1.1 or 1.0 (RFC 9112) into an `Environ`. Refuses requests that a proxy could
/// understand differently: a Content-Length beside Transfer-Encoding, two lengths, an encoding other than
/// `chunked`, or a folded header. Used by one thread.
class RequestParser final : public boost::beast::http::basic_parser<true> {
 public:
  /// Parses `input`. Counts the body in `budget`. REQUIRES: `input` and `budget` outlive the parser.
  RequestParser(const RequestLimits& limits, const boost::beast::flat_buffer& input, BodyBudget& budget);
  ~RequestParser() override;
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  [[nodiscard]] Refusal refusal(boost::beast::error_code code) const noexcept;

  /// Returns whether the peer waits for `100 Continue` before it sends the body.
  [[nodiscard]] bool expects_continue() const noexcept { return expects_continue_; }

  [[nodiscard]] bool is_http_1_0() const noexcept { return is_http_1_0_; }
  [[nodiscard]] std::size_t body_size() const noexcept { return body_.size(); }

  /// Returns the request, which is valid as long as the parser. The caller adds the connection's variables.
  http::Environ& finish();

 private:
  using Text = boost::beast::string_view;
  using Code = boost::beast::error_code;

  void refuse(Refusal why, Code& code);
  void take_target(std::string_view target, Code& code);
  [[nodiscard]] bool is_folded(std::string_view header) const;
  bool add_variable(std::string_view header, std::string_view value);

  void on_request_impl(boost::beast::http::verb verb, Text method, Text target, int version,
                       Code& code) override;
  void on_field_impl(boost::beast::http::field header, Text name, Text value, Code& code) override;
  void on_header_impl(Code& code) override;
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, Code& code) override;
  std::size_t on_body_impl(Text bytes, Code& code) override;
  std::size_t on_chunk_body_impl(std::uint64_t left, Text bytes, Code& code) override;
  void on_chunk_header_impl(std::uint64_t size, Text extensions, Code& code) override;
  void on_finish_impl(Code& /*code*/) override {}
  void on_response_impl(int /*status*/, Text /*reason*/, int /*version*/, Code& /*code*/) override {}

  const boost::beast::flat_buffer& input_;
  BodyBudget& budget_;
  const std::string_view body_too_large_;
  /// The refusal by a check of this class. Absent if Beast found the error.
  std::optional<Refusal> refusal_;
  bool expects_continue_ = false;
  bool is_http_1_0_ = false;
  bool has_host_ = false;
  bool has_length_ = false;
  std::size_t headers_ = 0;
  std::size_t variables_size_ = 0;
  std::string body_;
  http::Environ environ_;
};

}  // namespace rest_fcgi::gateway
