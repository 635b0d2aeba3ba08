// SPDX-License-Identifier: MIT
#include <zlib.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "netapi/handlers.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::netapi {
namespace {

constexpr std::size_t kMinSize = 1024;
constexpr std::size_t kPackedPart = 16384;
constexpr int kGzipFormat = 16;  // These window bits make zlib write the gzip format.
constexpr int kLevel = 1;        // Level 1 is the fastest level of zlib.

bool takes_gzip(std::string_view header) {
  while (!header.empty()) {
    std::string one(next_token(header, ','));
    std::erase_if(one, [](char c) { return c == ' ' || c == '\t'; });
    const std::size_t parameters = std::min(one.find(';'), one.size());
    if (one.substr(0, parameters) != "gzip") continue;
    const std::string quality = one.substr(parameters);
    return !quality.starts_with(";q=0") || quality.find_first_of("123456789") != std::string::npos;
  }
  return false;
}

bool is_text(const http::Response& response) {
  for (const auto& [name, value] : response.headers) {
    if (name == "Content-Encoding") return false;
    if (name == "Content-Type" && !value.starts_with("text/") && !value.starts_with("application/"))
      return false;
    if (name == "Content-Type" && value == "application/x-tar") return false;
  }
  return true;
}

/// Returns the compressed text, or std::nullopt if this text is not shorter. Does not change `text`.
std::optional<std::string> packed(std::string& text) {
  z_stream stream{};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, MAX_WBITS + kGzipFormat, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    return std::nullopt;
  }
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  std::string out;
  std::string part(kPackedPart, '\0');
  int state = Z_OK;
  while (state == Z_OK && out.size() < text.size()) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    state = deflate(&stream, Z_FINISH);
    out.append(part, 0, part.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  if (state != Z_STREAM_END || out.size() >= text.size()) return std::nullopt;
  return out;
}

}  // namespace

void compress_if_accepted(std::string_view accept_encoding, http::Response& response) {
  auto* text = std::get_if<std::string>(&response.body);
  // The largest text in bytes that is compressed, because zlib counts bytes in 32 bits.
  constexpr std::size_t kZlibLimit = 0x7fffffff;
  if (text == nullptr || text->size() < kMinSize || text->size() > kZlibLimit) return;
  if (!takes_gzip(accept_encoding) || !is_text(response)) return;
  auto shorter = packed(*text);
  if (!shorter) return;
  *text = *std::move(shorter);
  response.headers.emplace_back("Content-Encoding", "gzip");
}

}  // namespace rest_fcgi::netapi
