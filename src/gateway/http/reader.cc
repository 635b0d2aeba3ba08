// SPDX-License-Identifier: MIT
#include "gateway/http/reader.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/http/url.h"

namespace rest_fcgi::gateway {
namespace {

namespace beast = boost::beast;
using beast::http::error;
using http::Status;

constexpr Refusal kNoHttp = {Status::bad_request, "This is no HTTP/1.1 request"};
constexpr Refusal kHeadTooLarge = {Status::request_header_fields_too_large,
                                   "The request's head is too large"};
constexpr Refusal kBodyTooLarge = {Status::content_too_large,
                                   "Request body is larger than max_request_body_size"};
constexpr Refusal kVersion = {Status::http_version_not_supported,
                              "Only HTTP/1.1 and HTTP/1.0 are spoken here"};
constexpr Refusal kMethod = {Status::bad_request,
                             "The method has to be a word in capital letters, and not CONNECT"};
constexpr Refusal kTarget = {Status::bad_request,
                             "The request's target has to be a path, or a URL without a fragment"};
constexpr Refusal kPath = {Status::bad_request,
                           "The path has a control character, or a % without two hexadecimal digits"};
constexpr Refusal kHost = {Status::bad_request, "One Host header has to name this host"};
constexpr Refusal kLength = {Status::bad_request,
                             "Content-Length has to be one number of bytes in decimal digits"};
constexpr Refusal kEncoding = {
    Status::bad_request, "Transfer-Encoding has to be chunked, in HTTP/1.1, and without a Content-Length"};
constexpr Refusal kChunk = {Status::bad_request, "The body's chunks are malformed"};
constexpr Refusal kHeader = {Status::bad_request, "A header is malformed"};
constexpr Refusal kFolded = {Status::bad_request, "A header goes on in the next line, which nobody may do"};

/// Bytes for which there is room before they come: a length that is announced costs its peer nothing.
constexpr std::uint64_t kEarlyRoom = 65536;

std::string_view view_of(beast::string_view text) noexcept {
  return {text.data(), text.size()};
}

char upper(char c) noexcept {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

/// Does the first line of `bytes` end in the name of a version, be it one that nobody knows?
bool names_version(std::string_view bytes) noexcept {
  const std::string_view line = bytes.substr(0, bytes.find("\r\n"));
  constexpr std::string_view kForm = " HTTP/d.d";
  if (line.size() < kForm.size()) return false;
  const std::string_view end = line.substr(line.size() - kForm.size());
  return end.substr(0, 6) == " HTTP/" && is_digit(end[6]) && end[7] == '.' && is_digit(end[8]);
}

Refusal refusal_of(beast::error_code code, std::string_view bytes) noexcept {
  if (code == error::header_limit) return kHeadTooLarge;
  if (code == error::body_limit) return kBodyTooLarge;
  if (code == error::bad_version) return names_version(bytes) ? kVersion : kNoHttp;
  if (code == error::bad_method) return kMethod;
  if (code == error::bad_target) return kTarget;
  if (code == error::bad_content_length) return kLength;
  if (code == error::bad_transfer_encoding) return kEncoding;
  if (code == error::bad_chunk || code == error::bad_chunk_extension) return kChunk;
  return kHeader;
}

/// Replaces `%XX` by what it means. False: that is malformed, or gives a control character.
bool decode_path(std::string_view path, WipedBytes& decoded) {
  decoded.reserve(path.size());
  for (std::size_t at = 0; at < path.size(); ++at) {
    char c = path[at];
    if (c == '%') {
      const auto byte = http::percent_byte(path.substr(at));
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

/// A URL without its scheme and host (RFC 9112, 3.2.2).
std::string_view without_origin(std::string_view target) noexcept {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!equal_without_case(target.substr(0, scheme.size()), scheme)) continue;
    const std::size_t slash = target.find_first_of("/?", scheme.size());
    if (slash == std::string_view::npos) return "/";
    return target[slash] == '/' ? target.substr(slash) : std::string_view();
  }
  return target;
}

/// A host, and a port where there is one (RFC 3986, 3.2): no characters that could end it in a URL.
bool is_host(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || is_digit(c) ||
           std::string_view(".-_~:[]%!$&'()*+,;=").find(c) != std::string_view::npos;
  });
}

/// Without the port.
std::string_view host_of(std::string_view host) noexcept {
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.rfind(':');
  return colon == std::string_view::npos || (bracket != std::string_view::npos && colon < bracket)
             ? host
             : host.substr(0, colon);
}

/// What CGI calls a header (RFC 3875, 4.1.18). Empty: it must not be passed on, since CGI could not tell it
/// from another one that somebody trusts, or since libraries take it for a setting of their own (HTTP_PROXY).
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

/// Beast's parser, which tells what it found as it goes. An error code that it gets from here ends it; the
/// refusal says which one it was.
class RequestReader::Parser final : public beast::http::basic_parser<true> {
 public:
  Parser(RequestReader& reader, const ReaderLimits& limits) : environ_(reader.environ_), body_(reader.body_) {
    header_limit(static_cast<std::uint32_t>(std::min<std::size_t>(limits.max_head_size, UINT32_MAX)));
    body_limit(limits.max_body_size);
    eager(true);
  }

