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

  /// Returns whether `expr_form` is accepted for `tgt_type`. See `ReadOptions`.
  [[nodiscard]] bool has_expr_form() const noexcept { return has_expr_form_; }

  [[nodiscard]] JsonValue chunk() const noexcept { return chunk_; }

  /// Returns a key's value as `find_nonempty` does.
  [[nodiscard]] std::optional<JsonValue> find(std::string_view key) const noexcept;

  /// Returns a key's value as `find` does, but blank text counts as absent. For numbers, names and maps.
  [[nodiscard]] std::optional<JsonValue> find_nonblank(std::string_view key) const noexcept;

  /// Returns a key's value, which may be empty; absent if it is null.
  [[nodiscard]] std::optional<JsonValue> find_nonnull(std::string_view key) const noexcept;

  /// Returns a text; empty if it is absent.
  std::string_view text(std::string_view key);

  /// Returns a boolean; false if it is absent. Accepts a boolean, 1 or 0, and a text with one of these.
  bool flag(std::string_view key);

  /// Returns a duration in seconds. Accepts a number, and a text with one.
  std::optional<std::chrono::milliseconds> duration(std::string_view key);

  /// Returns an object. The texts `{}` and `[]`, which forms may have, count as absent.
  std::optional<JsonValue> object(std::string_view key);

  /// Sets the error, with the chunk's index in front, if there is none yet.
  [[gnu::cold]] void report(std::string_view sentence);

  /// Sets the error `'KEY' must be ACCEPTED; found TYPE.`
  [[gnu::cold]] void refuse(std::string_view key, std::string_view accepted, JsonValue found);

  [[nodiscard]] const std::optional<Error>& error() const noexcept { return error_; }

 private:
  std::size_t index_;
  JsonValue chunk_;
  bool has_expr_form_;
  std::optional<Error> error_;
};

/// Returns a value for a message: a number or string itself, otherwise its type.
[[nodiscard]] std::string shown(JsonValue value);

/// Returns the finite number that the whole text is, with an optional minus sign, point and exponent.
[[nodiscard]] std::optional<double> parse_finite_number(std::string_view text) noexcept;

/// Returns a number, which may be a text with blanks around it.
[[nodiscard]] std::optional<double> number_of(JsonValue value) noexcept;

/// Reads `fun`, `arg` and `kwarg` of a local chunk.
void read_functions(ChunkReader& reader, Client client, LocalCall& call);

/// Reads `tgt`, `tgt_type` and `delimiter`.
void read_target(ChunkReader& reader, Client client, Target& target);

/// Reads a chunk for the client `ssh`. Keys that are not on its list are errors.
void read_ssh_call(ChunkReader& reader, LocalCall& call);

/// Reads `fun`, `arg`, `kwarg` and other keys of a runner or wheel chunk.
void read_master_function(ChunkReader& reader, Client client, Function& function);

/// Returns the names of all target types, for a message.
[[nodiscard]] std::string all_target_types();

}  // namespace rest_fcgi::lowstate
