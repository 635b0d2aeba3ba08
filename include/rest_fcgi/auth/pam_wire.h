// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/secret.h"

/// What the responder and its helper rest_fcgi_pam say to each other over a stream. Requests and answers are
/// frames: 4 bytes of length, most significant first, then as many bytes, which begin with the protocol's
/// version. One answer follows each request, in order.
namespace rest_fcgi::auth::pam {

inline constexpr std::size_t kHeader = 4;           ///< bytes of the length
inline constexpr std::size_t kMaxBody = 64 * 1024;  ///< bytes after it
inline constexpr std::size_t kMaxField = 4096;      ///< bytes of one text

enum class Ask : std::uint8_t {
  verify = 1,  ///< are these a user's name and password?
  check = 2,   ///< can the service work here at all?
};

/// Borrows.
struct Request {
  Ask ask = Ask::verify;
  std::string_view service;
  std::string_view username{};
  SecretView password{};
  std::string_view remote{};
};

enum class Outcome : std::uint8_t {
  good = 1,
  refused = 2,      ///< the stack said no
  failed = 3,       ///< the stack or the helper does not work
  unavailable = 4,  ///< what the stack asks is not there now
  busy = 5,         ///< not asked: too many passwords were wrong lately
};

struct Answer {
  Outcome outcome = Outcome::failed;
  std::string text{};                 ///< the cause, for a log
  std::vector<std::string> groups{};  ///< the user's, where it is good
};

/// Whole frames. A text that is too long makes no frame: empty.
[[nodiscard]] WipedBytes to_frame(const Request& request);
[[nodiscard]] WipedBytes to_frame(const Answer& answer);

/// The length that a frame's first `kHeader` bytes tell; absent beyond `kMaxBody`.
[[nodiscard]] std::optional<std::size_t> body_size(std::string_view header);

/// A frame's body; absent where it is none of this version. Requests borrow from it.
[[nodiscard]] std::optional<Request> read_request(std::string_view body);
[[nodiscard]] std::optional<Answer> read_answer(std::string_view body);

/// Could it be a system user's name? PAM modules make log lines and file names of it.
[[nodiscard]] bool is_username(std::string_view text);

/// Is it a plain file name, as services in /etc/pam.d have?
[[nodiscard]] bool is_service(std::string_view text);

}  // namespace rest_fcgi::auth::pam
