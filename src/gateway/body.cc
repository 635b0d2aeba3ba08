// SPDX-License-Identifier: MIT
#include "gateway/body.h"

#include <charconv>
#include <cstdio>
#include <string>
#include <utility>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::gateway {
namespace {

/// What a thread keeps for its next request.
constexpr std::size_t kKeptCapacity = 64u << 10;

/// The part of the stream that libfcgi has in its buffer, after it read from the connection where that was
/// empty. Empty at the end of the stream. libfcgi forgets the part, and the caller wipes it.
std::pair<unsigned char*, std::size_t> next_chunk(FCGX_Stream& stream) {
  // FCGX_GetStr would copy without telling where from; this is the only other call that fills the buffer.
  if (FCGX_GetChar(&stream) == EOF) return {nullptr, 0};
  unsigned char* begin = stream.rdNext - 1;
  stream.rdNext = stream.stop;
  return {begin, static_cast<std::size_t>(stream.stop - begin)};
}

bool is_plain_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

void Body::refuse(ErrorKind kind, std::string message) {
  error_ = Error{kind, std::move(message), {}};
  bytes_ = WipedBytes();
}

void Body::accept_length(std::string_view content_length) {
  if (content_length.empty()) return;
  if (!is_plain_number(content_length)) {
    constexpr std::size_t kShown = 40;
    return refuse(ErrorKind::malformed,
                  format("CONTENT_LENGTH is '{}', and has to be a number of bytes in decimal digits",
                         content_length.substr(0, kShown)));
  }
  std::size_t length = 0;
  const auto parsed =
      std::from_chars(content_length.data(), content_length.data() + content_length.size(), length);
  if (parsed.ec != std::errc() || length > limits_.max_size) {
    return refuse(ErrorKind::too_large,
                  format("Request body is larger than max_request_body_size ({} bytes)", limits_.max_size));
  }
  declared_ = length;
  bytes_.reserve(length);
}

void Body::take(std::string_view chunk) {
  received_ += chunk.size();
  if (!error_ && received_ > limits_.max_size) {
    refuse(ErrorKind::too_large,
           format("Request body is larger than max_request_body_size ({} bytes)", limits_.max_size));
  }
  if (error_) {
    discarded_ += chunk.size();
  } else if (!declared_ || received_ <= *declared_) {
    bytes_.insert(bytes_.end(), chunk.begin(), chunk.end());
  }
}

void Body::check_length() {
  if (error_ || !declared_ || received_ == *declared_) return;
  refuse(ErrorKind::malformed,
         format("Request body has {} bytes, and CONTENT_LENGTH says {}", received_, *declared_));
}

bool Body::tired_of_discarding(SteadyTime deadline) const {
  if (!error_) return false;
  return discarded_ > limits_.max_discarded || system_clock().steady() > deadline;
}

Body::End Body::read(FCGX_Stream& stream, std::string_view content_length) {
  wipe();
  accept_length(content_length);
  const SteadyTime deadline = system_clock().steady() + limits_.discard_time;
  for (auto [begin, size] = next_chunk(stream); size != 0; std::tie(begin, size) = next_chunk(stream)) {
    take({reinterpret_cast<const char*>(begin), size});
    rest_fcgi::wipe(begin, size);
    if (tired_of_discarding(deadline)) return End::abandoned;
  }
  if (FCGX_GetError(&stream) != 0) return End::broken;
  check_length();
  return End::complete;
}

Result<std::string_view> Body::content() const {
  if (error_) return *error_;
  return std::string_view(bytes_.data(), bytes_.size());
}

void Body::wipe() noexcept {
  if (bytes_.capacity() > kKeptCapacity) bytes_ = WipedBytes();
  rest_fcgi::wipe(bytes_.data(), bytes_.size());
  bytes_.clear();
  declared_.reset();
  received_ = 0;
  discarded_ = 0;
  error_.reset();
}

}  // namespace rest_fcgi::gateway
