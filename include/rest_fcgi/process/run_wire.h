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
  /// The program and its arguments. Not empty. If the program name has no slash, rest_fcgi_run looks for the
  /// program in the PATH of `environment`.
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< `environment` has the variables in the form `NAME=value`.
  bool inherit = false;                  ///< `inherit` gives the program also the variables of rest_fcgi_run.
  /// `cwd` is the working directory. If empty, the directory HOME of `environment` is used, or `/` if the
  /// program cannot enter HOME.
  std::string cwd = "/";
  /// The program's user and groups. If absent, the program has the user and groups of rest_fcgi_run.
  std::optional<Identity> identity;
  mode_t umask = 022;
  std::optional<std::chrono::milliseconds> time_limit;
  std::chrono::milliseconds grace{2000};  ///< The time between SIGTERM and SIGKILL.
};

/// The protocol between rest_fcgi and rest_fcgi_run over a stream socket. One connection is for one program.
/// rest_fcgi sends a length in 4 bytes and then a StartOrder of this length. The first byte carries the
/// program's three standard descriptors (SCM_RIGHTS). rest_fcgi_run sends replies. When rest_fcgi closes its
/// end of the socket or shuts down the socket for writing, rest_fcgi_run ends all processes of the program.
/// Numbers are in host byte order.
namespace wire {

inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kHeader = 4;  ///< `kHeader` is the size of the length field in bytes.
/// `kMaxOrder` is the largest size of a StartOrder in bytes. Linux allows 6 MiB for a new program
/// (execve(2)).
inline constexpr std::size_t kMaxOrder = 8 << 20;

/// A reply of rest_fcgi_run. The socket carries the bytes of this struct.
struct Reply {
  enum class Kind : std::uint32_t {
    started = 1,  ///< `started` means that the program runs. `number` is its pid.
    missing,      ///< `missing` means that the program does not exist. `text` is the message.
    failed,       ///< `failed` means that the program cannot be started. `text` is the message.
    /// `exited` means that the program ended, but child processes still run. rest_fcgi_run ends these
    /// processes when rest_fcgi closes its end of the socket.
    exited,
    /// `ended` means that all processes ended. No reply follows `ended`, `timed_out` or `stopped`.
    ended,
    timed_out,  ///< `timed_out` means that rest_fcgi_run ended the program at its time limit.
    /// `stopped` means that rest_fcgi_run ended the program, because rest_fcgi closed its end of the socket
    /// or rest_fcgi_run got SIGTERM.
    stopped,
  };
  std::uint32_t version = kVersion;
  Kind kind = Kind::failed;
  /// The pid while the program runs. After the program's end, its exit status, or the negative number of the
  /// signal that ended the program.
  std::int32_t number = 0;
  /// A text that ends with a NUL byte. It is the reason if the reply is `missing` or `failed`, and otherwise
  /// names the processes that cannot be ended. May be empty.
  std::array<char, 4500> text{};
};

[[nodiscard]] Reply make_reply(Reply::Kind kind, std::int32_t number, std::string_view text = {});

/// Returns a StartOrder as bytes, with its length in front. Returns an empty text if the StartOrder is longer
/// than `kMaxOrder`.
[[nodiscard]] std::string to_bytes(const StartOrder& order);

/// Returns the length of a StartOrder, which the first `kHeader` bytes contain. Returns std::nullopt if the
/// length is more than `kMaxOrder`.
[[nodiscard]] std::optional<std::size_t> length_in(std::string_view header);

/// Reads a StartOrder from the bytes after the length. Returns std::nullopt if the bytes are malformed or
/// have another protocol version.
[[nodiscard]] std::optional<StartOrder> read_order(std::string_view body);

}  // namespace wire
}  // namespace rest_fcgi::process
