// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "netapi/media.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/http/application.h"

/// A request as the applications of Salt's REST interfaces look at it: what it asks for, and its body as one
/// JSON document, in whatever form it came.
namespace rest_fcgi::netapi {

/// Which method of which path. Borrows the Environ.
struct Target {
  std::string_view method;
  std::string above;               ///< SCRIPT_NAME: where the application is mounted, such as `/salt`
  std::string path;                ///< decoded, from its first slash on
  std::vector<std::string> parts;  ///< of the path, without empty ones
  std::vector<FormField> query;

  /// GET or HEAD.
  [[nodiscard]] bool reads() const noexcept { return method == "GET" || method == "HEAD"; }
};

/// Errors: malformed, for control characters in the path, and for a query of too many fields.
[[nodiscard]] Result<Target> read_target(const http::Environ& environ);

/// The parts of a path between slashes, without empty ones.
[[nodiscard]] std::vector<std::string> parts_of(std::string_view path);

/// The value of the query's last field of that name; empty where there is none.
[[nodiscard]] std::string_view in_query(const Target& target, std::string_view name);

/// Is a field of that name one that says who somebody is?
[[nodiscard]] bool is_credential_name(std::string_view name);

/// The query as an object: a name's value, or a list of several. Without credentials, which do not belong
/// into URLs.
[[nodiscard]] Json query_json(const Target& target);

/// How bodies are read.
struct BodyRules {
  JsonLimits json;
  std::size_t most;         ///< bytes
  bool typed_forms = true;  ///< values of `arg` and `kwarg` in a form are YAML; else all is text, and trimmed
  bool text_may_be_no_json = true;                ///< then `text/plain` is the text itself
  const std::vector<FormField>* query = nullptr;  ///< whose fields come before those of a form
  /// A form is lowstate: fields without a value count as not sent, and the maps `kwarg` and `metadata` are
  /// YAML.
  bool forms_are_lowstate = true;
};

/// What was read.
struct Body {
  std::optional<Media> media;  ///< absent: there is no body
  JsonValue value;             ///< looks into the document
};

/// Refuses a body with a Content-Encoding that changes the bytes, such as gzip. All other words there are
/// ignored, as salt-api does. Errors: unsupported.
[[nodiscard]] Result<void> check_encoding(const http::Environ& environ);

/// Reads the body into `document`, which holds nothing else afterwards. Errors: too_large; not_acceptable for
/// its type; unsupported for a Content-Encoding; malformed.
[[nodiscard]] Result<Body> read_body(const http::Environ& environ, const BodyRules& rules,
                                     JsonDocument& document);

}  // namespace rest_fcgi::netapi
