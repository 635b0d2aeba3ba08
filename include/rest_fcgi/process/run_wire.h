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
  std::vector<std::string> argv;  ///< not empty; a name without a slash is searched in the environment's PATH
  std::vector<std::string> environment;  ///< `NAME=value`
  bool inherit = false;                  ///< adds the other variables of rest_fcgi_run
  std::string cwd = "/";                 ///< empty: the environment's HOME, or `/` if that cannot be entered
  std::optional<Identity> identity;      ///< absent: those of rest_fcgi_run
  mode_t umask = 022;
  std::optional<std::chrono::milliseconds> time_limit;
  std::chrono::milliseconds grace{2000};  ///< between SIGTERM and SIGKILL
};

/// The protocol between the responder and rest_fcgi_run over a stream socket, for one program.
///
/// The responder sends one order: 4 bytes of length and the order, with the program's three standard
/// descriptors (SCM_RIGHTS) at the first byte. When the responder closes its side, or shuts it down for
/// writing, all processes of the program are ended. rest_fcgi_run sends replies. Numbers are in host order.
/// The version distinguishes programs of different builds.
namespace wire {

inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kHeader = 4;          ///< bytes of the length
inline constexpr std::size_t kMaxOrder = 8 << 20;  ///< bytes; the system's limit is 6 MiB

/// Sent as its bytes in memory.
struct Reply {
  enum class Kind : std::uint32_t {
    started = 1,  ///< `number` is the program's pid
    missing,      ///< the program does not exist; `text` is the message
    failed,       ///< it cannot be started; `text` is the message
    exited,       ///< its processes go on until the responder closes its side
    ended,        ///< with all its processes; this and those below are the last reply
    timed_out,    ///< ended at its time limit
    stopped,      ///< ended because the responder closed its side, or by SIGTERM
  };
  std::uint32_t version = kVersion;
  Kind kind = Kind::failed;
  std::int32_t number = 0;        ///< from `exited` on: exit status, or the negative signal number
  std::array<char, 4500> text{};  ///< ends with a NUL byte; from `ended` on: processes that cannot be ended
};

/// Makes a reply. A text that is too long is cut.
[[nodiscard]] Reply make_reply(Reply::Kind kind, std::int32_t number, std::string_view text = {});

/// Returns the length and the order, or no bytes if the order is too long.
[[nodiscard]] std::string to_bytes(const StartOrder& order);

/// Reads the length in an order's first bytes. Returns nothing if it exceeds `kMaxOrder`.
[[nodiscard]] std::optional<std::size_t> length_in(std::string_view header);

/// Reads an order without its length. Returns nothing if it is malformed or of another version.
[[nodiscard]] std::optional<StartOrder> read_order(std::string_view body);

}  // namespace wire
}  // namespace rest_fcgi::process
