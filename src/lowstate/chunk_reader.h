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

/// Reads the keys of a chunk and keeps the first error. After a malformed value, functions return a default,
/// and the caller checks `error` once at the end. Borrows the document. A ChunkReader is not thread-safe.
class ChunkReader {
 public:
  /// REQUIRES: `chunk` is an object.
  ChunkReader(std::size_t index, JsonValue chunk, bool has_expr_form)
      : index_(index), chunk_(chunk), has_expr_form_(has_expr_form) {}

  [[nodiscard]] bool has_expr_form() const noexcept { return has_expr_form_; }

  [[nodiscard]] JsonValue chunk() const noexcept { return chunk_; }

  /// A null or empty value counts as absent.
  [[nodiscard]] std::optional<JsonValue> find(std::string_view key) const noexcept;

  /// Null, empty values and strings of blanks count as absent.
  [[nodiscard]] std::optional<JsonValue> find_nonblank(std::string_view key) const noexcept;

  /// A null value counts as absent.
  [[nodiscard]] std::optional<JsonValue> find_nonnull(std::string_view key) const noexcept;

  /// Returns the value of a key that must be a string. An absent key gives an empty text.
  std::string_view text(std::string_view key);

  /// Returns the boolean value of a key. The value must be a boolean, a string such as `true`, 1, or 0. An
  /// absent key gives false.
  bool flag(std::string_view key);

  /// Returns the duration that a key gives in seconds. The value is a number or a string with a number.
  std::optional<std::chrono::milliseconds> duration(std::string_view key);

  /// Returns the value of a key that must be an object. Forms may send the texts `{}` and `[]`, which count
  /// as absent.
  std::optional<JsonValue> object(std::string_view key);

  /// If an earlier error of this chunk is recorded, keeps the earlier error.
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

/// Describes a value for a message: a number or string by its text, other values by their type.
[[nodiscard]] std::string shown(JsonValue value);

/// Parses the whole text as a finite decimal number. Returns std::nullopt for other texts.
[[nodiscard]] std::optional<double> parse_finite_number(std::string_view text) noexcept;

/// Returns the number in a JSON number or JSON string. A string may have blanks around the number.
[[nodiscard]] std::optional<double> number_of(JsonValue value) noexcept;

void read_functions(ChunkReader& reader, Client client, LocalCall& call);

void read_target(ChunkReader& reader, Client client, Target& target);

/// Reads a chunk of the client `ssh`, which accepts only a few keys.
void read_ssh_call(ChunkReader& reader, LocalCall& call);

/// Reads a chunk of a runner or wheel. Unknown keys become keyword arguments.
void read_master_function(ChunkReader& reader, Client client, Function& function);

[[nodiscard]] std::string all_target_types();

}  // namespace rest_fcgi::lowstate
