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

/// The user and groups of a program. Plain value.
struct Identity {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
};

/// The program that rest_fcgi_run starts. Plain value.
struct StartOrder {
  /// The program and its arguments; not empty. A program name without a slash is searched in the PATH of
  /// `environment`.
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< variables in the form `NAME=value`
  bool inherit = false;  ///< whether the program also inherits other variables from rest_fcgi_run
  /// The working directory. If empty, the program starts in the HOME of `environment`, or in `/` if HOME
  /// cannot be entered.
  std::string cwd = "/";
  std::optional<Identity> identity;  ///< user and groups of the program; absent means those of rest_fcgi_run
  mode_t umask = 022;
  std::optional<std::chrono::milliseconds> time_limit;
  std::chrono::milliseconds grace{2000};  ///< time between SIGTERM and SIGKILL
};

/// The protocol between the server and rest_fcgi_run over a stream socket. One connection is for one program.
///
/// The server sends one order: the length in 4 bytes, then the StartOrder. The first byte carries the
/// program's three standard descriptors (SCM_RIGHTS). rest_fcgi_run answers with one or more replies. If the
/// server closes its side or shuts it down for writing, rest_fcgi_run ends all processes of the program.
/// Numbers are in host byte order. `kVersion` detects that server and helper are from different builds.
namespace wire {

inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kHeader = 4;  ///< size of the length field in bytes
/// The largest order in bytes. Linux itself allows at most 6 MiB of arguments and environment (execve(2)).
inline constexpr std::size_t kMaxOrder = 8 << 20;

/// A reply of rest_fcgi_run. The bytes of this object in memory are sent unchanged.
struct Reply {
  enum class Kind : std::uint32_t {
    started = 1,  ///< `number` is the program's pid
    missing,      ///< the program does not exist; `text` is the message
    failed,       ///< the program cannot be started; `text` is the message
    exited,       ///< the program ended; processes that it started run until the server closes its side
    ended,        ///< the program and all its processes ended; this and the kinds below are last replies
    timed_out,    ///< the program was ended at its time limit
    stopped,      ///< the program was ended because the server closed its side or rest_fcgi_run got SIGTERM
  };
  std::uint32_t version = kVersion;
  Kind kind = Kind::failed;
  /// The exit status, or the negative number of the signal. Set for `exited` and the kinds after it.
  std::int32_t number = 0;
  std::array<char, 4500> text{};  ///< text that ends with a NUL byte; for `ended` and later kinds: processes
                                  ///< that cannot be ended
};

/// Makes a reply. Cuts a text that is too long.
[[nodiscard]] Reply make_reply(Reply::Kind kind, std::int32_t number, std::string_view text = {});

/// Returns the bytes to send: the length and the order. Returns no bytes if the order is too long.
[[nodiscard]] std::string to_bytes(const StartOrder& order);

/// Returns the length that an order's first `kHeader` bytes hold; absent if the length exceeds `kMaxOrder`.
[[nodiscard]] std::optional<std::size_t> length_in(std::string_view header);

/// Reads the bytes of an order after its length. Returns absent if they are malformed or have another
/// version.
[[nodiscard]] std::optional<StartOrder> read_order(std::string_view body);

}  // namespace wire
}  // namespace rest_fcgi::process
