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

/// Functions that parse a request for rest_cherrypy and rest_tornado. A body of any media type becomes JSON.
namespace rest_fcgi::netapi {

/// Media types of request bodies and replies (RFC 9110, sections 8.3 and 12.5).
enum class Media { json, yaml, form, text, html, event_stream };

/// Returns the Content-Type of a media type. REQUIRES: `media` is not `form`.
[[nodiscard]] std::string_view content_type_of(Media media) noexcept;

/// Returns the media type of a Content-Type. Errors: not_acceptable, for unknown types and charsets.
Result<Media> media_in(std::string_view content_type);

/// Returns the media type in `offered` that an Accept header prefers, or the first of several preferred
/// types. Returns std::nullopt if no type is acceptable. Errors: malformed, for a `q` that is not a number.
Result<std::optional<Media>> media_out(std::string_view accept, std::span<const Media> offered);

struct FormField {
  std::string name;
  std::string value;
};

/// Reads the fields of an `application/x-www-form-urlencoded` text in order. Keeps malformed `%` signs and
/// bytes that are not UTF-8. Errors: malformed, if the text has more fields than `most`.
Result<std::vector<FormField>> fields_in(std::string_view text, std::size_t most = 1000);

/// The method, path and query of a request. Borrows from the Environ.
struct Target {
  std::string_view method;
  std::string above;               ///< `above` is the value of SCRIPT_NAME, such as `/salt`.
  std::string path;                ///< `path` is the decoded path, including its leading slash.
  std::vector<std::string> parts;  ///< `parts` has the parts of `path` that are not empty.
  std::vector<FormField> query;

  [[nodiscard]] bool reads() const noexcept { return method == "GET" || method == "HEAD"; }
};

/// Returns the query of a request's URL, without the question mark.
[[nodiscard]] std::string_view query_of(const http::Environ& environ);

/// Reads the method, path and query of a request. Errors: malformed, for control characters in the path or
/// too many fields in the query.
Result<Target> read_target(const http::Environ& environ);

/// Returns the parts of a path between slashes, without empty parts.
[[nodiscard]] std::vector<std::string> parts_of(std::string_view path);

/// Returns the value of the last query field `name`. Returns an empty text if there is no such field.
[[nodiscard]] std::string_view in_query(const Target& target, std::string_view name);

/// Returns whether a field `name` holds a user name, a back end, a password or a token.
[[nodiscard]] bool is_credential_name(std::string_view name);

/// Returns the query as an object without credentials. If a name is repeated, its member is a list.
[[nodiscard]] Json query_json(const Target& target);

struct BodyRules {
  JsonLimits json;
  std::size_t most;
  bool typed_forms = true;  ///< With `typed_forms`, `arg` and `kwarg` of a form are YAML and not text.
  bool text_may_be_no_json = true;  ///< With `text_may_be_no_json`, `text/plain` without JSON is a string.
  const std::vector<FormField>* query = nullptr;  ///< `query` has fields that are put before a form's fields.
  /// With `forms_are_lowstate`, a form is lowstate: its empty fields are ignored, and its `metadata` is YAML.
  bool forms_are_lowstate = true;
  std::string_view key = "max_request_body_size";  ///< The configuration key of `most`.
};

struct Body {
  std::optional<Media> media;  ///< `media` is the media type of the body. std::nullopt without a body.
  JsonValue value;             ///< `value` is the parsed body, which borrows from `document`.
};

/// Refuses a Content-Encoding that compresses, such as gzip. Ignores other values as salt-api does. Errors:
/// unsupported.
Result<void> check_encoding(const http::Environ& environ);

/// Reads the body into `document`. Errors: too_large; not_acceptable, for an unknown type; unsupported, for a
/// wrong encoding; malformed.
Result<Body> read_body(const http::Environ& environ, const BodyRules& rules, JsonDocument& document);

/// Returns a sentence for the error of a body that looks like JSON but was read as a form, because its
/// Content-Type says so (`curl -d` sends this header). Begins with a semicolon. Empty for other bodies.
[[nodiscard]] std::string_view hint_of_json_in_form(const http::Environ& environ, const Body& body);

}  // namespace rest_fcgi::netapi
