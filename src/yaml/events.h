// SPDX-License-Identifier: MIT
#pragma once

#include <yaml.h>

#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/yaml/yaml.h"

namespace rest_fcgi::yaml {

/// An exception for a mistake in a YAML text. Only the component yaml throws and catches it.
struct Mistake {
  yaml_mark_t mark;  ///< The position of the mistake. Line and column count from 0.
  std::string text;
  ErrorKind kind = ErrorKind::malformed;
};

/// Reads a YAML text from the network as a sequence of parser events. Uses libyaml, because yaml-cpp needs
/// 680 bytes of memory for each byte of a list in brackets. Borrows the text. Not thread-safe.
class Events {
 public:
  explicit Events(std::string_view text);
  ~Events();
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  /// Returns the next event of the text. The event is valid until the next call. Throws Mistake and
  /// std::bad_alloc.
  const yaml_event_t& next();

 private:
  [[noreturn]] void fail() const;

  const std::string_view text_;
  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

/// Returns a tag without the prefix `tag:yaml.org,2002:`.
[[nodiscard]] std::string short_tag(const yaml_char_t* tag);

/// A scalar with the type and the text that Salt's YAML loader gives it.
struct Scalar {
  Kind kind = Kind::null;
  /// The text without quotes and with escapes resolved. For `!!binary`, the decoded bytes.
  std::string text;
  bool plain = true;  ///< Whether the scalar has no quotes and no tag.
};

/// Reads the scalar of a parser event. Throws Mistake if Salt's loader refuses the tag, or if the bytes of
/// `!!binary` are not text. REQUIRES: `event` is a scalar.
[[nodiscard]] Scalar scalar_of(const yaml_event_t& event);

/// Throws Mistake if a value is `=` or `<<` without quotes. YAML 1.1 allows these texts only as keys.
void refuse_value_key(const yaml_mark_t& mark, const Scalar& scalar, bool is_key);

[[noreturn]] void refuse_tag(const yaml_mark_t& mark, const yaml_char_t* tag);

/// The message has the form of `mistake_at`.
[[nodiscard]] Error error_of(const Mistake& mistake, std::string_view text);

[[nodiscard]] std::string text_of(const yaml_char_t* text);

[[nodiscard]] std::string too_deep(const Limits& limits);

/// Returns a scalar as JSON. Returns std::nullopt for a string, and for a number that JSON cannot express.
[[nodiscard]] std::optional<std::string> json_of(Kind kind, std::string_view text);

}  // namespace rest_fcgi::yaml
