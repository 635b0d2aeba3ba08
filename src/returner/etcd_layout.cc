// SPDX-License-Identifier: MIT
#include "returner/etcd_layout.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::returner {
namespace {

constexpr std::size_t kMostOfPart = 256;
constexpr std::size_t kJidDigits = 20;

/// API v3 keeps the root as it is written. API v2 has paths: a slash begins them, and several are one.
std::string root_of(const EtcdOptions& options) {
  if (!options.require_v2) return options.root;
  std::string root = "/";
  for (const char c : options.root) {
    if (c != '/' || root.back() != '/') root += c;
  }
  if (root.ends_with('/')) root.pop_back();
  return root;
}

void append_number(std::string& out, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

/// How many bytes of a header hold the length; absent where the byte begins no msgpack `str` or `bin` that
/// has a length of its own.
std::optional<std::size_t> length_bytes(unsigned char first) {
  switch (first) {
    case 0xd9:
    case 0xc4:
      return 1;
    case 0xda:
    case 0xc5:
      return 2;
    case 0xdb:
    case 0xc6:
      return 4;
    default:
      return std::nullopt;
  }
}

}  // namespace

EtcdLayout::EtcdLayout(const EtcdOptions& options)
    : root_(root_of(options)), msgpack_(options.encode_values && !options.require_v2) {}

std::string EtcdLayout::job(std::string_view jid) const {
  return jobs().append(jid).append("/");
}

std::string EtcdLayout::load(std::string_view jid) const {
  return job(jid).append(".load.p");
}

std::string EtcdLayout::field(std::string_view jid, std::string_view minion, std::string_view name) const {
  return job(jid).append(minion).append("/").append(name);
}

std::string EtcdLayout::claim(std::string_view jid) const {
  return (root_ + "/claims/").append(jid);
}

std::string EtcdLayout::encoded(std::string_view text) const {
  std::string stored;
  stored.reserve(text.size() + 5);
  if (!msgpack_) return stored.append(text);
  if (text.size() < 32) {
    stored += static_cast<char>(0xa0 + text.size());
  } else if (text.size() <= UINT8_MAX) {
    append_number(stored += '\xd9', text.size(), 1);
  } else if (text.size() <= UINT16_MAX) {
    append_number(stored += '\xda', text.size(), 2);
  } else {
    append_number(stored += '\xdb', text.size(), 4);
  }
  return stored.append(text);
}

std::string_view decoded(std::string_view stored) {
  if (stored.empty()) return stored;
  const auto first = static_cast<unsigned char>(stored.front());
  const bool is_short = first >= 0xa0 && first <= 0xbf;
  const auto bytes = is_short ? std::optional<std::size_t>(0) : length_bytes(first);
  if (!bytes || stored.size() < 1 + *bytes) return stored;
  std::uint64_t length = is_short ? first - 0xa0 : 0;
  for (std::size_t i = 1; i <= *bytes; ++i) length = length << 8 | static_cast<unsigned char>(stored[i]);
  const std::string_view text = stored.substr(1 + *bytes);
  return text.size() == length ? text : stored;
}

std::optional<EtcdField> field_in(std::string_view rest) {
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const EtcdField field{rest.substr(0, slash), rest.substr(slash + 1)};
  if (!is_key_part(field.minion) || !is_key_part(field.name)) return std::nullopt;
  return field;
}

bool is_key_part(std::string_view text) {
  if (text.empty() || text.size() > kMostOfPart || text == "." || text == "..") return false;
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

bool is_like_jid(std::string_view name) {
  return is_key_part(name) && name.size() >= kJidDigits &&
         std::all_of(name.begin(), name.begin() + kJidDigits, [](char c) { return c >= '0' && c <= '9'; });
}

std::string stamp_text(WallTime time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const std::time_t seconds = std::chrono::system_clock::to_time_t(whole);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                utc.tm_hour, utc.tm_min, utc.tm_sec, (time - whole).count());
}

}  // namespace rest_fcgi::returner
