// SPDX-License-Identifier: MIT
#include <algorithm>

#include "master/embedded/host/grains.h"
#include "master/embedded/runners/runners.h"
#include "master/embedded/text.h"
#include "rest_fcgi/auth/rsa_pair.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/pattern.h"

namespace rest_fcgi::embedded {

namespace {

constexpr std::string_view kLocalKeys[] = {"master.pem", "master.pub"};
constexpr std::string_view kAccepted = "minions";

using Names = std::vector<std::string_view>;

struct AcceptedKeys {
  explicit AcceptedKeys(const MasterContext& context) : generated(context.data.keys->all()) {
    for (const Minion& minion : context.minions().all()) ids.push_back(minion.id);
    for (const auto& [id, key] : generated) {
      if (!context.minions().position(id)) ids.push_back(id);
    }
  }

  const GeneratedKeys::Keys generated;
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

/// Returns the status of keys that the text `match` means. As in Salt, only the first letters count: `acc`
/// and `accepted` give the same status.
std::string_view status_named(std::string_view match) {
  if (match.starts_with("acc")) return kAccepted;
  if (match.starts_with("pre") || match.starts_with("un")) return "minions_pre";
  if (match.starts_with("rej")) return "minions_rejected";
  return match.starts_with("den") ? "minions_denied" : "";
}

Error wrong_match(JsonValue found) {
  return {ErrorKind::invocation, format("match: found {}, expected a string", found.type_name())};
}

Result<Json> list(const MasterContext& context, const BoundArguments& arguments) {
  const JsonValue match = arguments["match"];
  if (!match.is(JsonValue::Kind::string)) return wrong_match(match);
  if (match.text().starts_with("all")) return list_all(context, arguments);
  const std::string_view status = status_named(match.text());
  if (status.empty()) return Json::empty_object();
  const AcceptedKeys accepted(context);
  return written_object([&](JsonWriter& writer) {
    write_strings(writer.key(status), status == kAccepted ? accepted.ids : Names());
  });
}

Result<Names> matching(Names names, JsonValue match) {
  if (!match.is(JsonValue::Kind::array) && !match.is(JsonValue::Kind::string)) {
    return wrong_match(match);
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
      const auto key = accepted.generated.find(id);
      writer.key(id).string(key == accepted.generated.end() ? std::string_view() : key->second);
    }
    writer.end_object();
  });
}

/// Returns a text that identifies the installation: the machine-id of the host, or the host's name.
std::string_view installation() {
  static const std::string id = [] {
    const std::string text = read_text("/etc/machine-id").value_or("");
    const auto lines = lines_of(text);
    return lines.empty() ? host_name() : std::string(lines.front());
  }();
  return id;
}

using NamesByStatus = std::vector<std::pair<std::string_view, Names>>;

/// Returns `{status: {name: fingerprint}}`. For a name without a key, the fingerprint is a digest of the
/// installation and the name.
Result<Json> fingers(const NamesByStatus& all, const GeneratedKeys::Keys& generated, JsonValue hash_type) {
  const std::string_view hash = hash_type.is(JsonValue::Kind::null) ? "sha256" : hash_type.text();
  std::string json;
  JsonWriter writer(json);
  writer.begin_object();
  for (const auto& [status, names] : all) {
    if (names.empty()) continue;
    writer.key(status).begin_object();
    for (const std::string_view name : names) {
      const auto key = generated.find(name);
      const bool has_key = status == kAccepted && key != generated.end();
      const std::string text = has_key ? std::string(auth::pem_body(key->second))
                                       : format("rest_fcgi key {} {}", installation(), name);
      const auto finger = auth::fingerprint_of(text, hash);
      if (!finger) return finger.error();
      writer.key(name).string(*finger);
    }
    writer.end_object();
  }
  writer.end_object();
  return Json::trusted(std::move(json));
}

Result<Json> finger(const MasterContext& context, const BoundArguments& arguments) {
  const AcceptedKeys accepted(context);
  const Result<Names> ids = matching(accepted.ids, arguments["match"]);
  if (!ids) return ids.error();
  const Result<Names> local = matching({std::begin(kLocalKeys), std::end(kLocalKeys)}, arguments["match"]);
  return fingers({{kAccepted, *ids}, {"local", *local}}, accepted.generated, arguments["hash_type"]);
}

Result<Json> finger_master(const MasterContext&, const BoundArguments& arguments) {
  return fingers({{"local", {kLocalKeys[1]}}}, {}, arguments["hash_type"]);
}

Result<Json> master_key(const MasterContext&, const BoundArguments&) {
  return Json::trusted(R"({"local": {"master.pub": ""}})");
}

Result<Json> delete_keys(const MasterContext& context, const BoundArguments& arguments) {
  const AcceptedKeys accepted(context);
  const Result<Names> ids = matching(accepted.ids, arguments["match"]);
  if (!ids) return ids.error();
  for (const std::string_view id : *ids) context.data.keys->remove(id);
  return name_match(context, arguments);
}

/// Returns the ids of accepted keys in the argument `match`, which is `{status: [id, …]}`.
Result<Names> accepted_in(const AcceptedKeys& accepted, JsonValue match) {
  if (!match.is(JsonValue::Kind::object)) {
    return Error{ErrorKind::invocation, format("match: found {}, expected a map", match.type_name())};
  }
  Names ids;
  for (const JsonValue id : match.find(kAccepted).value_or(JsonValue()).elements()) {
    const auto found = std::find(accepted.ids.begin(), accepted.ids.end(), id.text());
    if (found != accepted.ids.end()) ids.push_back(*found);
  }
  return ids;
}

Result<Json> show_dict(const MasterContext& context, const BoundArguments& arguments) {
  const AcceptedKeys accepted(context);
  const Result<Names> ids = accepted_in(accepted, arguments["match"]);
  if (!ids) return ids.error();
  return written_object([&ids](JsonWriter& writer) {
    if (!ids->empty()) write_strings(writer.key(kAccepted), *ids);
  });
}

Result<Json> delete_dict(const MasterContext& context, const BoundArguments& arguments) {
  const AcceptedKeys accepted(context);
  const Result<Names> ids = accepted_in(accepted, arguments["match"]);
  if (!ids) return ids.error();
  for (const std::string_view id : *ids) context.data.keys->remove(id);
  return show_dict(context, arguments);
}

/// Reads the size of a key in bits. Null and sizes below Salt's default become the default. Fails with
/// `invocation` for a larger size than `kMax`.
Result<int> read_key_size(JsonValue given) {
  constexpr std::int64_t kDefault = 2048;
  // The largest size in bits, because making a larger key takes many seconds.
  constexpr std::int64_t kMax = 4096;
  if (given.is(JsonValue::Kind::null)) return int{kDefault};
  const auto bits = given.integer();
  if (bits && *bits <= kMax) return static_cast<int>(std::max(*bits, kDefault));
  return Error{ErrorKind::invocation,
               format("keysize: found {}, expected a number of bits, at most {}", given.python_repr(), kMax)};
}

/// Makes a key pair for a minion and accepts the public key. If the minion has a key and `force` is false,
/// returns an empty object.
Result<Json> gen_accept(const MasterContext& context, const BoundArguments& arguments) {
  const JsonValue id = arguments["id_"];
  if (!id.is(JsonValue::Kind::string)) {
    return Error{ErrorKind::invocation, format("id_: found {}, expected a minion's id", id.python_repr())};
  }
  if (auto checked = check_minion_id(id.text()); !checked) return std::move(checked).error();
  const Result<int> bits = read_key_size(arguments["keysize"]);
  if (!bits) return bits.error();
  const bool force = python_bool(arguments["force"]);
  const AcceptedKeys accepted(context);
  const bool exists = std::find(accepted.ids.begin(), accepted.ids.end(), id.text()) != accepted.ids.end();
  if (exists && !force) return Json::empty_object();
  auto pair = auth::RsaPair::make(*bits);
  if (!pair) return std::move(pair).error();
  switch (context.data.keys->add(id.text(), pair->pub, force)) {
    case GeneratedKeys::Added::exists:
      return Json::empty_object();
    case GeneratedKeys::Added::full:
      return Error{ErrorKind::invocation,
                   format("there are {} keys already; remove some with key.delete", GeneratedKeys::kMaxKeys)};
    case GeneratedKeys::Added::yes:
      break;
  }
  return written_object([&](JsonWriter& writer) {
    writer.key("pub").string(pair->pub).key("priv").string(pair->priv.reveal().text);
  });
}

Result<Json> values(const MasterContext& context, const BoundArguments&) {
  return context.data.config_values;
}

Result<Json> connected(const MasterContext& context, const BoundArguments&) {
  return written_array([&](JsonWriter& writer) {
    for (const Minion& minion : context.minions().all()) writer.string(minion.id);
  });
}

constexpr MasterFunction kWheels[] = {
    {"config.values()", "Show the effective options without secrets.", values},
    {"key.accept(match, include_rejected=False, include_denied=False)",
     "Show the keys that match. All keys are accepted already.", name_match},
    {"key.accept_dict(match, include_rejected=False, include_denied=False)",
     "Show the keys in a map from status to ids. All keys are accepted already.", show_dict},
    {"key.delete(match)", "Remove keys that key.gen_accept made. Minions of this process stay accepted.",
     delete_keys},
    {"key.delete_dict(match)",
     "Remove keys that key.gen_accept made and that are in a map from status to ids.", delete_dict},
    {"key.finger(match, hash_type=None)",
     "Show the fingerprints of keys. Minions of this process have no keys. Their fingerprint is a digest of\n"
     "the installation and the id.",
     finger},
    {"key.finger_master(hash_type=None)",
     "Show the master's fingerprint. It is a digest of the installation, because the master has no key.",
     finger_master},
    {"key.gen_accept(id_, keysize=2048, force=False)",
     "Make a key pair and accept its public key. If the minion has a key and force is false, do nothing.",
     gen_accept, false, true},
    {"key.list(match)", "List the minions whose keys have a status: accepted, pre, rejected, denied or all.",
     list},
    {"key.list_all()", "List the minions by the status of their keys. All keys count as accepted.", list_all},
    {"key.master_key_str()", "Show the master's key. It is empty, because the master has no key.",
     master_key},
    {"key.name_match(match)", "List the minions whose ids match globs, by the status of their keys.",
     name_match},
    {"key.print(match)", "Show keys. Minions of this process need no keys, so their keys are empty.", print},
    {"key.reject(match, include_accepted=False, include_denied=False)",
     "Show the keys that match. All keys stay accepted.", name_match},
    {"key.reject_dict(match, include_accepted=False, include_denied=False)",
     "Show the keys in a map from status to ids. All keys stay accepted.", show_dict},
    {"minions.connected()", "List the minions.", connected},
};

}  // namespace

MasterFunctions wheels() {
  return kWheels;
}

}  // namespace rest_fcgi::embedded
