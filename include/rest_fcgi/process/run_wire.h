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

/// Whom a program runs as. Plain value.
struct Identity {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
};

/// The program that rest_fcgi_run is to start, and how. Plain value.
struct StartOrder {
  std::vector<std::string>
      argv;  ///< not empty; a name without a slash is looked for in the environment's PATH
  std::vector<std::string> environment;  ///< `NAME=value`; nothing else is passed on, unless `inherit`
  bool inherit = false;   ///< variables of rest_fcgi_run that `environment` does not name are passed on, too
  std::string cwd = "/";  ///< empty: the environment's HOME where it can be entered, else `/`
  std::optional<Identity> identity;  ///< absent: that of rest_fcgi_run
  mode_t umask = 022;
  std::optional<std::chrono::milliseconds> time_limit;
  std::chrono::milliseconds grace{2000};  ///< between SIGTERM and SIGKILL, where it has to be ended
};

/// What the responder and rest_fcgi_run say to each other over a stream socket, which serves one program.
///
/// The responder sends one order, 4 bytes of its length and the order itself, and with the first byte the
/// program's three standard descriptors (SCM_RIGHTS). Nothing else follows: where the responder closes its
/// side, wholly or for writing alone, all that was started is ended. What comes back is replies. Numbers are
/// as the host has them, since both ends are on one; the version tells programs of different builds apart.
namespace wire {

inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kHeader = 4;          ///< bytes of the length
inline constexpr std::size_t kMaxOrder = 8 << 20;  ///< bytes after it; the system's own limit is 6 MiB

/// Sent as it lies in memory.
struct Reply {
  enum class Kind : std::uint32_t {
    started = 1,  ///< `number` is the program's pid
    missing,      ///< there is no such program; `text` is the sentence
    failed,       ///< it cannot be started; `text` is the sentence
    exited,       ///< but left processes, which go on until the responder closes its side
    ended,        ///< so has all that it started; this and those below come last, with what is left in `text`
    timed_out,    ///< ended, as its time was over
    stopped,      ///< ended, as the responder closed its side or an init system asked for it
  };
  std::uint32_t version = kVersion;
  Kind kind = Kind::failed;
  std::int32_t number = 0;  ///< from `exited` on the exit status, or the signal's number negated
  std::array<char, 4500>
      text{};  ///< ends with a NUL byte; from `ended` on: processes that could not be ended
};

/// With a text that is cut where it is too long.
[[nodiscard]] Reply make_reply(Reply::Kind kind, std::int32_t number, std::string_view text = {});

/// The length and the order; empty where it is too long.
[[nodiscard]] std::string to_bytes(const StartOrder& order);

/// The length that an order's first bytes tell; absent beyond `kMaxOrder`.
[[nodiscard]] std::optional<std::size_t> length_in(std::string_view header);

/// An order without its length; absent where it is none of this version.
[[nodiscard]] std::optional<StartOrder> read_order(std::string_view body);

}  // namespace wire
}  // namespace rest_fcgi::process
