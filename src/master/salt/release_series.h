// SPDX-License-Identifier: MIT
#pragma once

// clang-format off
/// Differences between the release series of Salt's master that concern this engine. A master does not tell its version,
/// so the engine recognizes each difference by the data that it receives. Source: running masters of all three series.
///
/// | what                             | 3006.28      | 3007.15   | 3008.3     | how the engine handles it                 |
/// | -------------------------------- | ------------ | --------- | ---------- | ----------------------------------------- |
/// | form of the event stream         | with lengths | bare      | bare       | `framing_of` reads the first byte         |
/// | event with the tag `<jid>`       | yes          | yes       | no         | the engine never waits for it             |
/// | `_stamp` of an event             | no zone      | no zone   | `+00:00`   | the engine passes it on unchanged         |
/// | `data._stamp` of a wheel         | yes          | yes       | on failure | the engine passes it on unchanged         |
/// | request after an envelope        | answered     | answered  | refused    | the engine sends no envelope              |
/// | call of an unknown runner        | a return     | a return  | no event   | `SaltMaster::wait_until_started`          |
/// | name of a token's file           | the token    | the token | with `.p`  | the engine removes the file that exists   |
///
/// An envelope is a list of frames in front of the empty frame of a request. The engine needs no envelope, because a
/// connection has one request at a time. Masters of older 3006 releases send bare events. The engine sends events with
/// lengths to masters of all three series. Masters of older 3006 and 3007 releases cannot read events with lengths.
// clang-format on
namespace rest_fcgi::salt {

/// The text of Salt's error for a master that does not run, and what happened to the request.
inline constexpr const char* kMasterNotAvailable = "Salt Master is not available. Nothing was sent.";

enum class Framing {
  bare,         ///< `bare` means that the stream is one msgpack map after the other.
  with_length,  ///< `with_length` means that 4 bytes before each map give its length, big-endian.
};

/// Returns how the master's event bus separates messages: each message is a bare msgpack map, or a length
/// comes before it. The first byte of the stream decides: at least 0x80 begins a map, and a smaller byte
/// begins a length.
[[nodiscard]] constexpr Framing framing_of(unsigned char first_byte) noexcept {
  return first_byte >= 0x80 ? Framing::bare : Framing::with_length;
}

}  // namespace rest_fcgi::salt
