// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/secret.h"

/// The protocol between rest_fcgi and its helper rest_fcgi_pam over a stream socket. A message is a frame:
/// the length of the body (4 bytes, big-endian) and then the body. The body begins with the protocol's
/// version. The helper answers the requests in their order.
namespace rest_fcgi::auth::pam {

inline constexpr std::size_t kHeader = 4;           ///< `kHeader` is the size of the length field in bytes.
inline constexpr std::size_t kMaxBody = 64 * 1024;  ///< `kMaxBody` is the largest size of a body in bytes.
inline constexpr std::size_t kMaxField = 4096;      ///< `kMaxField` is the largest text in a body, in bytes.

enum class Ask : std::uint8_t {
  verify = 1,
  check = 2,  ///< Asks the helper whether logins with a PAM service can work.
};

struct Request {
  Ask ask = Ask::verify;
  std::string_view service;
  std::string_view username{};
  SecretView password{};
  std::string_view remote{};
};

enum class Outcome : std::uint8_t {
  good = 1,
  refused = 2,      ///< `refused` means that PAM refused the login.
  failed = 3,       ///< `failed` means that PAM or the helper does not work.
  unavailable = 4,  ///< `unavailable` means that a service that PAM needs does not answer now.
  /// `busy` means that the helper did not ask PAM, because too many passwords were wrong in the last seconds.
  busy = 5,
};

struct Answer {
  Outcome outcome = Outcome::failed;
  std::string text{};
  std::vector<std::string> groups{};  ///< The user's groups, if the outcome is good.
};

/// Returns a message as a frame. Returns no bytes if one of its texts is too long.
[[nodiscard]] WipedBytes to_frame(const Request& request);
[[nodiscard]] WipedBytes to_frame(const Answer& answer);

/// Returns the length of the body, which the first `kHeader` bytes of a frame contain. Returns std::nullopt
/// if the length is more than `kMaxBody`.
[[nodiscard]] std::optional<std::size_t> body_size(std::string_view header);

/// Reads the body of a frame. Returns std::nullopt if the body is malformed or has another protocol version.
/// The Request borrows from `body`.
[[nodiscard]] std::optional<Request> read_request(std::string_view body);
[[nodiscard]] std::optional<Answer> read_answer(std::string_view body);

/// Returns whether the text is safe as a user name for PAM. Some characters are not safe, because PAM modules
/// write the name into logs and use it in file names.
[[nodiscard]] bool is_username(std::string_view text);

[[nodiscard]] bool is_service(std::string_view text);

}  // namespace rest_fcgi::auth::pam
