// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/result.h"

/// In which form a request's body comes, and in which its answer goes out (RFC 9110, sections 8.3 and 12.5).
namespace rest_fcgi::netapi {

/// Forms that we read or write.
enum class Media { json, yaml, form, text, html, event_stream };

/// The value of Content-Type where something of that form is sent. REQUIRES: not `form`.
[[nodiscard]] std::string_view content_type_of(Media media) noexcept;

/// What a Content-Type names. Errors: not_acceptable, where it names nothing that is read here, or another
/// charset than UTF-8, with what is accepted.
[[nodiscard]] Result<Media> media_in(std::string_view content_type);

/// Which of `offered` an Accept header wants most; of those it wants alike the one that is offered first, as
/// also where there is no header. Absent: none of them. Errors: malformed, for a `q` that is no number.
[[nodiscard]] Result<std::optional<Media>> media_out(std::string_view accept, std::span<const Media> offered);

/// One field of a form or a query string, decoded.
struct FormField {
  std::string name;
  std::string value;
};

/// The fields of `application/x-www-form-urlencoded` text, in its order: `+` is a blank, `%XX` a byte, a
/// percent sign with anything else behind it stays; so do bytes that are no UTF-8. Errors: malformed, where
/// there are more than `most`.
[[nodiscard]] Result<std::vector<FormField>> fields_in(std::string_view text, std::size_t most = 1000);

}  // namespace rest_fcgi::netapi
