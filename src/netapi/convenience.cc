// SPDX-License-Identifier: MIT
#include <algorithm>
#include <numeric>
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

// The handlers of URLs such as /minions and /jobs. Each handler makes one call.

namespace rest_fcgi::netapi {
namespace {

using http::Response;
using http::Status;

std::string below(const RequestContext& context) {
  std::string text;
  for (const std::string& part : context.below) text.append(text.empty() ? "" : "/").append(part);
  return text;
}

RunOptions own_call(const RequestContext& context) {
  return {.session = &*context.session, .own = true};
}

std::string chunk_of(std::string_view client, std::string_view fun,
                     std::initializer_list<std::pair<std::string_view, std::string_view>> more) {
  std::string json;
  JsonWriter writer(json);
  writer.begin_object().key("client").string(client).key("fun").string(fun);
  for (const auto& [key, value] : more) writer.key(key).string(value);
  writer.end_object();
  return json;
}

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

/// Logs the reason of a failure, which may be a traceback. Errors: invocation.
Result<Json> returned_by_wheel(const RequestContext& context, const client::Reply& reply) {
  JsonDocument document;
  if (auto parsed = document.parse(reply.items.front().text(), JsonLimits::none()); !parsed) {
    return std::move(parsed).error();
  }
  const JsonValue data = document.root().find("data").value_or(JsonValue());
  const JsonValue value = data.find("return").value_or(JsonValue());
  const auto success = data.find("success");
  if (success && success->is(JsonValue::Kind::boolean) && !success->boolean()) {
    return Error{ErrorKind::invocation,
                 format("The wheel function failed on the master; the log has the cause (reference {})",
                        log_with_reference(log::Level::warning,
                                           format("A wheel function for {} failed", context.remote()),
                                           value.python_str()))};
  }
  return value.json();
}

/// Returns whether the text is a minion id that is safe in the header Content-Disposition.
bool is_minion_id(std::string_view text) {
  const auto is_good = [](char c) {
    return is_letter(c) || is_digit(c) || std::string_view("._-:@+").find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= 255 && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), is_good);
}

/// Writes the chunk that makes a key pair. A text in `keysize` or `force` is read as YAML, because all values
/// of a form are texts.
Result<void> write_key_chunk(JsonWriter& writer, JsonValue body, std::string_view minion) {
  writer.begin_object().key("client").string("wheel").key("fun").string("key.gen_accept");
  writer.key("id_").string(minion);
  for (const std::string_view key : {"keysize", "force"}) {
    const auto value = lowstate::find_nonempty(body, key);
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
    if (const auto value = body.find(key)) {
      writer.key(key);
      value->write(writer);
    }
  }
  writer.end_object();
  return {};
}

struct TarMember {
  /// The file's name. It has at most 100 bytes, because the field in a tar header has this size.
  std::string_view name;
  std::string_view content;
  unsigned mode;
};

constexpr std::size_t kBlock = 512;
constexpr std::size_t kRecord = 20 * kBlock;

std::string head_of(const TarMember& member) {
  std::string head(kBlock, '\0');
  const auto put = [&head](std::size_t at, std::string_view text) { head.replace(at, text.size(), text); };
  put(0, member.name);
  put(100, format("{:07o}", member.mode));
  put(108, "0000000");  // The user id is that of root.
  put(116, "0000000");  // The group id is that of root.
  put(124, format("{:011o}", member.content.size()));
  put(136, "00000000000");  // The modification time is 1970-01-01.
  put(148, "        ");     // The checksum counts its own field as spaces.
  put(156, "0");            // The file type 0 is a regular file.
  put(257, std::string_view("ustar\00000", 8));
  const unsigned sum = std::accumulate(head.begin(), head.end(), 0U, [](unsigned total, char c) {
    return total + static_cast<unsigned char>(c);
  });
  put(148, format("{:06o}", sum));
  head[154] = '\0';
  return head;
}

void pad(std::string& text, std::size_t unit) {
  text.resize((text.size() + unit - 1) / unit * unit);
}

/// Returns a tar archive (POSIX.1-1988, ustar) of files that belong to root and have the date 1970-01-01. The
/// archive's size is a multiple of 10240 bytes, as in tar(1).
std::string make_tar(const std::vector<TarMember>& members) {
  std::string archive;
  for (const TarMember& member : members) {
    archive += head_of(member);
    archive += member.content;
    pad(archive, kBlock);
  }
  archive.resize(archive.size() + 2 * kBlock);
  pad(archive, kRecord);
  return archive;
}

Response key_archive(const RequestContext& context, const std::string& minion, const Json& keys) {
  const JsonDocument document = own_document(keys);
  const JsonValue open = document.root().find("pub").value_or(JsonValue());
  const JsonValue secret = document.root().find("priv").value_or(JsonValue());
  if (open.text().empty() || secret.text().empty()) {
    return fail(context,
                {ErrorKind::conflict,
                 format("The minion {} has a key already; delete that key first.", quoted_excerpt(minion))});
  }
  return {Status::ok,
          {{"Content-Type", "application/x-tar"},
           {"Content-Disposition", format("attachment; filename=\"saltkeys-{}.tar\"", minion)}},
          make_tar({{"minion.pub", open.text(), 0644}, {"minion.pem", secret.text(), 0600}})};
}

}  // namespace

