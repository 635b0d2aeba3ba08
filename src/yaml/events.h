// SPDX-License-Identifier: MIT
#pragma once

#include <yaml.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/yaml/yaml.h"

namespace rest_fcgi::yaml {

/// A mistake in a YAML text. Only this component throws and catches the exception.
struct Mistake {
  yaml_mark_t mark;  ///< The position of the mistake. Line and column count from 0.
  std::string text;
  ErrorKind kind = ErrorKind::malformed;
};

/// A reader for the events of a YAML text from the network. Uses libyaml, because yaml-cpp needs 680 bytes of
/// memory for each byte of a list in brackets. Borrows the text. The reader is not thread-safe.
class Events {
 public:
  explicit Events(std::string_view text);
  ~Events();
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  /// Returns the next event, which is valid until the next call. Throws Mistake and std::bad_alloc.
  const yaml_event_t& next();

 private:
  void forget_event();
  [[noreturn]] void fail() const;

  const std::string_view text_;
  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

/// Returns the part of a tag after `tag:yaml.org,2002:`, or any other tag unchanged.
[[nodiscard]] std::string short_tag(const yaml_char_t* tag);

/// A scalar as Salt's YAML loader reads the text.
struct Scalar {
  Kind kind = Kind::null;
  std::string text;   ///< The text without quotes and escapes. The text of `!!binary` is decoded.
  bool plain = true;  ///< Whether the scalar has no quotes and no tag.
};

/// Reads the scalar of an event. Throws Mistake for a tag that Salt's loader refuses, and for `!!binary`
/// bytes that are not text. REQUIRES: `event` is a scalar.
[[nodiscard]] Scalar scalar_of(const yaml_event_t& event);

/// Throws Mistake for a value `=` or `<<` without quotes, which YAML 1.1 allows only as a key.
void refuse_value_key(const yaml_mark_t& mark, const Scalar& scalar, bool is_key);

[[noreturn]] void refuse_tag(const yaml_mark_t& mark, const yaml_char_t* tag);

/// Returns the Error for a mistake in `text`, with a message in the form of `mistake_at`.
[[nodiscard]] Error error_of(const Mistake& mistake, std::string_view text);

/// Returns the text of a tag, anchor or alias, or an empty text for null.
[[nodiscard]] std::string text_of(const yaml_char_t* text);

[[nodiscard]] std::string too_deep(const Limits& limits);

/// Returns a scalar as JSON. Returns std::nullopt for text, and for a number that JSON cannot hold.
[[nodiscard]] std::optional<std::string> json_of(Kind kind, std::string_view text);

}  // namespace rest_fcgi::yaml
