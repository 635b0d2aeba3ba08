// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/secret.h"

/// The protocol between the responder and its helper rest_fcgi_pam, over a stream. A request or answer is a
/// frame: 4 bytes of length, big-endian, then a body of that length, which begins with the protocol's
/// version. Each request gets one answer, in order.
namespace rest_fcgi::auth::pam {

inline constexpr std::size_t kHeader = 4;           ///< bytes of the length
inline constexpr std::size_t kMaxBody = 64 * 1024;  ///< bytes
inline constexpr std::size_t kMaxField = 4096;      ///< bytes of one text

enum class Ask : std::uint8_t {
  verify = 1,  ///< check a user's password
  check = 2,   ///< check whether logins through the service can work
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
  refused = 2,      ///< by PAM
  failed = 3,       ///< PAM or the helper does not work
  unavailable = 4,  ///< a service that PAM needs does not answer now
  busy = 5,         ///< PAM was not asked: too many passwords were wrong lately
};

struct Answer {
  Outcome outcome = Outcome::failed;
  std::string text{};                 ///< the cause, for a log
  std::vector<std::string> groups{};  ///< of the user, if the outcome is good
};

/// Return whole frames. Return no bytes if a text of a request is too long.
[[nodiscard]] WipedBytes to_frame(const Request& request);
[[nodiscard]] WipedBytes to_frame(const Answer& answer);

/// Reads the length in a frame's first `kHeader` bytes. Returns nothing if it exceeds `kMaxBody`.
[[nodiscard]] std::optional<std::size_t> body_size(std::string_view header);

/// Read a frame's body. Return nothing if it is malformed or of another version. Requests borrow from it.
[[nodiscard]] std::optional<Request> read_request(std::string_view body);
[[nodiscard]] std::optional<Answer> read_answer(std::string_view body);

/// Returns whether the text can be the name of a system user. PAM modules use it in log lines and file names.
[[nodiscard]] bool is_username(std::string_view text);

/// Returns whether the text is a plain file name, like those in /etc/pam.d.
[[nodiscard]] bool is_service(std::string_view text);

}  // namespace rest_fcgi::auth::pam
