// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::lowstate {

/// Reads the keys of one chunk. The first complaint is kept: whoever reads a whole chunk asks once, at the
/// end, whether it was fine; until then what the functions return for a bad key is a harmless default.
/// Borrows the document. Lives for the reading of one chunk; not synchronized.
class ChunkReader {
 public:
  /// REQUIRES: `chunk` is an object.
  ChunkReader(std::size_t index, JsonValue chunk, bool of_forms)
      : index_(index), chunk_(chunk), of_forms_(of_forms) {}

  /// Is what a form can send accepted as well? See `Reading`.
  [[nodiscard]] bool of_forms() const noexcept { return of_forms_; }

  [[nodiscard]] JsonValue chunk() const noexcept { return chunk_; }

  /// A key's value. Absent also where it is null, which callers send for "not set".
  [[nodiscard]] std::optional<JsonValue> find(std::string_view key) const noexcept;

  /// A text; empty where it is absent.
  std::string_view text(std::string_view key);

  /// A yes or no; no where it is absent.
  bool flag(std::string_view key);

  /// A number of seconds, or a text with one.
  std::optional<std::chrono::milliseconds> duration(std::string_view key);

  /// An object, or nothing.
  std::optional<JsonValue> object(std::string_view key);

  /// Keeps `sentence`, behind words that say which chunk it is about, unless there was a complaint already.
  [[gnu::cold]] void complain(std::string_view sentence);

  /// `'key' must be <accepted>; found <type of value>.`
  [[gnu::cold]] void refuse(std::string_view key, std::string_view accepted, JsonValue found);

  [[nodiscard]] const std::optional<Error>& error() const noexcept { return error_; }

 private:
  std::size_t index_;
  JsonValue chunk_;
  bool of_forms_;
  std::optional<Error> error_;
};

/// A value for a message: a number or string as it is, of all else the type.
[[nodiscard]] std::string shown(JsonValue value);

/// The number that all of `text` is: digits, with a minus sign, a point and an exponent if need be; no plus
/// sign before them, no `inf` or `nan`.
[[nodiscard]] std::optional<double> finite_number_in(std::string_view text) noexcept;

/// A number, whether it came as one or in a string.
[[nodiscard]] std::optional<double> number_of(JsonValue value) noexcept;

/// Reads `fun`, `arg` and `kwarg` of a local chunk.
void read_functions(ChunkReader& reader, Client client, LocalCall& call);

/// Reads `tgt`, `tgt_type` and `delimiter` of a chunk about minions.
void read_target(ChunkReader& reader, Client client, Target& target);

/// Reads a chunk for the client `ssh`. A key that is not on the short list of what it may have is a
/// complaint.
void read_ssh_call(ChunkReader& reader, LocalCall& call);

/// Reads a runner's or wheel's `fun` and arguments: `arg`, `kwarg`, and the keys that mean nothing to the
/// client.
void read_master_function(ChunkReader& reader, Client client, Function& function);

/// The names of all target types, for a message.
[[nodiscard]] std::string all_target_types();

}  // namespace rest_fcgi::lowstate
