// SPDX-License-Identifier: MIT
#include "gateway/http/request_parser.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <boost/beast/http/error.hpp>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::gateway {
namespace {

namespace beast = boost::beast;
using beast::http::error;
using http::Status;

constexpr Refusal kNoHttp = {Status::bad_request, "This is not an HTTP/1.1 request"};
constexpr Refusal kHeadTooLarge = {Status::request_header_fields_too_large,
                                   "The request's head is too large"};
constexpr Refusal kVersion = {Status::http_version_not_supported, "Only HTTP/1.1 and HTTP/1.0 are supported"};
constexpr Refusal kMethod = {Status::bad_request,
                             "The method has to be a word in capital letters, and not CONNECT"};
constexpr Refusal kTarget = {Status::bad_request,
                             "The request's target has to be a path, or a URL without a fragment"};
constexpr Refusal kPath = {Status::bad_request,
                           "The path has a control character, or a % without two hexadecimal digits"};
constexpr Refusal kHost = {Status::bad_request,
                           "Expected exactly one Host header, with the name of this host"};
constexpr Refusal kLength = {Status::bad_request,
                             "Content-Length has to be one number of bytes in decimal digits"};
constexpr Refusal kEncoding = {
    Status::bad_request, "Transfer-Encoding has to be chunked, in HTTP/1.1, and without a Content-Length"};
constexpr Refusal kChunk = {Status::bad_request, "The body's chunks are malformed"};
constexpr Refusal kHeader = {Status::bad_request, "A header is malformed"};
constexpr Refusal kBodies = {
    Status::service_unavailable,
    "The bodies of all current requests together are larger than max_body_bytes; try again later"};
constexpr Refusal kFolded = {Status::bad_request, "A header must not continue on the next line"};

/// The largest number of bytes that are reserved for a body before the body arrives.
constexpr std::uint64_t kEarlyRoom = 65536;

std::string_view view_of(beast::string_view text) noexcept {
  return {text.data(), text.size()};
}

char upper(char c) noexcept {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

bool names_version(std::string_view bytes) noexcept {
  const std::string_view line = bytes.substr(0, bytes.find("\r\n"));
  constexpr std::string_view kForm = " HTTP/d.d";
  if (line.size() < kForm.size()) return false;
  const std::string_view end = line.substr(line.size() - kForm.size());
  return end.substr(0, 6) == " HTTP/" && is_digit(end[6]) && end[7] == '.' && is_digit(end[8]);
}

/// Boost 1.83 has an error of its own for a second header Content-Length, which Boost 1.74 does not have.
template <class Errors>
bool is_length_error(beast::error_code code) noexcept {
  if constexpr (requires { Errors::multiple_content_length; }) {
    if (code == Errors::multiple_content_length) return true;
  }
  return code == Errors::bad_content_length;
}

Refusal refusal_of(beast::error_code code, std::string_view bytes) noexcept {
  if (code == error::header_limit) return kHeadTooLarge;
  if (code == error::bad_version) return names_version(bytes) ? kVersion : kNoHttp;
  if (code == error::bad_method) return kMethod;
  if (code == error::bad_target) return kTarget;
  if (is_length_error<error>(code)) return kLength;
  if (code == error::bad_transfer_encoding) return kEncoding;
  if (code == error::bad_chunk || code == error::bad_chunk_extension) return kChunk;
  return kHeader;
}

/// Returns false for a malformed escape or a control character.
bool decode_path(std::string_view path, std::string& decoded) {
  decoded.reserve(path.size());
  for (std::size_t at = 0; at < path.size(); ++at) {
    char c = path[at];
    if (c == '%') {
      const auto byte = percent_byte(path.substr(at));
      if (!byte) return false;
      c = *byte;
      at += 2;
    }
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7F) return false;
    decoded.push_back(c);
  }
  return true;
}

/// Returns the target of a request without scheme and host (RFC 9112, 3.2.2).
std::string_view without_origin(std::string_view target) noexcept {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!equal_without_case(target.substr(0, scheme.size()), scheme)) continue;
    const std::size_t slash = target.find_first_of("/?", scheme.size());
    if (slash == std::string_view::npos) return "/";
    return target[slash] == '/' ? target.substr(slash) : std::string_view();
  }
  return target;
}

