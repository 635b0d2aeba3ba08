// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rest_fcgi::process {

struct Identity {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
};

struct StartOrder {
  /// The program and its arguments. Not empty. A program name without a slash is searched in the PATH of
  /// `environment`.
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< The variables in the form `NAME=value`.
  bool inherit = false;                  ///< Whether the program inherits more variables from rest_fcgi_run.
  /// The working directory. Empty for the HOME of `environment`, or for `/` if HOME cannot be entered.
  std::string cwd = "/";
  std::optional<Identity> identity;  ///< The program's user and groups. Absent for those of rest_fcgi_run.
  mode_t umask = 022;
  std::optional<std::chrono::milliseconds> time_limit;
  std::chrono::milliseconds grace{2000};  ///< The time between SIGTERM and SIGKILL.
};

/// The protocol between the server and rest_fcgi_run over a stream socket. One connection is for one program.
/// The server sends a length in 4 bytes and a StartOrder of this length. The first byte carries the program's
/// three standard descriptors (SCM_RIGHTS). rest_fcgi_run sends replies. When the server closes its side or
/// shuts it down for writing, rest_fcgi_run ends all processes of the program. Numbers are in host byte
/// order.
namespace wire {

inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kHeader = 4;  ///< The size of the length field in bytes.
/// The largest StartOrder in bytes. Linux allows at most 6 MiB of arguments and environment (execve(2)).
inline constexpr std::size_t kMaxOrder = 8 << 20;

/// A reply of rest_fcgi_run. The socket carries the bytes of this struct.
struct Reply {
  enum class Kind : std::uint32_t {
    started = 1,  ///< The program runs, and `number` is its pid.
    missing,      ///< The program does not exist, and `text` is the message.
    failed,       ///< The program cannot be started, and `text` is the message.
    exited,       ///< The program ended. Its child processes run until the server closes its side.
    ended,        ///< The program and its child processes ended. No reply follows this or a later kind.
    timed_out,    ///< The program exceeded its time limit and was ended.
    stopped,      ///< The program was ended because the server closed its side or rest_fcgi_run got SIGTERM.
  };
  std::uint32_t version = kVersion;
  Kind kind = Kind::failed;
  /// The exit status, or the negative number of the signal. Set for `exited` and later kinds.
  std::int32_t number = 0;
  std::array<char, 4500>
      text{};  ///< A message that ends with a NUL byte. A last reply lists processes that cannot be ended.
};

[[nodiscard]] Reply make_reply(Reply::Kind kind, std::int32_t number, std::string_view text = {});

/// Returns a StartOrder as bytes with the length in front, or an empty text if it is too long.
[[nodiscard]] std::string to_bytes(const StartOrder& order);

/// Returns a StartOrder's length, which the first `kHeader` bytes hold. Absent for more than `kMaxOrder`.
[[nodiscard]] std::optional<std::size_t> length_in(std::string_view header);

/// Reads a StartOrder from the bytes after the length. Absent for malformed bytes or another version.
[[nodiscard]] std::optional<StartOrder> read_order(std::string_view body);

}  // namespace wire
}  // namespace rest_fcgi::process
