// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::gateway {

/// Looks at the records of one request (FastCGI Specification 1.0, section 3.3) before libfcgi does. libfcgi
/// 2.4.2 believes every length: it ends the process where it cannot allocate what a length announces, keeps
/// variables without limit, and leaks or overruns memory where a peer sends management records.
///
/// Passes what a web server sends and nothing else: FCGI_BEGIN_REQUEST, then FCGI_PARAMS and FCGI_STDIN of
/// that one request, up to their ends. All that libfcgi would skip, answer by itself or read in another way
/// than the specification is refused, so that both agree on where each record begins. A value; not
/// synchronized.
class RecordFilter {
 public:
  static constexpr std::size_t kMaxVariables = 1000;
  static constexpr std::size_t kMaxVariablesSize = 256u << 10;  ///< bytes of all names and values

  /// What comes next.
  enum class Stage { begin, params, body, complete, refused };

  /// May libfcgi read `bytes`, the next ones of the connection? What comes after the request passes unseen,
  /// since libfcgi does not look at it either. Once refused, all is.
  bool pass(std::string_view bytes) noexcept;

  [[nodiscard]] Stage stage() const noexcept { return stage_; }

  /// Bytes of FCGI_STDIN that came, without headers and padding.
  [[nodiscard]] std::size_t body_size() const noexcept { return body_size_; }

  /// The rule that was broken, and the number that broke it: nothing of any text. Empty: none was.
  [[nodiscard]] std::string problem() const;

 private:
  struct Header {
    std::size_t version, type, id, content, padding;
  };

  [[gnu::cold]] void refuse(std::string_view rule, std::optional<std::size_t> found = {}) noexcept;
  void take_header(std::string_view& bytes) noexcept;
  [[nodiscard]] Header header() const noexcept;
  void open(const Header& record) noexcept;
  void open_begin(const Header& record) noexcept;
  void open_stream(const Header& record) noexcept;
  void end_params(std::size_t padding) noexcept;
  void take_content(std::string_view content) noexcept;
  void take_params(std::string_view content) noexcept;
  void take_length_byte(unsigned char byte) noexcept;
  void take_length() noexcept;

  Stage stage_ = Stage::begin;

  // The record that is being read.
  std::array<unsigned char, 8> header_ = {};
  std::size_t header_size_ = 0;  ///< bytes of it that came
  std::size_t content_left_ = 0;
  std::size_t padding_left_ = 0;
  std::size_t id_ = 0;  ///< the request's

  // The variable that is being read: the length of its name, that of its value, and both texts.
  std::size_t length_ = 0;          ///< as far as it came
  unsigned length_bytes_left_ = 0;  ///< of a length of four bytes
  bool name_length_known_ = false;  ///< so the value's is next
  std::size_t name_length_ = 0;
  std::size_t text_left_ = 0;

  std::size_t variables_ = 0;
  std::size_t variables_size_ = 0;
  std::size_t body_size_ = 0;

  std::string_view rule_;
  std::optional<std::size_t> found_;
};

/// What comes in on one connection, read for one request after the other. As long as it lives, libfcgi's
/// reads on the thread that made it go through it (see `OS_Read` in incoming.cc), for as long as a web server
/// may take:
///
///   - the receive time-out for the first byte,
///   - from then on the same once more for the variables to be there whole,
///   - from then on the same for each further part of the body, and in all for the body, plus a second for
///     each `kBodyRate` bytes of it that came.
///
/// Does not own the connection, nor the clock. To be used and destroyed on the thread that made it.
class Incoming {
 public:
  static constexpr std::size_t kBodyRate = 4096;  ///< bytes a second; a modem does as much

  Incoming(int connection, std::chrono::milliseconds receive_timeout,
           const Clock& clock = system_clock()) noexcept;
  ~Incoming();
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;

  /// What libfcgi's reads on the calling thread go through; nullptr: nothing.
  static Incoming* of_this_thread() noexcept;

  /// What comes next is a request's first record.
  void begin_request() noexcept;

  /// Wipes what came of the buffer that the last read went to: variables and bodies hold passwords. REQUIRES:
  /// libfcgi has not freed it.
  void wipe_buffer() noexcept;

  /// As read(2). -1 with EPROTO: libfcgi must not see what came; with ETIMEDOUT: it did not come in time.
  int read(char* buffer, std::size_t size) noexcept;

  /// Why the last read failed, where the peer broke a rule. Empty: it did not, or never said a word.
  [[nodiscard]] std::string problem() const;

 private:
  int receive(char* buffer, std::size_t size) noexcept;
  bool let_pass(std::string_view bytes) noexcept;
  [[nodiscard]] std::optional<SteadyTime> deadline() const noexcept;
  [[nodiscard]] bool await_bytes(SteadyTime until) const noexcept;
  void give_up() noexcept;

  const int connection_;
  const std::chrono::milliseconds receive_timeout_;
  const Clock& clock_;
  Incoming* const outer_;  ///< what the thread's reads went through before

  RecordFilter filter_;
  std::optional<SteadyTime> begun_;       ///< when the first bytes had come, and more had to
  std::optional<SteadyTime> body_begun_;  ///< and when the variables had
  bool late_ = false;
  std::span<char> buffer_;  ///< of libfcgi's for the request, as far as anything was read into it
};

}  // namespace rest_fcgi::gateway
