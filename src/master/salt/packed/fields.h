// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "master/salt/packed/value.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::salt {

/// Chosen members of one msgpack map, found in one pass that writes nothing: a field is turned into JSON when
/// it is asked for it, and a map inside of the map is read with its own `Fields` from the field's `packed`.
/// Borrows the map's bytes. Immutable; thread-safe.
class Fields {
 public:
  using Field = PackedValue;

  /// Of members with the same name the last one counts, as in Python; a name is a `str`, not a `bin`. Errors:
  /// internal, for all that is not exactly one map.
  [[nodiscard]] static Result<Fields> read(std::string_view map_bytes,
                                           std::span<const std::string_view> wanted);
  [[nodiscard]] static Result<Fields> read(std::string_view map_bytes,
                                           std::initializer_list<std::string_view> wanted) {
    return read(map_bytes, std::span(wanted.begin(), wanted.size()));
  }

  /// Null where the map has none of that name. Valid as long as this object.
  [[nodiscard]] const Field* find(std::string_view name) const noexcept;

  /// Empty where there is none of that name, or where it is no text.
  [[nodiscard]] std::string_view text(std::string_view name) const noexcept;

 private:
  std::vector<std::pair<std::string_view, Field>> fields_;
};

}  // namespace rest_fcgi::salt
