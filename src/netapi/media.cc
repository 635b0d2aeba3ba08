// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "netapi/request.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::netapi {
namespace {

struct Name {
  std::string_view type;
  Media media;
};

/// The names of each media type. Replies use the first name of a type.
constexpr std::array kNames{Name{"application/json", Media::json},
                            Name{"application/x-yaml", Media::yaml},
                            Name{"application/yaml", Media::yaml},
                            Name{"text/yaml", Media::yaml},
                            Name{"application/x-www-form-urlencoded", Media::form},
                            Name{"text/plain", Media::text},
                            Name{"text/html", Media::html},
                            Name{"text/event-stream", Media::event_stream}};
constexpr std::string_view kRead =
    "application/json, application/x-yaml, application/x-www-form-urlencoded and text/plain, in UTF-8";

std::string_view take_unquoted(std::string_view& rest, char separator) {
  bool quoted = false;
  std::size_t end = 0;
  while (end < rest.size() && (quoted || rest[end] != separator)) {
    if (rest[end] == '"') quoted = !quoted;
    if (quoted && rest[end] == '\\') ++end;
    ++end;
  }
  end = std::min(end, rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return trimmed(part);
}

std::optional<std::string> parameter(std::string_view parameters, std::string_view name) {
  while (!parameters.empty()) {
    const std::string_view part = take_unquoted(parameters, ';');
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || lower(part.substr(0, equals)) != name) continue;
    std::string value = lower(part.substr(equals + 1));
    const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
    return quoted ? value.substr(1, value.size() - 2) : value;
  }
  return std::nullopt;
}

/// Returns how exactly a range of an Accept header matches the media type: 3 for the type itself, 2 for a
/// range such as `text/*`, 1 for `*/*`, and 0 without a match.
int fit(std::string_view range, Media media) {
  const auto is_name = [&](const Name& name) { return name.media == media && name.type == range; };
  if (std::any_of(kNames.begin(), kNames.end(), is_name)) return 3;
  const std::string_view own = content_type_of(media);
  const std::string_view main = own.substr(0, own.find('/') + 1);
  if (range.size() == main.size() + 1 && range.starts_with(main) && range.ends_with('*')) return 2;
  return range == "*/*" ? 1 : 0;
}

struct Range {
  std::string type;
  double quality = 1;
};

Result<std::vector<Range>> ranges_in(std::string_view accept) {
  std::vector<Range> ranges;
  while (!accept.empty()) {
    const std::string_view part = take_unquoted(accept, ',');
    if (part.empty()) continue;
    std::string_view rest = part;
    Range range{lower(take_unquoted(rest, ';'))};
    if (const auto quality = parameter(rest, "q")) {
      const auto number = parse_number<double>(*quality);
      if (!number || !(*number >= 0 && *number <= 1)) {
        return Error{ErrorKind::malformed, format("Malformed HTTP header: `{}`", excerpt(part, 100))};
      }
      range.quality = *number;
    }
    ranges.push_back(std::move(range));
  }
  return ranges;
}

double quality_of(Media media, const std::vector<Range>& ranges) {
  int best = 0;
  double quality = 0;
  for (const Range& range : ranges) {
    const int fits = fit(range.type, media);
    if (fits == 0 || fits < best) continue;
    quality = fits == best ? std::max(quality, range.quality) : range.quality;
    best = fits;
  }
  return quality;
}

}  // namespace

std::string_view content_type_of(Media media) noexcept {
  return std::find_if(kNames.begin(), kNames.end(), [media](const Name& name) { return name.media == media; })
      ->type;
}

Result<Media> media_in(std::string_view content_type) {
  if (content_type == kNames.front().type) return kNames.front().media;
  std::string_view rest = content_type;
  const std::string type = lower(take_unquoted(rest, ';'));
  const auto name =
      std::find_if(kNames.begin(), kNames.end(), [&type](const Name& one) { return one.type == type; });
  const bool known = name != kNames.end() && name->media != Media::html && name->media != Media::event_stream;
  const std::string charset = parameter(rest, "charset").value_or("utf-8");
  if (known && (charset == "utf-8" || charset == "utf8")) return name->media;
  return Error{
      ErrorKind::not_acceptable,
      format("Content type not supported: {}; accepted are {}",
             content_type.empty() ? "the request has no Content-Type" : excerpt(content_type, 100), kRead)};
}

Result<std::optional<Media>> media_out(std::string_view accept, std::span<const Media> offered) {
  const auto ranges = ranges_in(accept);
  if (!ranges) return ranges.error();
  if (ranges->empty()) return std::optional(offered.front());
  std::optional<Media> best;
  double most = 0;
  for (const Media media : offered) {
    const double quality = quality_of(media, *ranges);
    if (quality <= most) continue;
    most = quality;
    best = media;
  }
  return best;
}

Result<std::vector<FormField>> fields_in(std::string_view text, std::size_t most) {
  std::vector<FormField> fields;
  while (!text.empty()) {
    std::string_view value = next_token(text, '&');
    if (value.empty()) continue;
    if (fields.size() == most) {
      return Error{ErrorKind::malformed, format("found more than {} fields in one form", most)};
    }
    const std::string_view name = next_token(value, '=');
    fields.push_back({percent_decoded(name, Plus::blank), percent_decoded(value, Plus::blank)});
  }
  return fields;
}

}  // namespace rest_fcgi::netapi
