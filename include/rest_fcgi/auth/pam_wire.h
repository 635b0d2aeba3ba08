// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/secret.h"

/// The protocol with the helper rest_fcgi_pam over a stream socket. A frame is the length of its body (4
/// bytes, big-endian) and the body, which begins with the protocol's version. Answers have the order of the
/// requests.
namespace rest_fcgi::auth::pam {

inline constexpr std::size_t kHeader = 4;           ///< The size of the length field in bytes.
inline constexpr std::size_t kMaxBody = 64 * 1024;  ///< The largest body in bytes.
inline constexpr std::size_t kMaxField = 4096;      ///< The longest text in bytes.

enum class Ask : std::uint8_t {
  verify = 1,
  check = 2,  ///< Asks the helper whether logins can work.
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
  refused = 2,      ///< PAM refused the login.
  failed = 3,       ///< PAM or the helper does not work.
  unavailable = 4,  ///< A service that PAM needs does not answer now.
  busy = 5,         ///< The helper did not ask PAM, because too many passwords were wrong.
};

struct Answer {
  Outcome outcome = Outcome::failed;
  std::string text{};
  std::vector<std::string> groups{};  ///< The user's groups, if the outcome is good.
};

/// Returns the frame, or no bytes if a text is too long.
[[nodiscard]] WipedBytes to_frame(const Request& request);
[[nodiscard]] WipedBytes to_frame(const Answer& answer);

/// Returns the length in a frame's first `kHeader` bytes. Returns std::nullopt for more than `kMaxBody`.
[[nodiscard]] std::optional<std::size_t> body_size(std::string_view header);

/// Reads the body of a frame. Returns std::nullopt if the body is malformed or has another version. A request
/// borrows from `body`.
[[nodiscard]] std::optional<Request> read_request(std::string_view body);
[[nodiscard]] std::optional<Answer> read_answer(std::string_view body);

/// Returns whether the text can be the name of a system user, which PAM modules use in log lines and file
/// names.
[[nodiscard]] bool is_username(std::string_view text);

[[nodiscard]] bool is_service(std::string_view text);

}  // namespace rest_fcgi::auth::pam
