// SPDX-License-Identifier: MIT
// What one listener of an event stream receives, and when, for stream_listeners.cc.
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bench {

/// The mark of an event is a text in its data: the number of the source, the number of the event and the
/// time. All have full width, so that all events have one length: `@@02-0000001234-0000012345678901234`.
constexpr std::string_view kMark = "@@";
constexpr std::size_t kMarkSize = 2 + 2 + 1 + 10 + 1 + 19;

inline std::uint64_t nanoseconds() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

inline std::string wide(std::uint64_t number, std::size_t width) {
  const std::string digits = std::to_string(number);
  return std::string(width - digits.size(), '0') + digits;
}

inline std::string mark_of(unsigned source, std::uint64_t number) {
  return std::string(kMark) + wide(source, 2) + "-" + wide(number, 10) + "-" + wide(nanoseconds(), 19);
}

inline std::uint64_t parse_number(std::string_view digits) {
  std::uint64_t number = 0;
  for (const char digit : digits) number = number * 10 + static_cast<std::uint64_t>(digit - '0');
  return number;
}

/// A histogram of times in microseconds, exact to about 1 %.
class Times {
 public:
  void add(std::uint64_t micros) {
    most_ = micros > most_ ? micros : most_;
    ++counts_[slot(micros)];
    ++total_;
  }

  /// Returns the quantile in ms.
  [[nodiscard]] double at(double share) const {
    const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(total_));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen > wanted) return static_cast<double>(middle(i)) / 1000;
    }
    return most();
  }
  [[nodiscard]] double most() const { return static_cast<double>(most_) / 1000; }

 private:
  static constexpr unsigned kFine = 6;  // significant bits

  static std::size_t slot(std::uint64_t value) {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    if (width <= kFine) return value;
    const unsigned shift = width - kFine;
    return (static_cast<std::size_t>(shift) << kFine) + (value >> shift);
  }
  static std::uint64_t middle(std::size_t at) {
    const std::size_t shift = at >> kFine;
    const std::uint64_t low = at - (shift << kFine);
    return shift == 0 ? low : (low << shift) + (std::uint64_t{1} << (shift - 1));
  }

  std::array<std::uint64_t, std::size_t{64} << kFine> counts_{};
  std::uint64_t total_ = 0;
  std::uint64_t most_ = 0;
};

/// Counts the events of each source once.
class Tally {
 public:
  void hear(unsigned source, std::uint64_t number) {
    heard_ += sources_[source].insert(number).second ? 1U : 0U;
  }

  [[nodiscard]] std::uint64_t heard() const { return heard_; }

 private:
  std::map<unsigned, std::set<std::uint64_t>> sources_;
  std::uint64_t heard_ = 0;
};

/// Finds marks in a text that arrives in pieces.
class Marks {
 public:
  /// `before` is the text before a mark that counts; an event may contain its mark several times.
  explicit Marks(std::string_view before) : before_(std::string(before) + std::string(kMark)) {}

  template <class Heard>
  void add(std::string_view piece, const Heard& heard) {
    const std::size_t whole = before_.size() - kMark.size() + kMarkSize;
    text_ += piece;
    std::size_t done = 0;
    for (std::size_t at = 0; (at = text_.find(before_, done)) != std::string::npos;) {
      if (at + whole > text_.size()) break;
      const std::string_view mark =
          std::string_view(text_).substr(at + before_.size(), kMarkSize - kMark.size());
      heard(static_cast<unsigned>(parse_number(mark.substr(0, 2))), parse_number(mark.substr(3, 10)),
            parse_number(mark.substr(14)));
      done = at + whole;
    }
    const std::size_t kept = text_.size() > whole ? text_.size() - whole : 0;
    text_.erase(0, done > kept ? done : kept);
  }

 private:
  const std::string before_;
  std::string text_;
};

/// Extracts payloads from HTTP chunks or from WebSocket frames of a server.
class Unframed {
 public:
  enum class Form { chunks, frames };
  explicit Unframed(Form form) : form_(form) {}

  /// Calls `payload(text, opcode)` for each whole payload. The opcode is 1 for chunks.
  template <class Payload>
  void add(std::string_view bytes, const Payload& payload) {
    bytes_ += bytes;
    std::size_t at = 0;
    while (const std::size_t size = form_ == Form::chunks ? chunk(at, payload) : frame(at, payload))
      at += size;
    bytes_.erase(0, at);
  }

 private:
  /// Returns the size with framing, or 0 for an incomplete one.
  template <class Payload>
  std::size_t chunk(std::size_t at, const Payload& payload) {
    const std::size_t line = bytes_.find("\r\n", at);
    if (line == std::string::npos) return 0;
    const std::size_t size = std::stoul(bytes_.substr(at, line - at), nullptr, 16);
    if (line + 2 + size + 2 > bytes_.size()) return 0;
    payload(std::string_view(bytes_).substr(line + 2, size), size == 0 ? 8 : 1);
    return line + 2 + size + 2 - at;
  }

  template <class Payload>
  std::size_t frame(std::size_t at, const Payload& payload) {
    if (at + 2 > bytes_.size()) return 0;
    const auto byte = [&](std::size_t i) {
      return static_cast<std::size_t>(static_cast<unsigned char>(bytes_[at + i]));
    };
    std::size_t size = byte(1) & 127, head = 2;
    const std::size_t wider = size == 126 ? 2 : size == 127 ? 8 : 0;
    if (at + head + wider > bytes_.size()) return 0;
    if (wider != 0) size = 0;
    for (; head < 2 + wider; ++head) size = size << 8 | byte(head);
    if (at + head + size > bytes_.size()) return 0;
    payload(std::string_view(bytes_).substr(at + head, size), static_cast<int>(byte(0) & 15));
    return head + size;
  }

  const Form form_;
  std::string bytes_;
};

}  // namespace bench
