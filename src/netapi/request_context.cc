// SPDX-License-Identifier: MIT
#include "netapi/request_context.h"

#include <algorithm>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/yaml/yaml.h"

namespace rest_fcgi::netapi {
namespace {

using http::Response;
using http::Status;

Response in(Media media, Status status, std::string json) {
  if (media == Media::yaml) {
    JsonDocument document;
    // Parsing fails only if the reply has too many levels for YAML. The reply is then sent as JSON.
    if (document.parse(json, JsonLimits::none())) {
      return {status, {{"Content-Type", std::string(content_type_of(media))}}, yaml::write(document.root())};
    }
  }
  return json_reply(status, std::move(json));
}

Response error_in_form(const RequestContext& context, Status status, std::string_view sentence,
                       const Error* error, const std::vector<Completed>& completed) {
  if (context.error_media == Media::html) {
    const std::string title = format("{} {}", static_cast<int>(status), http::reason(status));
    return page_reply(status,
                      format("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                             "<title>{0}</title></head>\n<body><h2>{0}</h2><p>{1}</p></body></html>\n",
                             title, escaped(sentence)),
                      {});
  }
  std::string json;
  JsonWriter writer(json);
  writer.begin_object().key("status").json(context.app.dialect.status_of(status));
  writer.key("return").string(sentence);
  if (error != nullptr) write_completed_work(writer, *error, completed);
  writer.end_object();
  return in(context.error_media, status, std::move(json));
}

}  // namespace

std::string path_text(const Route& route) {
  std::string path;
  for (const std::string& part : route.path) path.append("/").append(part);
  return path.empty() ? "/" : path;
}

Response reply(const RequestContext& context, Status status, std::string json) {
  return in(context.media.value_or(Media::json), status, std::move(json));
}

Response refuse(const RequestContext& context, Status status, std::string_view sentence) {
  return error_in_form(context, status, sentence, nullptr, {});
}

Response fail(const RequestContext& context, const Error& error, const std::vector<Completed>& completed) {
  const std::string sentence = report(error, context.remote());
  Response response = error_in_form(context, row_for(error.kind).status, sentence, &error, completed);
  add_retry_after(error, response);
  return response;
}

Response page_reply(Status status, std::string html, std::string_view nonce) {
  const std::string own = nonce.empty() ? "'none'" : format("'nonce-{}'", nonce);
  return {status,
          {{"Content-Type", "text/html;charset=utf-8"},
           {"Content-Security-Policy",
            format("default-src 'none'; script-src {0}; style-src {0}; img-src data:; connect-src 'self'; "
                   "base-uri 'none'; "
                   "form-action 'none'; frame-ancestors 'none'",
                   own)},
           {"X-Content-Type-Options", "nosniff"},
           {"Referrer-Policy", "no-referrer"}},
          std::move(html)};
}

std::string escaped(std::string_view text) {
  std::string html;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, length);
    if (length == 0) {
      html += "&#xFFFD;";
    } else if (character == "&") {
      html += "&amp;";
    } else if (character == "<") {
      html += "&lt;";
    } else if (character == ">") {
      html += "&gt;";
    } else if (character == "\"") {
      html += "&quot;";
    } else if (character == "'") {
      html += "&#39;";
    } else {
      html += character;
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return html;
}

}  // namespace rest_fcgi::netapi
