// SPDX-License-Identifier: MIT
#include "etcd/object_reader.h"

#include <algorithm>
#include <utility>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::etcd {

void ObjectReader::append(std::string_view bytes) {
  buffer_.erase(0, begin_);
  at_ -= begin_;
  begin_ = 0;
  buffer_ += bytes;
}

Result<std::optional<std::string>> ObjectReader::next() {
  if (depth_ == 0) {
    at_ = std::min(buffer_.find_first_not_of(" \t\r\n", at_), buffer_.size());
    begin_ = at_;
    if (at_ == buffer_.size()) return std::optional<std::string>();
    if (buffer_[at_] != '{') {
      return Error{ErrorKind::internal, format("the reply goes on with the byte 0x{:02x}, not with an object",
                                               static_cast<unsigned char>(buffer_[at_]))};
    }
  }
  const bool ended = find_end();
  if (at_ - begin_ > most_) {
    return Error{ErrorKind::internal, format("the reply has an object of more than {} bytes", most_)};
  }
  if (!ended) return std::optional<std::string>();
  std::string object = buffer_.substr(begin_, at_ - begin_);
  begin_ = at_;
  return std::optional<std::string>(std::move(object));
}

bool ObjectReader::find_end() {
  for (; at_ < buffer_.size(); ++at_) {
    const char c = buffer_[at_];
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
      }
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && --depth_ == 0) {
      ++at_;
      return true;
    }
  }
  return false;
}

}  // namespace rest_fcgi::etcd