  std::string_view input;  ///< what is parsed now
  Refusal refusal;         ///< where a rule of ours was broken
  bool refused = false;
  bool expects_continue = false;
  bool http_1_0 = false;

 private:
  using Code = beast::error_code;
  using Text = beast::string_view;

  void refuse(Refusal why, Code& code) {
    refused = true;
    refusal = why;
    code = error::bad_value;
  }

  void on_request_impl(beast::http::verb /*verb*/, Text method, Text target, int version,
                       Code& code) override {
    http_1_0 = version == 10;
    const std::string_view word = view_of(method);
    const bool capitals = std::none_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    if (!capitals || word == "CONNECT") return refuse(kMethod, code);
    environ_.set("REQUEST_METHOD", word);
    environ_.set("SERVER_PROTOCOL", http_1_0 ? "HTTP/1.0" : "HTTP/1.1");
    take_target(without_origin(view_of(target)), code);
  }

  void take_target(std::string_view target, Code& code) {
    const bool asterisk = target == "*" && environ_.get("REQUEST_METHOD") == "OPTIONS";
    const bool path = !target.empty() && target.front() == '/';
    if ((!path && !asterisk) || target.find('#') != std::string_view::npos) return refuse(kTarget, code);
    const std::size_t question = target.find('?');
    WipedBytes decoded;  // a token may be a part of it
    if (!decode_path(target.substr(0, question), decoded)) return refuse(kPath, code);
    environ_.set("REQUEST_URI", target);
    environ_.set("PATH_INFO", {decoded.data(), decoded.size()});
    environ_.set("QUERY_STRING",
                 question == std::string_view::npos ? std::string_view() : target.substr(question + 1));
  }

  void on_field_impl(beast::http::field header, Text name, Text value, Code& code) override {
    using beast::http::field;
    if (is_header_done()) return;  // a trailer, which nobody may mistake for a header
    if (++headers_ > ReaderLimits::kMaxHeaders) return refuse(kHeadTooLarge, code);
    const std::string_view text = view_of(value);
    if (is_folded(view_of(name), text)) return refuse(kFolded, code);
    if (header == field::host) {
      if (std::exchange(host_seen_, true) || !is_host(text)) return refuse(kHost, code);
      environ_.set("SERVER_NAME", host_of(text));
    } else if (header == field::transfer_encoding) {
      if (http_1_0 || !equal_without_case(text, "chunked")) return refuse(kEncoding, code);
    } else if (header == field::content_length) {
      const bool number =
          text.find_first_not_of("0123456789") == std::string_view::npos;  // Beast takes `2, 2`, too
      if (std::exchange(length_seen_, true) || !number) return refuse(kLength, code);
    } else if (header == field::expect) {
      expects_continue = !http_1_0 && equal_without_case(text, "100-continue");
    }
    if (!add_variable(view_of(name), text)) refuse(kHeadTooLarge, code);
  }

  /// The parser joins the lines of such a header in memory of its own, unless all but one are empty.
  [[nodiscard]] bool is_folded(std::string_view header, std::string_view value) const {
    const std::less<const char*> before;
    const char* const begin = header.data() + header.size();
    if (value.empty()) return false;
    if (before(value.data(), begin) || !before(value.data(), input.data() + input.size())) return true;
    return std::find(begin, value.data(), '\n') != value.data();
  }

  /// One header that comes several times means the list of its values (RFC 9110, 5.3), cookies as RFC 6265
  /// puts them. False: that would be too much.
  bool add_variable(std::string_view header, std::string_view value) {
    const std::string name = variable_of(header);
    if (name.empty()) return true;
    const std::string_view before = environ_.get(name);
    variables_size_ += name.size() + before.size() + 2 + value.size();
    if (variables_size_ > ReaderLimits::kMaxVariables) return false;
    if (before.empty()) {
      environ_.set(name, value);
      return true;
    }
    const std::string_view comma = name == "HTTP_COOKIE" ? "; " : ", ";
    WipedBytes list(before.begin(), before.end());
    for (const std::string_view part : {comma, value}) append(list, part);
    environ_.set(name, {list.data(), list.size()});
    return true;
  }

