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

/// Functions that read a request for rest_cherrypy and rest_tornado. A body of any media type becomes JSON.
namespace rest_fcgi::netapi {

/// Media types of request bodies and replies (RFC 9110, sections 8.3 and 12.5).
enum class Media { json, yaml, form, text, html, event_stream };

/// Returns the Content-Type of a media type. REQUIRES: `media` is not `form`.
[[nodiscard]] std::string_view content_type_of(Media media) noexcept;

/// Returns the media type of a Content-Type. Errors: not_acceptable, for other types and charsets.
[[nodiscard]] Result<Media> media_in(std::string_view content_type);

/// Returns the media type in `offered` that an Accept header prefers, and the first for a tie. Returns
/// std::nullopt if no type is acceptable. Errors: malformed, for a `q` that is not a number.
[[nodiscard]] Result<std::optional<Media>> media_out(std::string_view accept, std::span<const Media> offered);

struct FormField {
  std::string name;
  std::string value;
};

/// Reads the fields of an `application/x-www-form-urlencoded` text in order. Keeps malformed `%` signs and
/// bytes that are not UTF-8. Errors: malformed, for more than `most` fields.
[[nodiscard]] Result<std::vector<FormField>> fields_in(std::string_view text, std::size_t most = 1000);

/// The method, path and query of a request. Borrows from the Environ.
struct Target {
  std::string_view method;
  std::string above;               ///< SCRIPT_NAME, such as `/salt`
  std::string path;                ///< the decoded path, with its first slash
  std::vector<std::string> parts;  ///< the parts of `path` that are not empty
  std::vector<FormField> query;

  [[nodiscard]] bool reads() const noexcept { return method == "GET" || method == "HEAD"; }
};

/// Reads the target. Errors: malformed, for control characters in the path, or too many fields in the query.
[[nodiscard]] Result<Target> read_target(const http::Environ& environ);

/// Returns the parts of a path between slashes, without empty parts.
[[nodiscard]] std::vector<std::string> parts_of(std::string_view path);

/// Returns the last query field with this name, or an empty text.
[[nodiscard]] std::string_view in_query(const Target& target, std::string_view name);

/// Returns whether a field with this name holds a user name, a back end, a password or a token.
[[nodiscard]] bool is_credential_name(std::string_view name);

/// Returns the query as an object without credentials. A repeated name has a list of values.
[[nodiscard]] Json query_json(const Target& target);

struct BodyRules {
  JsonLimits json;
  std::size_t most;
  bool typed_forms = true;          ///< reads `arg` and `kwarg` of forms as YAML, and not as text
  bool text_may_be_no_json = true;  ///< reads a `text/plain` body that is not JSON as a string
  const std::vector<FormField>* query = nullptr;  ///< fields before the fields of a form
  /// In forms of lowstate, empty fields are ignored, and `metadata` is YAML.
  bool forms_are_lowstate = true;
};

struct Body {
  std::optional<Media> media;  ///< the media type of the body; std::nullopt without a body
  JsonValue value;             ///< the parsed body, which borrows from the document
};

/// Refuses a compressing Content-Encoding, such as gzip, and ignores other values as salt-api does. Errors:
/// unsupported.
[[nodiscard]] Result<void> check_encoding(const http::Environ& environ);

/// Reads the body into `document`. Errors: too_large; not_acceptable, for the type; unsupported, for the
/// encoding; malformed.
[[nodiscard]] Result<Body> read_body(const http::Environ& environ, const BodyRules& rules,
                                     JsonDocument& document);

}  // namespace rest_fcgi::netapi
