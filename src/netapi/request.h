// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/http/application.h"

/// A request as rest_cherrypy and rest_tornado read it: its path and query, and its body as a JSON document,
/// whatever form it came in.
namespace rest_fcgi::netapi {

/// Media types of request bodies and replies (RFC 9110, sections 8.3 and 12.5).
enum class Media { json, yaml, form, text, html, event_stream };

/// Returns the Content-Type of a form. REQUIRES: `media` is not `form`.
[[nodiscard]] std::string_view content_type_of(Media media) noexcept;

/// Returns what a Content-Type names. Errors: not_acceptable, for a type that is not read and for a charset
/// other than UTF-8.
[[nodiscard]] Result<Media> media_in(std::string_view content_type);

/// Returns the form in `offered` that an Accept header prefers; the first of several equal ones, and the
/// first if the header is empty. Absent: none is acceptable. Errors: malformed, for a `q` that is not a
/// number.
[[nodiscard]] Result<std::optional<Media>> media_out(std::string_view accept, std::span<const Media> offered);

/// One field of a form or query, decoded.
struct FormField {
  std::string name;
  std::string value;
};

/// Reads fields of `application/x-www-form-urlencoded` text in order. `+` is a space, `%XX` a byte; other
/// percent signs and bytes that are not UTF-8 are kept. Errors: malformed, for more than `most` fields.
[[nodiscard]] Result<std::vector<FormField>> fields_in(std::string_view text, std::size_t most = 1000);

/// Method, path and query. Borrows from the Environ.
struct Target {
  std::string_view method;
  std::string above;               ///< SCRIPT_NAME: path at which the application is mounted, such as `/salt`
  std::string path;                ///< decoded, with its first slash
  std::vector<std::string> parts;  ///< of the path, without empty ones
  std::vector<FormField> query;

  [[nodiscard]] bool reads() const noexcept { return method == "GET" || method == "HEAD"; }
};

/// Errors: malformed, for control characters in the path, and for a query with too many fields.
[[nodiscard]] Result<Target> read_target(const http::Environ& environ);

/// Returns the parts of a path between slashes, without empty ones.
[[nodiscard]] std::vector<std::string> parts_of(std::string_view path);

/// Returns the value of the last field with that name; empty if there is none.
[[nodiscard]] std::string_view in_query(const Target& target, std::string_view name);

/// Returns whether a field of that name holds a user name, password or token.
[[nodiscard]] bool is_credential_name(std::string_view name);

/// Returns the query as an object from names to values, or to lists of values. Credentials are left out.
[[nodiscard]] Json query_json(const Target& target);

/// How bodies are read.
struct BodyRules {
  JsonLimits json;
  std::size_t most;  ///< bytes
  bool typed_forms =
      true;  ///< in forms, `arg` and `kwarg` are read as YAML; if false, all values are trimmed text
  bool text_may_be_no_json = true;                ///< `text/plain` that is not JSON is read as a string
  const std::vector<FormField>* query = nullptr;  ///< fields that are added in front of those of a form
  /// Forms are lowstate: fields without a value are ignored, and `metadata` is read as YAML, as `kwarg` is.
  bool forms_are_lowstate = true;
};

struct Body {
  std::optional<Media> media;  ///< absent: there is no body
  JsonValue value;             ///< borrows from the document
};

/// Refuses a body with a Content-Encoding that changes the bytes, such as gzip. Other values are ignored, as
/// in salt-api. Errors: unsupported.
[[nodiscard]] Result<void> check_encoding(const http::Environ& environ);

/// Reads the body into `document`. Errors: too_large; not_acceptable, for its type; unsupported, for its
/// Content-Encoding; malformed.
[[nodiscard]] Result<Body> read_body(const http::Environ& environ, const BodyRules& rules,
                                     JsonDocument& document);

}  // namespace rest_fcgi::netapi
