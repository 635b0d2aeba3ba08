// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "netapi/handlers.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/lowstate/master_arguments.h"

// URLs that stand for one call each: what they are asked for is written down as a chunk, and run like any
// other.

namespace rest_fcgi::netapi {
namespace {

using http::Response;
using http::Status;

/// What stands behind the route in the path.
std::string below(const Exchange& exchange) {
  std::string text;
  for (const std::string& part : exchange.below) text.append(text.empty() ? "" : "/").append(part);
  return text;
}

Call own_call(const Exchange& exchange) {
  return {.token = exchange.session->token, .own = true};
}

/// `{"client": ..., "fun": ..., ...}` with more members.
std::string chunk_of(std::string_view client, std::string_view fun,
                     std::initializer_list<std::pair<std::string_view, std::string_view>> more) {
  std::string json;
  JsonWriter writer(json);
  writer.begin_object().key("client").string(client).key("fun").string(fun);
  for (const auto& [key, value] : more) writer.key(key).string(value);
  writer.end_object();
  return json;
}

/// The grains of the one minion that has this id; where there is none, of all that fit it as a glob.
std::variant<client::Reply, Response> grains_of(Exchange& exchange, const std::string& target) {
  if (target != "*" && target.find_first_of("*?[") != std::string::npos) {
    std::string exact;
    JsonWriter writer(exact);
    writer.begin_object().key("client").string("local").key("fun").string("grains.items");
    writer.key("tgt_type").string("list").key("tgt").begin_array().string(target).end_array().end_object();
    auto ran = run_own(exchange, exact, own_call(exchange));
    const auto* const one = std::get_if<client::Reply>(&ran);
    if (one != nullptr && !one->jid.empty()) return ran;
  }
  return run_own(exchange, chunk_of("local", "grains.items", {{"tgt", target}}), own_call(exchange));
}

std::string with_return(const Json& value) {
  return format(R"({{"return": {}}})", value.text());
}

Json list_of(const Json& item) {
  return written_array([&item](JsonWriter& writer) { writer.json(item); });
}

/// The same object, its last key first: job ids begin with their time.
Json newest_first(const Json& jobs) {
  const JsonDocument document = own_document(jobs);
  std::vector<JsonMember> members;
  for (const JsonMember member : document.root().members()) members.push_back(member);
  if (members.empty()) return jobs;
  std::sort(members.begin(), members.end(),
            [](const JsonMember& a, const JsonMember& b) { return a.key > b.key; });
  return written_object([&members](JsonWriter& writer) {
    for (const JsonMember& member : members) member.value.write(writer.key(member.key));
  });
}

/// What rest_cherrypy says of one job: all of it, and the minions' returns.
std::string with_info(const Json& job, JsonValue parsed) {
  std::string json;
  JsonWriter writer(json);
  writer.begin_object().key("info").begin_array().json(job).end_array().key("return").begin_array();
  writer.begin_object();
  const JsonValue result = parsed.find("Result").value_or(JsonValue());
  for (const JsonMember minion : result.members()) {
    writer.key(minion.key);
    minion.value.find("return").value_or(JsonValue()).write(writer);
  }
  writer.end_object().end_array().end_object();
  return json;
}

Response show_job(Exchange& exchange, const std::string& jid) {
  auto ran = run_own(exchange, chunk_of("runner", "jobs.list_job", {{"jid", jid}}), own_call(exchange));
  if (auto* answer = std::get_if<Response>(&ran)) return std::move(*answer);
  const Json& job = std::get<0>(ran).items.front();
  const JsonDocument document = own_document(job);
  const Dialect& dialect = exchange.app.dialect;
  if (dialect.jobs_have_info) return reply(exchange, Status::ok, with_info(job, document.root()));
  if (!document.root().find("Error")) return reply(exchange, Status::ok, with_return(list_of(job)));
  return reply(exchange, Status::not_found,
               format(R"({{"status": "404 Not Found", "return": {}}})", list_of(job).text()));
}

/// What a wheel function returned. Errors: invocation, where it failed; why, which may be a traceback of the
/// master's, is for the log.
Result<Json> returned_by_wheel(const Exchange& exchange, const client::Reply& reply) {
  JsonDocument document;
  if (auto parsed = document.parse(reply.items.front().text(), JsonLimits::none()); !parsed) {
    return std::move(parsed).error();
  }
  const JsonValue data = document.root().find("data").value_or(JsonValue());
  const JsonValue value = data.find("return").value_or(JsonValue());
  const auto success = data.find("success");
  if (success && success->is(JsonValue::Kind::boolean) && !success->boolean()) {
    return Error{ErrorKind::invocation,
                 format("The master could not do this; the log says why (reference {})",
                        reference_to(log::Level::warning, format("A wheel for {} failed", exchange.remote()),
                                     value.python_str()))};
  }
  return value.json();
}

/// Names that may stand in a file name of a header, and that a master takes for a minion.
bool is_minion_id(std::string_view text) {
  const auto is_good = [](char c) {
    return is_letter(c) || is_digit(c) || std::string_view("._-:@+").find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= 255 && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), is_good);
}

/// The chunk that makes a pair of keys: with the body's credentials, and what the wheel knows. A form's texts
/// are read as numbers and booleans.
Result<void> write_key_chunk(JsonWriter& writer, JsonValue asked, std::string_view minion) {
  writer.begin_object().key("client").string("wheel").key("fun").string("key.gen_accept");
  writer.key("id_").string(minion);
  for (const std::string_view key : {"keysize", "force"}) {
    const auto value = lowstate::find_nonempty(asked, key);
    if (!value) continue;
    writer.key(key);
    if (value->is(JsonValue::Kind::string)) {
      const Result<Json> read = lowstate::yamlify_scalar(value->text());
      if (!read) return Error{read.error().kind, format("'{}': {}", key, read.error().message)};
      writer.json(*read);
    } else {
      value->write(writer);
    }
  }
  for (const std::string_view key : {"username", "password", "eauth", "token"}) {
    if (const auto value = asked.find(key)) {
      writer.key(key);
      value->write(writer);
    }
  }
  writer.end_object();
  return {};
}

Response key_archive(const Exchange& exchange, const std::string& minion, const Json& keys) {
  const JsonDocument document = own_document(keys);
  const JsonValue open = document.root().find("pub").value_or(JsonValue());
  const JsonValue secret = document.root().find("priv").value_or(JsonValue());
  if (open.text().empty() || secret.text().empty()) {
    return fail(exchange, {ErrorKind::conflict, format("There is a key of {} already.", quoted(minion))});
  }
  return {Status::ok,
          {{"Content-Type", "application/x-tar"},
           {"Content-Disposition", format("attachment; filename=\"saltkeys-{}.tar\"", minion)}},
          tar_of({{"minion.pub", open.text(), 0644}, {"minion.pem", secret.text(), 0600}})};
}

}  // namespace

