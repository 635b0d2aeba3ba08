// SPDX-License-Identifier: MIT
#pragma once

// clang-format off
/// Differences between the release series of Salt's master that concern this engine. A master does not tell its version,
/// so the engine recognizes each difference by what it receives. Source: all three series in operation.
///
/// | what                        | 3006.28      | 3007.15  | 3008.3     | how the engine handles it                    |
/// | --------------------------- | ------------ | -------- | ---------- | -------------------------------------------- |
/// | events on their stream      | with lengths | bare     | bare       | by the first byte: `framing_of`              |
/// | event with the tag `<jid>`  | yes          | yes      | no         | is never waited for                          |
/// | `_stamp` of an event        | no zone      | no zone  | `+00:00`   | is passed on unchanged                       |
/// | `data._stamp` of a wheel    | yes          | yes      | on failure | is passed on unchanged                       |
/// | frames before the empty one | answered     | answered | refused    | are never sent: one request on a connection  |
/// | unknown runner              | a return     | a return | no event   | `SaltMaster::wait_until_started`             |
/// | file of a token             | its text     | its text | with `.p`  | the existing one is removed                  |
///
/// Older 3006 releases send bare events. In all three series, events are sent to the master with lengths.
/// Older releases of 3006 and 3007 cannot read such events.
// clang-format on
namespace rest_fcgi::salt {

/// The text of Salt's error for a master that does not run.
inline constexpr const char* kMasterNotAvailable = "Salt Master is not available.";

enum class Framing {
  bare,         ///< The stream is one msgpack map after the other.
  with_length,  ///< The length precedes each map in 4 bytes, big-endian.
};

/// Returns the framing that the first byte of the stream shows. The first byte of a map is at least 0x80, and
/// the first byte of a length is smaller.
[[nodiscard]] constexpr Framing framing_of(unsigned char first_byte) noexcept {
  return first_byte >= 0x80 ? Framing::bare : Framing::with_length;
}

}  // namespace rest_fcgi::salt
