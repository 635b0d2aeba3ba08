// SPDX-License-Identifier: MIT
#pragma once

// clang-format off
/// What differs between the living lines of Salt's master, as far as it concerns this engine. A master does not say
/// on the wire of which line it is, so each difference is told by what is seen there, never by a version. Source:
/// all three lines, seen at work.
///
/// | what                        | 3006.28      | 3007.15  | 3008.3     | how it is told, or why it need not be        |
/// | --------------------------- | ------------ | -------- | ---------- | -------------------------------------------- |
/// | events on their stream      | with lengths | bare     | bare       | its first byte: `framing_of`                 |
/// | event with the bare `<jid>` | yes          | yes      | no         | never waited for                             |
/// | `_stamp` of an event        | no zone      | no zone  | `+00:00`   | its end; passed on as it is                  |
/// | `data._stamp` of a wheel    | yes          | yes      | on failure | the key; passed on as it is                  |
/// | frames before the empty one | answered     | answered | refused    | never sent: one request on a connection      |
/// | unknown runner              | a return     | a return | no event   | no event comes: `SaltMaster::wait_until_begun` |
/// | file of a token             | its text     | its text | with `.p`  | whichever is there is removed                |
///
/// Older 3006 releases send bare events. To all three events are sent with lengths, whatever they send; older 3006 and
/// 3007 releases read none.
// clang-format on
namespace rest_fcgi::salt {

/// Salt's sentence for a master that is not there.
inline constexpr const char* kMasterNotAvailable = "Salt Master is not available.";

/// How the events of a stream are parted.
enum class Framing {
  bare,         ///< one msgpack map after the other
  with_length,  ///< each map after its length: 4 bytes, big-endian
};

/// What the first byte of a stream tells: a map's is 0x80 or more, and a length's would be one of 2 GiB.
[[nodiscard]] constexpr Framing framing_of(unsigned char first_byte) noexcept {
  return first_byte >= 0x80 ? Framing::bare : Framing::with_length;
}

}  // namespace rest_fcgi::salt
