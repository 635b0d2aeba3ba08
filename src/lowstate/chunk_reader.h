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
  ChunkReader(std::size_t index, JsonValue chunk, bool has_expr_form)
      : index_(index), chunk_(chunk), has_expr_form_(has_expr_form) {}

  /// Returns whether `tgt_type` may come by its older name. See `Reading`.
  [[nodiscard]] bool has_expr_form() const noexcept { return has_expr_form_; }

  [[nodiscard]] JsonValue chunk() const noexcept { return chunk_; }

  /// Returns a key's value as `find_set` does.
  [[nodiscard]] std::optional<JsonValue> find(std::string_view key) const noexcept;

  /// Returns a key's value as `find` does. A text of blanks alone counts as absent, too: for keys whose
  /// values are numbers, names or maps.
  [[nodiscard]] std::optional<JsonValue> find_not_blank(std::string_view key) const noexcept;

  /// Returns a key's value, which may be empty. It is absent where it is null.
  [[nodiscard]] std::optional<JsonValue> find_not_null(std::string_view key) const noexcept;

  /// A text; empty where it is absent.
  std::string_view text(std::string_view key);

  /// Returns a yes or no, and no where it is absent. It comes as a boolean, as 1 or 0, or as a text with one
  /// of these.
  bool flag(std::string_view key);

  /// A number of seconds, or a text with one.
  std::optional<std::chrono::milliseconds> duration(std::string_view key);

  /// Returns an object. The texts `{}` and `[]`, which forms may have, count as absent.
  std::optional<JsonValue> object(std::string_view key);

  /// Keeps `sentence`, behind words that say which chunk it is about, unless there was a complaint already.
  [[gnu::cold]] void complain(std::string_view sentence);

  /// `'key' must be <accepted>; found <type of value>.`
  [[gnu::cold]] void refuse(std::string_view key, std::string_view accepted, JsonValue found);

  [[nodiscard]] const std::optional<Error>& error() const noexcept { return error_; }

 private:
  std::size_t index_;
  JsonValue chunk_;
  bool has_expr_form_;
  std::optional<Error> error_;
};

/// A value for a message: a number or string as it is, of all else the type.
[[nodiscard]] std::string shown(JsonValue value);

/// The number that all of `text` is: digits, with a minus sign, a point and an exponent if need be; no plus
/// sign before them, no `inf` or `nan`.
[[nodiscard]] std::optional<double> finite_number_in(std::string_view text) noexcept;

/// Returns a number that came as one, or in a text with blanks around it at most.
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
