// SPDX-License-Identifier: MIT
#include "gateway/streams/framing.h"

#include <fastcgi.h>

#include <algorithm>
#include <array>

#include "rest_fcgi/core/format.h"

// The bytes of one write, by form:
//   bare      the parts
//   chunks    the size of all parts in hexadecimal, CRLF, the parts, CRLF. The end: `0`, CRLF, CRLF.
//   records   records of a header of 8 bytes (version 1, type, request id in 2 bytes, size in 2 bytes, no
//             padding, 0) and at most `kMostInRecord` bytes. The end: an empty FCGI_STDOUT, and an
//             FCGI_END_REQUEST with 8 zero bytes.
//   messages  for each part 0x81, its size in 1, 3 or 9 bytes, and the part. The Framing sends no end.

namespace rest_fcgi::gateway {
namespace {

// The largest content of a FastCGI record in bytes: the largest multiple of 8 that fits into the 16 bits of
// the record's length (FastCGI Specification 1.0, 3.3).
constexpr std::size_t kMostInRecord = 65528;

std::string record_header(unsigned type, unsigned request, std::size_t size) {
  const auto byte = [](std::size_t number) { return static_cast<char>(number & 0xFF); };
  return {FCGI_VERSION_1, byte(type), byte(request >> 8), byte(request), byte(size >> 8), byte(size), 0, 0};
}

/// Returns the header of an unmasked WebSocket text frame that is a whole message (RFC 6455, 5.2).
std::string frame_header(std::size_t payload) {
  constexpr char kText = '\x81';
  const std::size_t length_bytes = payload < 126 ? 0 : payload <= 0xFFFF ? 2 : 8;
  std::string header = {kText, static_cast<char>(length_bytes == 0   ? payload
                                                 : length_bytes == 2 ? 126
                                                                     : 127)};
  for (std::size_t i = length_bytes; i-- > 0;) header += static_cast<char>(payload >> (8 * i) & 0xFFU);
  return header;
}

}  // namespace

void IovecBuffer::begin(std::size_t glue) {
  buffers_.clear();
  buffers_.reserve(2 * glue);
  glue_.clear();
  glue_.reserve(glue * kMostGlue);  // Reserves all memory now, because `buffers_` point into `glue_`.
}

void IovecBuffer::add_glue(std::string_view bytes) {
  const char* const begin = glue_.data() + glue_.size();
  glue_.append(bytes);
  buffers_.emplace_back(begin, bytes.size());
}

void Framing::gather(std::span<const http::Feed::Part> parts, IovecBuffer& out) const {
  std::size_t size = 0;
  for (const auto& part : parts) size += part.text.size();
  out.begin(parts.size() + size / kMostInRecord + 2);
  // Skips parts without bytes, because an empty chunk or record would end the stream.
  if (size == 0 && form_ != Form::messages) return;
  if (form_ == Form::records) return gather_records(parts, size, out);
  if (form_ == Form::chunks) out.add_glue(format("{:x}\r\n", size));
  for (const auto& part : parts) {
    if (form_ == Form::messages) out.add_glue(frame_header(part.text.size()));
    out.add(part.text);
  }
  if (form_ == Form::chunks) out.add_glue("\r\n");
}

void Framing::gather_records(std::span<const http::Feed::Part> parts, std::size_t size,
                             IovecBuffer& out) const {
  std::size_t room = 0;
  for (const auto& part : parts) {
    for (std::string_view text = part.text; !text.empty();) {
      if (room == 0) {
        room = std::min(size, kMostInRecord);
        size -= room;
        out.add_glue(record_header(FCGI_STDOUT, request_, room));
      }
      const std::string_view piece = text.substr(0, room);
      out.add(piece);
      text.remove_prefix(piece.size());
      room -= piece.size();
    }
  }
}

std::string Framing::end() const {
  if (form_ == Form::chunks) return "0\r\n\r\n";
  if (form_ != Form::records) return {};
  const std::string complete(sizeof(FCGI_EndRequestBody), '\0');
  return record_header(FCGI_STDOUT, request_, 0) +
         record_header(FCGI_END_REQUEST, request_, complete.size()) + complete;
}

}  // namespace rest_fcgi::gateway
