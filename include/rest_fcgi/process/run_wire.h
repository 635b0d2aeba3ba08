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
  /// The program and its arguments; not empty. A program name without a slash is searched in the PATH of
  /// `environment`.
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< variables in the form `NAME=value`
  bool inherit = false;  ///< whether the program inherits further variables from rest_fcgi_run
  /// The working directory. Empty means the HOME of `environment`, or `/` if HOME cannot be entered.
  std::string cwd = "/";
  std::optional<Identity> identity;  ///< user and groups of the program; absent means those of rest_fcgi_run
  mode_t umask = 022;
  std::optional<std::chrono::milliseconds> time_limit;
  std::chrono::milliseconds grace{2000};  ///< time between SIGTERM and SIGKILL
};

/// The protocol between the server and rest_fcgi_run over a stream socket. One connection is for one program.
/// The server sends one order: the length in 4 bytes, then the StartOrder. The first byte carries the
/// program's three standard descriptors (SCM_RIGHTS). rest_fcgi_run sends replies. When the server closes its
/// side or shuts it down for writing, rest_fcgi_run ends all processes of the program. Numbers are in host
/// byte order.
namespace wire {

inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kHeader = 4;  ///< size of the length field in bytes
/// The largest order in bytes. Linux allows at most 6 MiB of arguments and environment (execve(2)).
inline constexpr std::size_t kMaxOrder = 8 << 20;

/// A reply of rest_fcgi_run, which is sent as the bytes of the object in memory.
struct Reply {
  enum class Kind : std::uint32_t {
    started = 1,  ///< the program runs, and `number` is its pid
    missing,      ///< the program does not exist, and `text` is the message
    failed,       ///< the program cannot be started, and `text` is the message
    exited,       ///< the program ended; its child processes run until the server closes its side
    ended,        ///< the program and its child processes ended; a last reply, like the kinds below
    timed_out,    ///< the program exceeded its time limit and was ended
    stopped,      ///< the server closed its side, or rest_fcgi_run got SIGTERM
  };
  std::uint32_t version = kVersion;
  Kind kind = Kind::failed;
  /// The exit status, or the negative number of the signal. Set for `exited` and the kinds after it.
  std::int32_t number = 0;
  std::array<char, 4500>
      text{};  ///< a message that ends with a NUL byte; lists processes that cannot be ended in last replies
};

[[nodiscard]] Reply make_reply(Reply::Kind kind, std::int32_t number, std::string_view text = {});

/// Returns the length and the order as bytes, or an empty text if the order is too long.
[[nodiscard]] std::string to_bytes(const StartOrder& order);

/// Returns the length in an order's first `kHeader` bytes, or absent if the length exceeds `kMaxOrder`.
[[nodiscard]] std::optional<std::size_t> length_in(std::string_view header);

/// Reads the bytes of an order after the length. Returns absent for malformed bytes and for another version.
[[nodiscard]] std::optional<StartOrder> read_order(std::string_view body);

}  // namespace wire
}  // namespace rest_fcgi::process
