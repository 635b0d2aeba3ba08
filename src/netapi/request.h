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

/// Reads a request for rest_cherrypy and rest_tornado. The body becomes a JSON document, whatever its media
/// type is.
namespace rest_fcgi::netapi {

/// Media types of request bodies and replies (RFC 9110, sections 8.3 and 12.5).
enum class Media { json, yaml, form, text, html, event_stream };

/// Returns the Content-Type for a media type. REQUIRES: `media` is not `form`.
[[nodiscard]] std::string_view content_type_of(Media media) noexcept;

/// Returns the media type that a Content-Type names. Errors: not_acceptable, for a type that a body cannot
/// have, and for a charset other than UTF-8.
[[nodiscard]] Result<Media> media_in(std::string_view content_type);

/// Returns the media type in `offered` that an Accept header prefers. Among equal types, and for an empty
/// header, the first type wins. Returns std::nullopt if the header accepts no offered type. Errors:
/// malformed, for a `q` that is not a number.
[[nodiscard]] Result<std::optional<Media>> media_out(std::string_view accept, std::span<const Media> offered);

/// One field of a form or query, decoded.
struct FormField {
  std::string name;
  std::string value;
};

/// Reads the fields of `application/x-www-form-urlencoded` text in order. Decodes `+` to a space and `%XX` to
/// a byte. Keeps other percent signs and bytes that are not UTF-8. Errors: malformed, for more than `most`
/// fields.
[[nodiscard]] Result<std::vector<FormField>> fields_in(std::string_view text, std::size_t most = 1000);

/// The method, path and query of a request. Borrows from the Environ.
struct Target {
  std::string_view method;
  std::string above;               ///< The path at which the application is mounted (SCRIPT_NAME), such as
                                   ///< `/salt`.
  std::string path;                ///< The decoded path, with its first slash.
  std::vector<std::string> parts;  ///< The parts of `path` that are not empty.
  std::vector<FormField> query;

  [[nodiscard]] bool reads() const noexcept { return method == "GET" || method == "HEAD"; }
};

/// Reads the method, path and query. Errors: malformed, for control characters in the path, and for a query
/// with too many fields.
[[nodiscard]] Result<Target> read_target(const http::Environ& environ);

/// Returns the parts of a path between slashes. Leaves out empty parts.
[[nodiscard]] std::vector<std::string> parts_of(std::string_view path);

/// Returns the value of the last query field with that name, or an empty text if the field is missing.
[[nodiscard]] std::string_view in_query(const Target& target, std::string_view name);

/// Returns whether a field with that name holds a user name, a back end, a password or a token.
[[nodiscard]] bool is_credential_name(std::string_view name);

/// Returns the query as an object from names to values. A name with several values has a list. Credentials
/// are left out.
[[nodiscard]] Json query_json(const Target& target);

/// The rules for reading request bodies.
struct BodyRules {
  JsonLimits json;
  std::size_t most;  ///< The largest body in bytes.
  bool typed_forms =
      true;  ///< In forms, `arg` and `kwarg` are read as YAML. If false, all values are trimmed text.
  bool text_may_be_no_json = true;                ///< A `text/plain` body that is not JSON is read as a
                                                  ///< string.
  const std::vector<FormField>* query = nullptr;  ///< Fields that are added before the fields of a form.
  /// Whether forms are lowstate. In lowstate, fields without a value are ignored, and `metadata` is read as
  /// YAML.
  bool forms_are_lowstate = true;
};

struct Body {
  std::optional<Media> media;  ///< The media type of the body; std::nullopt if the request has no body.
  JsonValue value;             ///< The parsed body. It borrows from the document.
};

/// Refuses a body with a compressing Content-Encoding, such as gzip. Ignores other values, as salt-api does.
/// Errors: unsupported.
[[nodiscard]] Result<void> check_encoding(const http::Environ& environ);

/// Reads the body into `document`. Errors: too_large; not_acceptable, for its Content-Type; unsupported, for
/// its Content-Encoding; malformed.
[[nodiscard]] Result<Body> read_body(const http::Environ& environ, const BodyRules& rules,
                                     JsonDocument& document);

}  // namespace rest_fcgi::netapi