Response show_minions(Exchange& exchange) {
  std::string target = below(exchange);
  if (target.empty()) target = in_query(exchange.target, "mid");
  if (target.empty()) target = "*";
  auto ran = grains_of(exchange, target);
  if (auto* answer = std::get_if<Response>(&ran)) return std::move(*answer);
  client::Reply& minions = std::get<0>(ran);
  const bool is_nobody = minions.jid.empty();
  if (is_nobody && exchange.app.dialect.missing_is_404) {
    return refuse(exchange, Status::not_found, kNoMinions);
  }
  return reply(exchange, Status::ok, with_return(list_of(minions.items.front())));
}

Response start_job(Exchange& exchange) {
  if (!exchange.below.empty()) return refuse(exchange, Status::not_found, "Nothing matches the given URI");
  const bool may_name_others = exchange.app.dialect.overrides_client;
  const auto names_other = [](JsonValue chunk) {
    const auto client = lowstate::find_nonempty(chunk, "client");
    return client && client->text() != "local_async";
  };
  const JsonValue body = exchange.body.value;
  bool other = names_other(body);
  for (const JsonValue chunk : body.elements()) other = other || names_other(chunk);
  if (other && !may_name_others) {
    exchange.trail.write_unreadable("invalid");
    return fail(exchange, {ErrorKind::invocation, "Only the client 'local_async' is served here."});
  }
  auto ran =
      run_chunks(exchange, body,
                 {.token = exchange.session->token, .reading = {.client = lowstate::Client::local_async}});
  if (auto* answer = std::get_if<Response>(&ran)) return std::move(*answer);
  auto& completed = std::get<0>(ran);
  std::string links;
  JsonWriter writer(links);
  writer.begin_object().key("jobs").begin_array();
  for (const Completed& one : completed) {
    if (one.reply.jid.empty()) continue;
    writer.begin_object().key("href").string(format("{}/jobs/{}", exchange.base, one.reply.jid)).end_object();
  }
  writer.end_array().end_object();
  std::string json = items_text(std::move(completed));
  if (exchange.app.dialect.started_have_links) {
    json.pop_back();
    json.append(R"(, "_links": )").append(links).append("}");
  }
  return reply(exchange, Status::accepted, std::move(json));
}

Response show_jobs(Exchange& exchange) {
  if (const std::string jid = below(exchange); !jid.empty()) return show_job(exchange, jid);
  auto ran = run_own(exchange, chunk_of("runner", "jobs.list_jobs", {}), own_call(exchange));
  if (auto* answer = std::get_if<Response>(&ran)) return std::move(*answer);
  return reply(exchange, Status::ok, with_return(list_of(newest_first(std::get<0>(ran).items.front()))));
}

Response show_keys(Exchange& exchange) {
  const std::string minion = below(exchange);
  const std::string chunk = minion.empty() ? chunk_of("wheel", "key.list_all", {})
                                           : chunk_of("wheel", "key.finger", {{"match", minion}});
  auto ran = run_own(exchange, chunk, own_call(exchange));
  if (auto* answer = std::get_if<Response>(&ran)) return std::move(*answer);
  const auto keys = returned_by_wheel(exchange, std::get<0>(ran));
  return keys ? reply(exchange, Status::ok, with_return(*keys)) : fail(exchange, keys.error());
}

Response make_keys(Exchange& exchange) {
  JsonValue asked = exchange.body.value;
  if (asked.is(JsonValue::Kind::array) && asked.size() == 1) asked = *asked.elements().begin();
  const JsonValue minion = asked.find(lowstate::find_nonempty(asked, "mid") ? "mid" : "id_").value_or(JsonValue());
  if (!is_minion_id(minion.text())) {
    exchange.trail.write_unreadable("invalid");
    return fail(exchange, {ErrorKind::invocation,
                           "'mid' must be the id of one minion: letters, digits and any of . _ - : @ +"});
  }
  const std::string id(minion.text());
  std::string chunk;
  JsonWriter writer(chunk);
  if (Result<void> written = write_key_chunk(writer, asked, id); !written) {
    return fail(exchange, written.error());
  }
  auto ran = run_own(exchange, chunk, {.own = true});
  if (auto* answer = std::get_if<Response>(&ran)) return std::move(*answer);
  const auto keys = returned_by_wheel(exchange, std::get<0>(ran));
  return keys ? key_archive(exchange, id, *keys) : fail(exchange, keys.error());
}

}  // namespace rest_fcgi::netapi
