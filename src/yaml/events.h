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

/// A mistake in a text. Thrown and caught within this component alone.
struct Mistake {
  yaml_mark_t mark;  ///< line and column count from 0
  std::string text;
  ErrorKind kind = ErrorKind::malformed;
};

/// The events of one text from the network, read by libyaml, which keeps at most 1,024 characters until it
/// reports an event. yaml-cpp keeps a whole list in brackets, in 680 times its size. Borrows the text. Not
/// synchronized.
class Events {
 public:
  explicit Events(std::string_view text);
  ~Events();
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  /// Returns the next event, which is valid until the next call. Throws Mistake, and std::bad_alloc.
  const yaml_event_t& next();

 private:
  void forget_event();
  [[noreturn]] void fail() const;

  const std::string_view text_;
  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

/// The part of a tag after `tag:yaml.org,2002:`; all of another tag. Empty where there is none.
[[nodiscard]] std::string short_tag(const yaml_char_t* tag);

/// A scalar as the constructors of Salt's loader see it.
struct Scalar {
  Kind kind = Kind::null;
  std::string text;   ///< without quotes and escapes; decoded for `!!binary`
  bool plain = true;  ///< the kind follows from the text
};

/// Reads a scalar event. Throws Mistake for a tag that Salt's loader refuses, and for bytes that are no text.
/// REQUIRES: `event` is a scalar.
[[nodiscard]] Scalar scalar_of(const yaml_event_t& event);

/// Throws Mistake for YAML 1.1's own keys `=` and `<<` in the place of a value, where Python has no value for
/// them.
void refuse_value_key(const yaml_mark_t& mark, const Scalar& scalar, bool is_key);

/// Throws Mistake for a tag that Salt's loader refuses.
[[noreturn]] void refuse_tag(const yaml_mark_t& mark, const yaml_char_t* tag);

/// What is wrong, and where, as `mistake_at` has it: at the latest in the last line of `text`.
[[nodiscard]] Error error_of(const Mistake& mistake, std::string_view text);

/// A tag, an anchor or the name in an alias; empty where there is none.
[[nodiscard]] std::string text_of(const yaml_char_t* text);

[[nodiscard]] std::string too_deep(const Limits& limits);

/// A scalar as JSON has it; absent for text, and for a number that JSON cannot hold.
[[nodiscard]] std::optional<std::string> json_of(Kind kind, std::string_view text);

}  // namespace rest_fcgi::yaml