  void on_header_impl(Code& code) override {
    if (!http_1_0 && !host_seen_) return refuse(kHost, code);
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>& length, Code& /*code*/) override {
    if (length) body_.reserve(static_cast<std::size_t>(std::min(*length, kEarlyRoom)));
  }

  std::size_t on_body_impl(Text bytes, Code& /*code*/) override {
    append(body_, {bytes.data(), bytes.size()});
    return bytes.size();
  }

  void on_chunk_header_impl(std::uint64_t /*size*/, Text /*extensions*/, Code& /*code*/) override {}

  std::size_t on_chunk_body_impl(std::uint64_t /*left*/, Text bytes, Code& code) override {
    return on_body_impl(bytes, code);
  }

  void on_finish_impl(Code& /*code*/) override {}

  void on_response_impl(int /*status*/, Text /*reason*/, int /*version*/, Code& /*code*/) override {}

  http::Environ& environ_;
  WipedBytes& body_;
  std::size_t headers_ = 0;
  std::size_t variables_size_ = 0;
  bool host_seen_ = false;
  bool length_seen_ = false;
};

RequestReader::RequestReader(ReaderLimits limits) : limits_(limits) {}

RequestReader::~RequestReader() = default;

bool RequestReader::expects_continue() const noexcept {
  return parser_->expects_continue;
}

bool RequestReader::keeps_connection() const noexcept {
  return parser_->keep_alive();
}

bool RequestReader::is_http_1_0() const noexcept {
  return parser_->http_1_0;
}

void RequestReader::refuse(Refusal refusal) noexcept {
  stage_ = Stage::refused;
  refusal_ = refusal;
}

void RequestReader::reset() noexcept {
  parser_.reset();
  pending_ = WipedBytes();
  body_ = WipedBytes();
  environ_ = http::Environ();
  head_size_ = 0;
  stage_ = Stage::idle;
}

std::size_t RequestReader::take(std::string_view bytes) {
  std::size_t skipped = 0;
  if (stage_ == Stage::idle) {
    // Some clients send an empty line after a body (RFC 9112, 2.2).
    skipped = std::min(bytes.find_first_not_of("\r\n"), bytes.size());
    bytes.remove_prefix(skipped);
    if (bytes.empty()) return skipped;
    parser_ = std::make_unique<Parser>(*this, limits_);
    stage_ = Stage::head;
    // Who begins in another way, with TLS say, may never send the end of a line.
    if (bytes.front() < 'A' || bytes.front() > 'Z') {
      refuse(is_letter(bytes.front()) ? kMethod : kNoHttp);
      return skipped;
    }
  }
  if (pending_.empty()) {
    const std::size_t used = parse(bytes);
    if (stage_ != Stage::head && stage_ != Stage::body) return skipped + used;
    pending_.assign(bytes.begin() + static_cast<std::ptrdiff_t>(used), bytes.end());
  } else {
    const std::size_t before = pending_.size();
    append(pending_, bytes);
    const std::size_t used = parse({pending_.data(), pending_.size()});
    if (stage_ != Stage::head && stage_ != Stage::body) return skipped + (used > before ? used - before : 0);
    if (used != 0)
      WipedBytes(pending_.begin() + static_cast<std::ptrdiff_t>(used), pending_.end()).swap(pending_);
  }
  if (stage_ == Stage::head && head_size_ + pending_.size() > limits_.max_head_size) refuse(kHeadTooLarge);
  if (stage_ == Stage::body && pending_.size() > ReaderLimits::kMaxChunkLine) refuse(kChunk);
  return skipped + bytes.size();
}

/// How many of `bytes` were understood; what is left has to come again with what follows.
std::size_t RequestReader::parse(std::string_view bytes) {
  std::size_t used = 0;
  beast::error_code code;
  while (used < bytes.size() && !parser_->is_done() && !code) {
    parser_->input = bytes.substr(used);
    used += parser_->put({bytes.data() + used, bytes.size() - used}, code);
  }
  if (stage_ == Stage::head) head_size_ += used;
  if (code && code != error::need_more) {
    refuse(parser_->refused ? parser_->refusal : refusal_of(code, bytes));
  } else if (parser_->is_done()) {
    finish();
  } else if (parser_->is_header_done()) {
    stage_ = Stage::body;
  }
  return used;
}

void RequestReader::finish() {
  stage_ = Stage::complete;
  if (parser_->content_length() || parser_->chunked())
    environ_.set("CONTENT_LENGTH", format("{}", body_.size()));
  environ_.body = std::string_view(body_.data(), body_.size());
}

}  // namespace rest_fcgi::gateway