std::variant<client::Reply, Response> ask_for_grains(RequestContext& context) {
  std::string target = below(context);
  if (target.empty()) target = in_query(context.target, "mid");
  if (target.empty()) target = "*";
  // A target with `*`, `?` or `[` is first looked up as a minion id, and if this fails, as a glob.
  if (target != "*" && target.find_first_of("*?[") != std::string::npos) {
    std::string exact;
    JsonWriter writer(exact);
    writer.begin_object().key("client").string("local").key("fun").string("grains.items");
    writer.key("tgt_type").string("list").key("tgt").begin_array().string(target).end_array().end_object();
    auto ran = run_own(context, exact, own_call(context));
    const auto* const one = std::get_if<client::Reply>(&ran);
    if (one != nullptr && !one->jid.empty()) return ran;
  }
  return run_own(context, chunk_of("local", "grains.items", {{"tgt", target}}), own_call(context));
}

std::variant<client::Reply, Response> ask_for_job(RequestContext& context) {
  return run_own(context, chunk_of("runner", "jobs.list_job", {{"jid", below(context)}}), own_call(context));
}

Response list_jobs(RequestContext& context) {
  auto ran = run_own(context, chunk_of("runner", "jobs.list_jobs", {}), own_call(context));
  if (auto* answer = std::get_if<Response>(&ran)) return std::move(*answer);
  return reply_with(context, newest_first(std::get<0>(ran).items.front()));
}

ChunkResults start_jobs(RequestContext& context) {
  return context.app.dialect.run_chunks(
      context, context.body.value,
      {.session = &*context.session, .reading = {.client = lowstate::Client::local_async}});
}

Response reply_with(const RequestContext& context, const Json& item) {
  return reply(context, Status::ok, format(R"({{"return": [{}]}})", item.text()));
}

Response show_keys(RequestContext& context) {
  const std::string minion = below(context);
  const std::string chunk = minion.empty() ? chunk_of("wheel", "key.list_all", {})
                                           : chunk_of("wheel", "key.finger", {{"match", minion}});
  auto ran = run_own(context, chunk, own_call(context));
  if (auto* answer = std::get_if<Response>(&ran)) return std::move(*answer);
  const auto keys = returned_by_wheel(context, std::get<0>(ran));
  return keys ? reply(context, Status::ok, format(R"({{"return": {}}})", keys->text()))
              : fail(context, keys.error());
}

Response make_keys(RequestContext& context) {
  JsonValue body = context.body.value;
  if (body.is(JsonValue::Kind::array) && body.size() == 1) body = *body.elements().begin();
  const JsonValue minion =
      body.find(lowstate::find_nonempty(body, "mid") ? "mid" : "id_").value_or(JsonValue());
  if (!is_minion_id(minion.text())) {
    context.trail.write_unreadable("invalid");
    return fail(context, {ErrorKind::invocation,
                          "'mid' must be the id of one minion: letters, digits and any of . _ - : @ +"});
  }
  const std::string id(minion.text());
  std::string chunk;
  JsonWriter writer(chunk);
  if (Result<void> written = write_key_chunk(writer, body, id); !written) {
    return fail(context, written.error());
  }
  auto ran = run_own(context, chunk, {.own = true});
  if (auto* answer = std::get_if<Response>(&ran)) return std::move(*answer);
  const auto keys = returned_by_wheel(context, std::get<0>(ran));
  return keys ? key_archive(context, id, *keys) : fail(context, keys.error());
}

}  // namespace rest_fcgi::netapi
