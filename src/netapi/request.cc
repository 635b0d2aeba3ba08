// SPDX-License-Identifier: MIT
#include "netapi/request.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/http/url.h"
#include "rest_fcgi/lowstate/master_arguments.h"
#include "rest_fcgi/yaml/yaml.h"

namespace rest_fcgi::netapi {
namespace {

using http::Environ;

Result<void> read_json(std::string_view text, const JsonLimits& limits, JsonDocument& document) {
  Result<void> parsed = document.parse(text, limits);
  if (parsed) return parsed;
  return Error{parsed.error().kind, format("Invalid JSON document: {}", parsed.error().message)};
}

class Form {
 public:
  explicit Form(std::vector<FormField> fields) : fields_(std::move(fields)) {}

  /// Removes blanks and control characters at the start and end of each value, as Salt's servers do.
  void trim() {
    for (FormField& field : fields_) {
      std::string& value = field.value;
      const auto is_ink = [](char c) { return static_cast<unsigned char>(c) > ' '; };
      value.erase(std::find_if(value.rbegin(), value.rend(), is_ink).base(), value.end());
      value.erase(value.begin(), std::find_if(value.begin(), value.end(), is_ink));
    }
  }

  void put_before(std::vector<FormField> others) { before_ = std::move(others); }

  void drop_empty() {
    for (std::vector<FormField>* const fields : {&before_, &fields_}) {
      std::erase_if(*fields, [](const FormField& field) { return field.value.empty(); });
    }
  }

  /// If a field name is repeated, its member is a list.
  void write(JsonWriter& writer) const {
    writer.begin_object();
    for (const auto& [name, values] : by_name()) {
      if (name == "arg" && values.size() == 1 && values.front().empty())
        continue;  // Ignores an empty `arg`, which clients send for "no arguments".
      writer.key(name);
      write_values(writer, values);
    }
    writer.end_object();
  }

  /// Reads as YAML the field `arg`, and each field in `maps` that has a single value. Errors: malformed, with
  /// the name of the field.
  Result<void> write_typed(JsonWriter& writer, std::span<const std::string_view> maps) const {
    writer.begin_object();
    for (const auto& [name, values] : by_name()) {
      writer.key(name);
      if (name == "arg") {
        if (Result<void> written = write_arguments(writer, values); !written) return written;
      } else if (values.size() == 1 && std::find(maps.begin(), maps.end(), name) != maps.end()) {
        if (Result<void> written = write_yaml(writer, name, values.front()); !written) return written;
      } else {
        write_values(writer, values);
      }
    }
    writer.end_object();
    return {};
  }

 private:
  using Values = std::vector<std::string_view>;

  [[nodiscard]] std::map<std::string_view, Values> by_name() const {
    std::map<std::string_view, Values> named;
    for (const std::vector<FormField>* const fields : {&before_, &fields_}) {
      for (const FormField& field : *fields) {
        const std::string_view name = field.name;
        named[name == "arg[]" ? "arg" : name].push_back(field.value);
      }
    }
    return named;
  }

  static void write_values(JsonWriter& writer, const Values& values) {
    if (values.size() == 1) {
      writer.string(values.front());
    } else {
      write_strings(writer, values);
    }
  }

  static Result<void> write_yaml(JsonWriter& writer, std::string_view name, std::string_view value) {
    const Result<Json> read = lowstate::yamlify_scalar(value);
    if (!read) {
      return Error{ErrorKind::malformed, format("The form field '{}': {}", name, read.error().message)};
    }
    writer.json(*read);
    return {};
  }

  /// Ignores an empty `arg`, which clients send for "no arguments".
  static Result<void> write_arguments(JsonWriter& writer, const Values& values) {
    writer.begin_array();
    for (const std::string_view value : values) {
      if (value.empty()) continue;
      if (Result<void> written = write_yaml(writer, "arg", value); !written) return written;
    }
    writer.end_array();
    return {};
  }