/// Returns whether each character of `text` is allowed in a host and port (RFC 3986, 3.2).
bool is_host(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || is_digit(c) ||
           std::string_view(".-_~:[]%!$&'()*+,;=").find(c) != std::string_view::npos;
  });
}

std::string_view host_of(std::string_view host) noexcept {
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.rfind(':');
  return colon == std::string_view::npos || (bracket != std::string_view::npos && colon < bracket)
             ? host
             : host.substr(0, colon);
}

/// Returns the CGI variable of a header (RFC 3875, 4.1.18), or an empty text for a refused header. `Proxy` is
/// refused, because many programs read HTTP_PROXY as a setting. Names with other characters than letters,
/// digits and hyphens are refused, because two such names could become the same variable.
std::string variable_of(std::string_view header) {
  if (equal_without_case(header, "Content-Type")) return "CONTENT_TYPE";
  for (const std::string_view dropped : {"Proxy", "Transfer-Encoding", "Content-Length"}) {
    if (equal_without_case(header, dropped)) return {};
  }
  std::string name = "HTTP_";
  for (const char c : header) {
    if (!is_letter(c) && !is_digit(c) && c != '-') return {};
    name += c == '-' ? '_' : upper(c);
  }
  return name;
}

}  // namespace

std::optional<Refusal> refusal_of_first_byte(char first) noexcept {
  if (first >= 'A' && first <= 'Z') return std::nullopt;
  return is_letter(first) ? kMethod : kNoHttp;
}

RequestParser::RequestParser(const RequestLimits& limits, const beast::flat_buffer& input, BodyBudget& budget)
    : input_(input), budget_(budget), body_too_large_(limits.body_too_large) {
  header_limit(static_cast<std::uint32_t>(std::min<std::size_t>(limits.max_head_size, UINT32_MAX)));
  body_limit(limits.max_body_size);
}

RequestParser::~RequestParser() {
  budget_.remove(body_.size());
}

Refusal RequestParser::refusal(beast::error_code code) const noexcept {
  if (refusal_) return *refusal_;
  if (code == error::body_limit) return {Status::content_too_large, body_too_large_};
  const bool is_chunk =
      is_header_done() && (code == error::buffer_overflow || code == error::bad_line_ending);
  if (is_chunk) return kChunk;
  if (code == error::buffer_overflow) return kHeadTooLarge;
  return refusal_of(code, {static_cast<const char*>(input_.data().data()), input_.size()});
}

http::Environ& RequestParser::finish() {
  if (content_length() || chunked()) environ_.set("CONTENT_LENGTH", format("{}", body_.size()));
  environ_.body = std::string_view(body_);
  return environ_;
}

void RequestParser::refuse(Refusal why, beast::error_code& code) {
  refusal_ = why;
  code = error::bad_value;
}

void RequestParser::on_request_impl(beast::http::verb /*verb*/, Text method, Text target, int version,
                                    beast::error_code& code) {
  is_http_1_0_ = version == 10;
  const std::string_view word = view_of(method);
  const bool capitals = std::none_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  if (!capitals || word == "CONNECT") return refuse(kMethod, code);
  environ_.set("REQUEST_METHOD", word);
  environ_.set("SERVER_PROTOCOL", is_http_1_0_ ? "HTTP/1.0" : "HTTP/1.1");
  take_target(without_origin(view_of(target)), code);
}

void RequestParser::take_target(std::string_view target, beast::error_code& code) {
  const bool asterisk = target == "*" && environ_.get("REQUEST_METHOD") == "OPTIONS";
  const bool path = !target.empty() && target.front() == '/';
  if ((!path && !asterisk) || target.find('#') != std::string_view::npos) return refuse(kTarget, code);
  const std::size_t question = target.find('?');
  std::string decoded;
  if (!decode_path(target.substr(0, question), decoded)) return refuse(kPath, code);
  environ_.set("REQUEST_URI", target);
  environ_.set("PATH_INFO", decoded);
  environ_.set("QUERY_STRING",
               question == std::string_view::npos ? std::string_view() : target.substr(question + 1));
}

