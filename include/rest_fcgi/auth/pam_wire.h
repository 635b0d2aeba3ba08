// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/secret.h"

/// The protocol between the server and its helper rest_fcgi_pam over a stream socket. Each request and each
/// answer is one frame. A frame begins with the length of its body in 4 bytes, big-endian. The body begins
/// with the protocol's version. The helper answers the requests in their order.
namespace rest_fcgi::auth::pam {

inline constexpr std::size_t kHeader = 4;           ///< size of the length field in bytes
inline constexpr std::size_t kMaxBody = 64 * 1024;  ///< largest body in bytes
inline constexpr std::size_t kMaxField = 4096;      ///< longest text in bytes

enum class Ask : std::uint8_t {
  verify = 1,  ///< the helper checks a user's password
  check = 2,   ///< the helper checks whether logins through the service can work
};

/// A request to rest_fcgi_pam. Borrows its texts.
struct Request {
  Ask ask = Ask::verify;
  std::string_view service;
  std::string_view username{};
  SecretView password{};
  std::string_view remote{};
};

enum class Outcome : std::uint8_t {
  good = 1,
  refused = 2,      ///< PAM refused the login
  failed = 3,       ///< PAM or the helper does not work
  unavailable = 4,  ///< a service that PAM needs does not answer now
  busy = 5,         ///< the helper did not ask PAM, because too many passwords were wrong recently
};

struct Answer {
  Outcome outcome = Outcome::failed;
  std::string text{};                 ///< the cause of a failure, for the log
  std::vector<std::string> groups{};  ///< the user's groups, if the outcome is good
};

/// Returns the whole frame, or no bytes if a text of the request is too long.
[[nodiscard]] WipedBytes to_frame(const Request& request);
[[nodiscard]] WipedBytes to_frame(const Answer& answer);

/// Returns the length that a frame's first `kHeader` bytes hold; absent if the length exceeds `kMaxBody`.
[[nodiscard]] std::optional<std::size_t> body_size(std::string_view header);

/// Reads the body of a frame. Returns absent if the body is malformed or has another version. A request
/// borrows from `body`.
[[nodiscard]] std::optional<Request> read_request(std::string_view body);
[[nodiscard]] std::optional<Answer> read_answer(std::string_view body);

/// Returns whether the text can be the name of a system user. PAM modules use this name in log lines and file
/// names, so other texts are refused.
[[nodiscard]] bool is_username(std::string_view text);

/// Returns whether the text is a plain file name, like those in /etc/pam.d.
[[nodiscard]] bool is_service(std::string_view text);

}  // namespace rest_fcgi::auth::pam
