// SPDX-License-Identifier: MIT
#include "gateway/streams/gathered.h"

#include <algorithm>
#include <array>
#include <span>

#include "gateway/streams/websocket.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::gateway {
namespace {

/// sendmsg(2) takes no more pieces (UIO_MAXIOV).
constexpr std::size_t kMostPieces = 1024;

constexpr std::size_t kMostInRecord = 65528;  // a multiple of 8, as the specification asks for

// FastCGI Specification 1.0, section 8.
constexpr unsigned kStdout = 6;
constexpr unsigned kEndRequest = 3;

std::array<char, 8> record_header(unsigned type, unsigned request, std::size_t size) noexcept {
  const auto byte = [](std::size_t number) { return static_cast<char>(number & 0xFF); };
  return {1, byte(type), byte(request >> 8), byte(request), byte(size >> 8), byte(size), 0, 0};
}

std::string_view view_of(const std::array<char, 8>& bytes) noexcept {
  return {bytes.data(), bytes.size()};
}

}  // namespace

void Gathered::begin(std::size_t glue) {
  pieces_.clear();
  parts_.clear();
  pieces_.reserve(2 * glue);
  parts_.reserve(2 * glue);
  glue_.clear();
  glue_.reserve(glue * kMostGlue);  // so that nothing moves
  at_ = 0;
}

void Gathered::add_glue(std::string_view bytes) {
  char* const begin = glue_.data() + glue_.size();
  glue_.append(bytes);
  pieces_.push_back({begin, bytes.size()});
  parts_.push_back(nullptr);
}

void Gathered::add(const Part& part, std::string_view text) {
  if (text.empty()) return;
  // sendmsg(2) takes what it only reads as pointers to what could be written.
  pieces_.push_back({const_cast<char*>(text.data()), text.size()});
  parts_.push_back(&part);
}

Progress Gathered::send(Channel& channel) noexcept {
  std::size_t sent = 0;
  while (at_ < pieces_.size()) {
    const Progress progress =
        channel.write(std::span(pieces_).subspan(at_, std::min(pieces_.size() - at_, kMostPieces)));
    if (progress.outcome != Progress::Outcome::moved) return {progress.outcome, sent};
    sent += progress.bytes;
    std::size_t left = progress.bytes;
    for (; at_ < pieces_.size() && left >= pieces_[at_].iov_len; ++at_) left -= pieces_[at_].iov_len;
    if (left == 0) continue;
    pieces_[at_].iov_base = static_cast<char*>(pieces_[at_].iov_base) + left;
    pieces_[at_].iov_len -= left;
  }
  return {Progress::Outcome::moved, sent};
}

std::vector<http::Feed::Part> Gathered::rest() const {
  std::vector<Part> rest;
  for (std::size_t i = at_; i < pieces_.size(); ++i) {
    const std::string_view text(static_cast<const char*>(pieces_[i].iov_base), pieces_[i].iov_len);
    if (parts_[i] != nullptr && parts_[i]->owner) {
      rest.push_back({parts_[i]->owner, text});
    } else {
      rest.push_back(Part::of(std::string(text)));
    }
  }
  return rest;
}

void Framing::gather(std::span<const http::Feed::Part> parts, Gathered& out) const {
  std::size_t size = 0;
  for (const auto& part : parts) size += part.text.size();
  out.begin(parts.size() + size / kMostInRecord + 2);
  // Nothing would be the end of chunks and of records.
  if (size == 0 && form_ != Form::messages) return;
  if (form_ == Form::records) return gather_records(parts, size, out);
  if (form_ == Form::chunks) out.add_glue(format("{:x}\r\n", size));
  for (const auto& part : parts) {
    if (form_ == Form::messages) out.add_glue(FrameHeader(Opcode::text, part.text.size()).bytes());
    out.add(part);
  }
  if (form_ == Form::chunks) out.add_glue("\r\n");
}

void Framing::gather_records(std::span<const http::Feed::Part> parts, std::size_t size, Gathered& out) const {
  std::size_t room = 0;  // in the record
  for (const auto& part : parts) {
    for (std::string_view text = part.text; !text.empty();) {
      if (room == 0) {
        room = std::min(size, kMostInRecord);
        size -= room;
        out.add_glue(view_of(record_header(kStdout, request_, room)));
      }
      const std::string_view piece = text.substr(0, room);
      out.add(part, piece);
      text.remove_prefix(piece.size());
      room -= piece.size();
    }
  }
}

std::string Framing::end(const http::Feed::End& why) const {
  switch (form_) {
    case Form::bare:
      break;
    case Form::chunks:
      return "0\r\n\r\n";
    case Form::records: {
      constexpr std::array<char, 8> kComplete = {};
      std::string text(view_of(record_header(kStdout, request_, 0)));
      text.append(view_of(record_header(kEndRequest, request_, kComplete.size())));
      return text.append(view_of(kComplete));
    }
    case Form::messages:
      return close_frame(why.code, why.reason);
  }
  return {};
}

}  // namespace rest_fcgi::gateway
