// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "master/embedded/host/grains.h"
#include "master/embedded/python/python.h"
#include "master/embedded/runners/runners.h"
#include "master/embedded/text.h"
#include "rest_fcgi/auth/rsa_pair.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/pattern.h"

/// The wheels.
namespace rest_fcgi::embedded {

namespace {

constexpr std::array<std::string_view, 2> kLocalKeys = {"master.pem", "master.pub"};
constexpr std::string_view kAccepted = "minions";

using Names = std::vector<std::string_view>;

/// Whose keys are accepted: every minion of this process, where there is no key that somebody could have to
/// accept, and those that a key was made for. Borrows from the context.
struct AcceptedKeys {
  explicit AcceptedKeys(const MasterContext& context) : made(context.keys.all()) {
    for (const Minion& minion : context.minions.all()) ids.push_back(minion.id);
    for (const auto& [id, key] : made) {
      if (!context.minions.position(id)) ids.push_back(id);
    }
  }

  const MadeKeys::All made;
  Names ids;
};

Result<Json> list_all(const MasterContext& context, const BoundArguments&) {
  const AcceptedKeys accepted(context);
  return written_object([&](JsonWriter& writer) {
    write_strings(writer.key(kAccepted), accepted.ids);
    for (const std::string_view status : {"minions_pre", "minions_rejected", "minions_denied"}) {
      writer.key(status).begin_array().end_array();
    }
    write_strings(writer.key("local"), kLocalKeys);
  });
}

/// Salt looks at how `match` begins.
std::string_view status_meant(std::string_view match) {
  if (match.starts_with("acc")) return kAccepted;
  if (match.starts_with("pre") || match.starts_with("un")) return "minions_pre";
  if (match.starts_with("rej")) return "minions_rejected";
  return match.starts_with("den") ? "minions_denied" : "";
}

Error match_must_be_text(JsonValue found) {
  return {ErrorKind::invocation, format("match must be a string, found {}", found.type_name())};
}

Result<Json> list(const MasterContext& context, const BoundArguments& arguments) {
  const JsonValue match = arguments["match"];
  if (!match.is(JsonValue::Kind::string)) return match_must_be_text(match);
  if (match.text().starts_with("all")) return list_all(context, arguments);
  const std::string_view status = status_meant(match.text());
  if (status.empty()) return Json::empty_object();
  const AcceptedKeys accepted(context);
  return written_object([&](JsonWriter& writer) {
    write_strings(writer.key(status), status == kAccepted ? accepted.ids : Names());
  });
}

/// Those of `names` that one of the globs of `match` matches: a list, or with commas between them.
Result<Names> matching(Names names, JsonValue match) {
  if (!match.is(JsonValue::Kind::array) && !match.is(JsonValue::Kind::string)) {
    return match_must_be_text(match);
  }
  const std::vector<std::string> globs = texts_in(match);
  std::erase_if(names, [&globs](std::string_view name) {
    return std::none_of(globs.begin(), globs.end(),
                        [name](const std::string& glob) { return glob_match(glob, name); });
  });
  return names;
}

Result<Json> name_match(const MasterContext& context, const BoundArguments& arguments) {
  const AcceptedKeys accepted(context);
  const Result<Names> ids = matching(accepted.ids, arguments["match"]);
  if (!ids) return ids.error();
  if (ids->empty()) return Json::empty_object();
  return written_object([&ids](JsonWriter& writer) { write_strings(writer.key(kAccepted), *ids); });
}

Result<Json> print(const MasterContext& context, const BoundArguments& arguments) {
  const AcceptedKeys accepted(context);
  const Result<Names> ids = matching(accepted.ids, arguments["match"]);
  if (!ids) return ids.error();
  return written_object([&](JsonWriter& writer) {
    if (ids->empty()) return;
    writer.key(kAccepted).begin_object();
    for (const std::string_view id : *ids) {
      const auto made = accepted.made.find(id);
      writer.key(id).string(made == accepted.made.end() ? std::string_view() : made->second);
    }
    writer.end_object();
  });
}

/// Tells this installation from others: the host's machine-id, else its name. Stable across restarts.
std::string_view installation() {
  static const std::string id = [] {
    const std::string text = read_text("/etc/machine-id").value_or("");
    const auto lines = lines_of(text);
    return lines.empty() ? host_name() : std::string(lines.front());
  }();
  return id;
}

/// Adds `{status: {name: fingerprint}}`. The fingerprint of a made key is Salt's own. Minions of this
/// process, and the master, have no key: theirs is a digest of the installation and the name, since clients
/// parse it.
Result<void> write_fingers(JsonWriter& writer, std::string_view status, const Names& names,
                           const MadeKeys::All& made, JsonValue hash_type) {
  if (names.empty()) return {};
  const bool is_left_out = hash_type.is(JsonValue::Kind::null);
  writer.key(status).begin_object();
  for (const std::string_view name : names) {
    const auto found = made.find(name);
    const std::string text = found == made.end() ? format("rest_fcgi key {} {}", installation(), name)
                                                 : std::string(auth::pem_body(found->second));
    const auto finger =
        auth::fingerprint_of(text, is_left_out ? std::string_view("sha256") : hash_type.text());
    if (!finger) return finger.error();
    writer.key(name).string(*finger);
  }
  writer.end_object();
  return {};
}

Result<Json> finger(const MasterContext& context, const BoundArguments& arguments) {
  const AcceptedKeys accepted(context);
  const Result<Names> ids = matching(accepted.ids, arguments["match"]);
  if (!ids) return ids.error();
  const Result<Names> local = matching({kLocalKeys.begin(), kLocalKeys.end()}, arguments["match"]);
  Result<void> written;
  Json all = written_object([&](JsonWriter& writer) {
    written = write_fingers(writer, kAccepted, *ids, accepted.made, arguments["hash_type"]);
    if (written) written = write_fingers(writer, "local", *local, {}, arguments["hash_type"]);
  });
  if (!written) return std::move(written).error();
  return all;
}

Result<Json> finger_master(const MasterContext&, const BoundArguments& arguments) {
  Result<void> written;
  Json all = written_object([&](JsonWriter& writer) {
    written = write_fingers(writer, "local", {kLocalKeys.back()}, {}, arguments["hash_type"]);
  });
  if (!written) return std::move(written).error();
  return all;
}

Result<Json> master_key(const MasterContext&, const BoundArguments&) {
  return Json::trusted(R"({"local": {"master.pub": ""}})");
}

/// Of those of a minion of this process there is none to be removed.
Result<Json> delete_keys(const MasterContext& context, const BoundArguments& arguments) {
  const AcceptedKeys accepted(context);
  const Result<Names> ids = matching(accepted.ids, arguments["match"]);
  if (!ids) return ids.error();
  for (const std::string_view id : *ids) context.keys.remove(id);
  return name_match(context, arguments);
}

constexpr std::int64_t kUsualKeySize = 2048;
constexpr std::int64_t kMostKeySize = 4096;  // larger ones take many seconds

/// Bits: as in Salt no less than the usual. Errors: invocation.
Result<int> key_size(JsonValue asked) {
  if (asked.is(JsonValue::Kind::null)) return int{kUsualKeySize};
  const auto bits = asked.integer();
  if (bits && *bits <= kMostKeySize) return static_cast<int>(std::max(*bits, kUsualKeySize));
  return Error{ErrorKind::invocation, format("keysize must be a number of bits up to {}, found {}",
                                             kMostKeySize, asked.python_repr())};
}

/// The pair of a key that is accepted from now on, once for each id: an object with nothing in it where there
/// is one, unless `force` is true.
Result<Json> gen_accept(const MasterContext& context, const BoundArguments& arguments) {
  const JsonValue id = arguments["id_"];
  if (!id.is(JsonValue::Kind::string)) {
    return Error{ErrorKind::invocation, format("id_ must be a minion's id, found {}", id.python_repr())};
  }
  if (auto checked = check_minion_id(id.text()); !checked) return std::move(checked).error();
  const Result<int> bits = key_size(arguments["keysize"]);
  if (!bits) return bits.error();
  const bool force = python_bool(arguments["force"]);
  const AcceptedKeys accepted(context);
  const bool exists = std::find(accepted.ids.begin(), accepted.ids.end(), id.text()) != accepted.ids.end();
  if (exists && !force) return Json::empty_object();
  auto pair = auth::RsaPair::make(*bits);
  if (!pair) return std::move(pair).error();
  switch (context.keys.add(id.text(), pair->pub, force)) {
    case MadeKeys::Added::exists:
      return Json::empty_object();
    case MadeKeys::Added::full:
      return Error{ErrorKind::invocation,
                   format("{} keys were made; key.delete makes room", MadeKeys::kMost)};
    case MadeKeys::Added::yes:
      break;
  }
  return written_object([&](JsonWriter& writer) {
    writer.key("pub").string(pair->pub).key("priv").string(pair->priv.reveal().text);
  });
}

Result<Json> values(const MasterContext& context, const BoundArguments&) {
  return context.config_values;
}

Result<Json> connected(const MasterContext& context, const BoundArguments&) {
  return written_array([&](JsonWriter& writer) {
    for (const Minion& minion : context.minions.all()) writer.string(minion.id);
  });
}

constexpr std::array<MasterFunction, 13> kWheels = {{
    {"config.values()", "Show the effective options that are no secret.", values},
    {"key.accept(match, include_rejected=False, include_denied=False)",
     "Accept keys; all are accepted already, and those that match are shown.", name_match},
    {"key.delete(match)", "Remove keys that key.gen_accept made; minions of this process stay accepted.",
     delete_keys},
    {"key.finger(match, hash_type=None)",
     "Show the fingerprints of keys. Minions of this process have no keys: theirs is a digest of\n"
     "the installation and the id, the same after a restart.",
     finger},
    {"key.finger_master(hash_type=None)",
     "Show the master's fingerprint: a digest of the installation, as there is no key.", finger_master},
    {"key.gen_accept(id_, keysize=2048, force=False)",
     "Make a key pair and accept its public half; nothing where the minion has one, unless force is true.",
     gen_accept, false, true},
    {"key.list(match)", "List the minions whose keys have a status: accepted, pre, rejected, denied or all.",
     list},
    {"key.list_all()", "List the minions by the status of their keys; all count as accepted.", list_all},
    {"key.master_key_str()", "Show the master's key; it is empty, as there is none.", master_key},
    {"key.name_match(match)", "List the minions whose ids match globs, by the status of their keys.",
     name_match},
    {"key.print(match)", "Show keys; those of minions of this process are empty, as they need none.", print},
    {"key.reject(match, include_accepted=False, include_denied=False)",
     "Reject keys; all stay accepted, and those that match are shown.", name_match},
    {"minions.connected()", "List the minions.", connected},
}};

}  // namespace

MasterFunctions wheels() {
  return kWheels;
}

}  // namespace rest_fcgi::embedded
