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

/// Reads the keys of one chunk and keeps the first error. Functions return a default for a malformed key, so
/// the caller checks `error` once at the end. Borrows the document. Not synchronized.
class ChunkReader {
 public:
  /// REQUIRES: `chunk` is an object.
  ChunkReader(std::size_t index, JsonValue chunk, bool has_expr_form)
      : index_(index), chunk_(chunk), has_expr_form_(has_expr_form) {}

  /// Returns whether a chunk may have `expr_form`, the older name of `tgt_type`. See `ReadOptions`.
  [[nodiscard]] bool has_expr_form() const noexcept { return has_expr_form_; }

  [[nodiscard]] JsonValue chunk() const noexcept { return chunk_; }

  /// Returns the value of a key. A null or empty value counts as absent, see `find_nonempty`.
  [[nodiscard]] std::optional<JsonValue> find(std::string_view key) const noexcept;

  /// Returns the value of a key as `find` does, but a text of blanks also counts as absent. Used for numbers,
  /// names and maps.
  [[nodiscard]] std::optional<JsonValue> find_nonblank(std::string_view key) const noexcept;

  /// Returns the value of a key, which may be empty. A null value counts as absent.
  [[nodiscard]] std::optional<JsonValue> find_nonnull(std::string_view key) const noexcept;

  /// Returns the value of a key that must be a text. An absent key gives an empty text.
  std::string_view text(std::string_view key);

  /// Returns the value of a key that must be a boolean. An absent key gives false. Booleans, 1, 0, and texts
  /// with one of these are accepted.
  bool flag(std::string_view key);

  /// Returns the value of a key that is a duration in seconds. A number and a text with a number are
  /// accepted.
  std::optional<std::chrono::milliseconds> duration(std::string_view key);

  /// Returns the value of a key that must be an object. Forms may send the texts `{}` and `[]`, which count
  /// as absent.
  std::optional<JsonValue> object(std::string_view key);

  /// Records an error of this chunk, unless an earlier error is recorded. The message begins with the chunk's
  /// index.
  [[gnu::cold]] void report(std::string_view sentence);

  /// Records the error `'KEY' must be ACCEPTED; found TYPE.`
  [[gnu::cold]] void refuse(std::string_view key, std::string_view accepted, JsonValue found);

  [[nodiscard]] const std::optional<Error>& error() const noexcept { return error_; }

 private:
  std::size_t index_;
  JsonValue chunk_;
  bool has_expr_form_;
  std::optional<Error> error_;
};

/// Returns the text of a value for a message. A number or string is shown itself; for other values the type
/// is shown.
[[nodiscard]] std::string shown(JsonValue value);

/// Parses the whole text as a finite number with an optional minus sign, point and exponent. Absent for any
/// other text.
[[nodiscard]] std::optional<double> parse_finite_number(std::string_view text) noexcept;

/// Returns the number in a JSON number, or in a JSON string, which may have blanks around the number.
[[nodiscard]] std::optional<double> number_of(JsonValue value) noexcept;

/// Reads the functions of a chunk for a local client from the keys `fun`, `arg` and `kwarg`.
void read_functions(ChunkReader& reader, Client client, LocalCall& call);

/// Reads the target of a chunk from the keys `tgt`, `tgt_type` and `delimiter`.
void read_target(ChunkReader& reader, Client client, Target& target);

/// Reads a chunk of the client `ssh`. A key that this client does not accept is an error.
void read_ssh_call(ChunkReader& reader, LocalCall& call);

/// Reads the function of a runner or wheel chunk from the keys `fun`, `arg` and `kwarg`. Other keys become
/// keyword arguments.
void read_master_function(ChunkReader& reader, Client client, Function& function);

/// Returns the names of all target types, for a message.
[[nodiscard]] std::string all_target_types();

}  // namespace rest_fcgi::lowstate