void RequestParser::on_field_impl(beast::http::field header, Text name, Text value, beast::error_code& code) {
  using beast::http::field;
  if (is_folded(view_of(name))) return refuse(kFolded, code);
  if (is_header_done()) return;  // Ignores the trailers of a chunked body.
  if (++headers_ > RequestLimits::kMaxHeaders) return refuse(kHeadTooLarge, code);
  const std::string_view text = view_of(value);
  if (header == field::host) {
    if (std::exchange(has_host_, true) || !is_host(text)) return refuse(kHost, code);
    environ_.set("SERVER_NAME", host_of(text));
  } else if (header == field::transfer_encoding) {
    if (is_http_1_0_ || !equal_without_case(text, "chunked")) return refuse(kEncoding, code);
  } else if (header == field::content_length) {
    // Refuses a Content-Length with several numbers, such as `2, 2`.
    const bool number = text.find_first_not_of("0123456789") == std::string_view::npos;
    if (std::exchange(has_length_, true) || !number) return refuse(kLength, code);
  } else if (header == field::expect) {
    expects_continue_ = !is_http_1_0_ && equal_without_case(text, "100-continue");
  }
  if (!add_variable(view_of(name), text)) refuse(kHeadTooLarge, code);
}

/// Returns whether a header's value is folded over several lines (RFC 9112, 5.2): whether the line after the
/// header's line begins with a blank. Beast has joined such lines, and has read the first character after the
/// last line. REQUIRES: `header` is part of `input_`.
bool RequestParser::is_folded(std::string_view header) const {
  const char* const end = static_cast<const char*>(input_.data().data()) + input_.size();
  const char* const line_feed = std::find(header.data() + header.size(), end, '\n');
  return end - line_feed < 2 || line_feed[1] == ' ' || line_feed[1] == '\t';
}

/// Adds the value of a header to its variable. Joins repeated headers with a comma (RFC 9110, 5.3), and
/// cookies with a semicolon (RFC 6265). Returns false if the variables become too large.
bool RequestParser::add_variable(std::string_view header, std::string_view value) {
  const std::string name = variable_of(header);
  if (name.empty()) return true;
  const std::string_view before = environ_.get(name);
  variables_size_ += name.size() + before.size() + 2 + value.size();
  if (variables_size_ > RequestLimits::kMaxVariables) return false;
  if (before.empty()) {
    environ_.set(name, value);
    return true;
  }
  const std::string_view comma = name == "HTTP_COOKIE" ? "; " : ", ";
  environ_.set(name, format("{}{}{}", before, comma, value));
  return true;
}

void RequestParser::on_header_impl(beast::error_code& code) {
  if (!is_http_1_0_ && !has_host_) refuse(kHost, code);
}

void RequestParser::on_body_init_impl(const boost::optional<std::uint64_t>& length,
                                      beast::error_code& /*code*/) {
  if (length) body_.reserve(static_cast<std::size_t>(std::min(*length, kEarlyRoom)));
}

/// Refuses control characters in chunk extensions. A proxy may take a bare line feed as the end of the line.
void RequestParser::on_chunk_header_impl(std::uint64_t /*size*/, Text extensions, beast::error_code& code) {
  const std::string_view text = view_of(extensions);
  const auto is_control = [](char c) {
    return c != '\t' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7F);
  };
  if (std::any_of(text.begin(), text.end(), is_control)) refuse(kChunk, code);
}

std::size_t RequestParser::on_body_impl(Text bytes, beast::error_code& code) {
  body_ += view_of(bytes);
  if (!budget_.add(bytes.size(), body_.size())) refuse(kBodies, code);
  return bytes.size();
}

std::size_t RequestParser::on_chunk_body_impl(std::uint64_t /*left*/, Text bytes, beast::error_code& code) {
  return on_body_impl(bytes, code);
}

}  // namespace rest_fcgi::gateway