  std::vector<FormField> before_;
  std::vector<FormField> fields_;
};

bool is_credential(const FormField& field) {
  return is_credential_name(field.name);
}

Result<void> read_form(std::string_view text, const BodyRules& rules, JsonDocument& document) {
  auto fields = fields_in(text);
  if (!fields) return std::move(fields).error();
  Form form(*std::move(fields));
  if (!rules.typed_forms) form.trim();
  if (rules.query != nullptr) {
    std::vector<FormField> query = *rules.query;
    std::erase_if(query, is_credential);
    form.put_before(std::move(query));
  }
  if (rules.forms_are_lowstate) form.drop_empty();
  static constexpr std::string_view kMaps[] = {"kwarg", "metadata"};
  const auto maps =
      // In a form that is sent to a hook, `metadata` is plain text and not YAML.
      std::span(kMaps).first(rules.forms_are_lowstate ? 2 : 1);
  std::string json;
  JsonWriter writer(json);
  if (!rules.typed_forms) {
    form.write(writer);
  } else if (Result<void> written = form.write_typed(writer, maps); !written) {
    return written;
  }
  return document.parse(json, rules.json);
}

Result<void> read_as(Media media, std::string_view text, const BodyRules& rules, JsonDocument& document) {
  if (media == Media::json) return read_json(text, rules.json, document);
  if (const std::size_t bad = first_bad_byte(text); bad != text.size()) {
    return Error{ErrorKind::malformed, format("Not UTF-8: byte {}", bad)};
  }
  if (media == Media::yaml) {
    auto read =
        yaml::transcribe(text, {.max_depth = rules.json.max_depth, .max_values = rules.json.max_values});
    if (!read) return Error{ErrorKind::malformed, read.error().message};
    return document.parse(std::move(read->json), rules.json);
  }
  if (media == Media::form) return read_form(text, rules, document);
  Result<void> parsed = read_json(text, rules.json, document);
  if (parsed || !rules.text_may_be_no_json) return parsed;
  return document.parse(Json::string(text).text(), rules.json);
}

}  // namespace

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    if (const std::string_view part = next_token(path, '/'); !part.empty()) parts.emplace_back(part);
  }
  return parts;
}

std::string_view query_of(const Environ& environ) {
  if (const std::string_view query = environ.get("QUERY_STRING"); !query.empty()) return query;
  const std::string_view uri = environ.get("REQUEST_URI");
  const std::size_t mark = uri.find('?');
  return mark == std::string_view::npos ? std::string_view() : uri.substr(mark + 1);
}

Result<Target> read_target(const Environ& environ) {
  Target target;
  target.method = environ.get("REQUEST_METHOD");
  http::Path path = http::path_of(environ);
  target.above = std::move(path.above);
  target.path = std::move(path.below);
  while (!target.above.empty() && target.above.back() == '/') target.above.pop_back();
  const auto has_control = [](std::string_view text) {
    return std::any_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  };
  if (has_control(target.above) || has_control(target.path)) {
    return Error{ErrorKind::malformed, "The path has control characters."};
  }
  target.parts = parts_of(target.path);
  auto query = fields_in(query_of(environ));
  if (!query) return std::move(query).error();
  target.query = *std::move(query);
  return target;
}

std::string_view in_query(const Target& target, std::string_view name) {
  const auto is_it = [name](const FormField& field) { return field.name == name; };
  const auto field = std::find_if(target.query.rbegin(), target.query.rend(), is_it);
  return field == target.query.rend() ? std::string_view() : std::string_view(field->value);
}

bool is_credential_name(std::string_view name) {
  static constexpr std::string_view kNames[] = {"username", "password",     "eauth",
                                                "token",    "sharedsecret", "salt_token"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

Json query_json(const Target& target) {
  std::vector<FormField> fields = target.query;
  std::erase_if(fields, is_credential);
  const Form form(std::move(fields));
  return written_json([&form](JsonWriter& writer) { form.write(writer); });
}

Result<void> check_encoding(const Environ& environ) {
  static constexpr std::string_view kPackings[] = {"gzip",     "x-gzip",     "deflate", "br",
                                                   "compress", "x-compress", "zstd"};
  std::string_view codings = environ.get("HTTP_CONTENT_ENCODING");
  while (!codings.empty()) {
    const std::string_view coding = trimmed(next_token(codings, ','));
    if (std::find(std::begin(kPackings), std::end(kPackings), lower(coding)) == std::end(kPackings)) continue;
    return Error{ErrorKind::unsupported,
                 format("Content-Encoding: found {}, expected none; send the body uncompressed.",
                        quoted_excerpt(coding))};
  }
  return {};
}

Result<Body> read_body(const Environ& environ, const BodyRules& rules, JsonDocument& document) {
  document.clear();
  if (!environ.body) return environ.body.error();
  const std::string_view text = *environ.body;
  if (text.empty()) return Body{};
  if (text.size() > rules.most) {
    return Error{ErrorKind::too_large,
                 format("Request body is larger than {} ({} bytes)", rules.key, rules.most)};
  }
  const auto media = media_in(environ.get("CONTENT_TYPE"));
  if (!media) return media.error();
  if (Result<void> plain = check_encoding(environ); !plain) return std::move(plain).error();
  if (Result<void> read = read_as(*media, text, rules, document); !read) return std::move(read).error();
  return Body{*media, document.root()};
}

std::string_view hint_of_json_in_form(const Environ& environ, const Body& body) {
  if (body.media != Media::form || !environ.body) return {};
  const std::string_view text = *environ.body;
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string_view::npos || (text[first] != '{' && text[first] != '[')) return {};
  return "; the body looks like JSON, but its Content-Type says that it is a form: send the header "
         "Content-Type: application/json";
}

}  // namespace rest_fcgi::netapi
