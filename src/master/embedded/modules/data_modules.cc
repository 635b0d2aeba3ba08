// SPDX-License-Identifier: MIT

#include "master/embedded/modules/native.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace data_modules {
namespace {

using Steps = std::vector<std::string_view>;

/// The result of a lookup. The value is absent for a missing key. A wrong key or delimiter raises an error.
using Traversed = std::variant<std::optional<JsonValue>, Raised>;

/// Returns the steps of a key. A key is a text such as `pkg:apache`, or a list of steps. Without `delimiter`,
/// a colon separates the steps. If `delimiter` is null, white space separates the steps.
std::variant<Steps, Raised> steps_of(const JsonValue& key, const std::optional<JsonValue>& delimiter) {
  Steps steps;
  if (key.is(JsonValue::Kind::array)) {
    for (const JsonValue step : key.elements()) steps.push_back(step.text());
    return steps;
  }
  if (!key.is(JsonValue::Kind::string)) {
    return Raised::invocation_error(
        format("key: found {}, expected a string such as 'pkg:apache' or a list of such strings",
               key.python_repr()));
  }
  if (!delimiter) return split(key.text(), ":");
  if (delimiter->is(JsonValue::Kind::null)) return split_words(key.text());
  if (!delimiter->text().empty() && delimiter->is(JsonValue::Kind::string)) {
    return split(key.text(), delimiter->text());
  }
  return Raised::invocation_error(
      format("delimiter: found {}, expected a non-empty string or null", delimiter->python_repr()));
}

/// Looks up a key, as salt.utils.data.traverse_dict_and_list does. Finds nothing if `key` is a number or a
/// boolean, because the keys of JSON objects are texts. The result borrows `data`.
Traversed traverse(const JsonValue& data, const JsonValue& key, const std::optional<JsonValue>& delimiter) {
  if (key.number() || key.is(JsonValue::Kind::boolean)) return std::optional<JsonValue>();
  auto steps = steps_of(key, delimiter);
  if (auto* raised = std::get_if<Raised>(&steps)) return std::move(*raised);
  std::optional<JsonValue> found = data;
  for (const std::string_view step : std::get<Steps>(steps)) {
    if (found) found = step_into(*found, step);
  }
  return found;
}

template <class Use>
Reply looked_up(const JsonValue& data, const JsonValue& key, const std::optional<JsonValue>& delimiter,
                const Use& use) {
  Traversed found = traverse(data, key, delimiter);
  if (auto* raised = std::get_if<Raised>(&found)) return std::move(*raised);
  return use(std::get<std::optional<JsonValue>>(found));
}

JsonValue grains_of(const Call& call) {
  return call.context.minion.grains.root();
}

JsonValue pillar_of(const Call& call) {
  return call.context.minion.pillar.root();
}

std::optional<JsonValue> keyword(const Call& call, std::string_view name) {
  const auto found = std::find_if(call.keywords.begin(), call.keywords.end(),
                                  [name](const JsonMember& member) { return member.key == name; });
  if (found == call.keywords.end()) return std::nullopt;
  return found->value;
}

std::optional<Raised> check_name(const JsonValue& name) {
  if (!name.is(JsonValue::Kind::array) && !name.is(JsonValue::Kind::object)) return std::nullopt;
  return Raised::invocation_error(
      format("name: found {}, expected a string such as 'pkg:apache'", name.python_repr()));
}

/// As in Python's `json.dumps`, numbers and booleans as keys become texts.
template <class Write>
Reply named_items(const Call& call, const JsonValue& data, const Write& write) {
  constexpr std::size_t kMaxBytes = 4 << 20;
  const std::optional<JsonValue> delimiter = keyword(call, "delimiter");
  std::set<std::string> done;
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const JsonValue& key : call.varargs) {
    if (auto raised = check_name(key)) return *std::move(raised);
    Traversed found = traverse(data, key, delimiter);
    if (auto* raised = std::get_if<Raised>(&found)) return std::move(*raised);
    const std::string name = key.is(JsonValue::Kind::string) ? std::string(key.text()) : key.json().text();
    if (!done.insert(name).second) continue;
    auto value = std::get<std::optional<JsonValue>>(found);
    if (!value) value = keyword(call, "default");
    writer.key(name);
    value ? write(writer, name, *value) : (void)writer.string("");
    if (text.size() > kMaxBytes)
      return Raised::invocation_error("The result is too large: shorten 'default' or name fewer keys");
  }
  writer.end_object();
  return Returned{Json::trusted(std::move(text))};
}

Reply keys_of(const JsonValue& object) {
  return Returned{written_array([&object](JsonWriter& writer) {
    for (const JsonMember member : object.members()) writer.string(member.key);
  })};
}

std::string sanitized_serial(std::string_view serial) {
  std::size_t kept = serial.size() * 3 / 4;
  while (kept > 0 && kept < serial.size() && (static_cast<unsigned char>(serial[kept]) & 0xC0U) == 0x80U)
    --kept;
  return std::string(serial.substr(0, kept)) + std::string(serial.size() - kept, 'X');
}

std::optional<std::string> sanitized(std::string_view grain, const JsonValue& value) {
  if (grain == "serialnumber") return sanitized_serial(value.text());
  if (grain == "domain") return "DOMAINNAME";
  if (grain == "fqdn" || grain == "id") return "MINION.DOMAINNAME";
  if (grain == "host" || grain == "localhost" || grain == "nodename") return "MINION";
  return std::nullopt;
}

void write_grain(JsonWriter& writer, std::string_view grain, const JsonValue& value, bool sanitize) {
  const std::optional<std::string> replacement = sanitize ? sanitized(grain, value) : std::nullopt;
  replacement ? (void)writer.string(*replacement) : value.write(writer);
}

Reply grains_items(const Call& call) {
  const bool sanitize = salt_is_true(call["sanitize"]);
  return Returned{written_object([&](JsonWriter& writer) {
    for (const auto& [grain, value] : grains_of(call).members()) {
      write_grain(writer.key(grain), grain, value, sanitize);
    }
  })};
}

Reply grains_item(const Call& call) {
  const bool sanitize = salt_is_true(keyword(call, "sanitize").value_or(JsonValue()));
  return named_items(call, grains_of(call),
                     [sanitize](JsonWriter& writer, std::string_view name, const auto& value) {
                       write_grain(writer, name, value, sanitize);
                     });
}

Reply grains_get(const Call& call) {
  return looked_up(grains_of(call), call["key"], call["delimiter"],
                   [&call](const auto& found) { return Returned{found.value_or(call["default"]).json()}; });
}

Reply has_value(const Call& call) {
  return looked_up(grains_of(call), call["key"], std::nullopt,
                   [](const auto& found) { return Returned{Json::boolean(found.has_value())}; });
}

Reply equals(const Call& call) {
  return looked_up(grains_of(call), call["key"], std::nullopt, [&call](const auto& found) {
    return Returned{Json::boolean(call["value"].python_str() == (found ? found->python_str() : ""))};
  });
}

Reply grains_ls(const Call& call) {
  std::set<std::string_view> names;
  for (const JsonMember grain : grains_of(call).members()) names.insert(grain.key);
  return Returned{written_json([&names](JsonWriter& writer) { write_strings(writer, names); })};
}

Json merged(const JsonValue& base, const JsonValue& value, bool merge_lists) {
  const bool are_alike = value.kind() == base.kind();
  if (are_alike && base.is(JsonValue::Kind::object)) {
    return written_json([&](JsonWriter& writer) { write_merged(writer, base, value, merge_lists); });
  }
  if (are_alike && base.is(JsonValue::Kind::array)) {
    return written_json([&](JsonWriter& writer) { write_joined(writer, base, value); });
  }
  return value.json();
}

Reply pillar_get(const Call& call) {
  const JsonValue& default_value = call["default"];
  return looked_up(pillar_of(call), call["key"], call["delimiter"], [&](const auto& found) -> Reply {
    if (!found) return Returned{default_value.json()};
    if (!python_bool(call["merge"])) return Returned{found->json()};
    return Returned{merged(default_value, *found, python_bool(call["merge_nested_lists"]))};
  });
}

Reply pillar_item(const Call& call) {
  return named_items(call, pillar_of(call),
                     [](JsonWriter& writer, std::string_view, const auto& value) { value.write(writer); });
}

Reply pillar_items(const Call& call) {
  if (!call.varargs.empty()) return pillar_item(call);
  const std::optional<JsonValue> over = keyword(call, "pillar");
  if (!over || !over->is(JsonValue::Kind::object)) return Returned{pillar_of(call).json()};
  return Returned{
      written_json([&](JsonWriter& writer) { write_merged(writer, pillar_of(call), *over, false); })};
}

Reply pillar_ls(const Call& call) {
  Reply reply = pillar_items(call);
  const auto* returned = std::get_if<Returned>(&reply);
  if (returned == nullptr) return reply;
  return keys_of(own_document(returned->value).root());
}

void write_obfuscated(JsonWriter& writer, const JsonValue& value) {
  if (value.is(JsonValue::Kind::object)) {
    writer.begin_object();
    for (const auto& [key, member] : value.members()) write_obfuscated(writer.key(key), member);
    writer.end_object();
  } else if (value.is(JsonValue::Kind::array)) {
    writer.begin_array();
    for (const JsonValue element : value.elements()) write_obfuscated(writer, element);
    writer.end_array();
  } else {
    writer.string(format("<{}>", value.type_name()));
  }
}

Reply obfuscate(const Call& call) {
  Reply reply = pillar_items(call);
  auto* returned = std::get_if<Returned>(&reply);
  if (returned == nullptr) return reply;
  const JsonDocument items = own_document(returned->value);
  returned->value = written_json([&items](JsonWriter& writer) { write_obfuscated(writer, items.root()); });
  return reply;
}

Reply raw(const Call& call) {
  const JsonValue& key = call["key"];
  if (!python_bool(key)) return Returned{pillar_of(call).json()};
  if (auto raised = check_name(key)) return *std::move(raised);
  const auto value = pillar_of(call).find(key.text());
  if (!value || !key.is(JsonValue::Kind::string)) return Returned{Json::empty_object()};
  return Returned{value->json()};
}

Reply keys(const Call& call) {
  const JsonValue& key = call["key"];
  return looked_up(pillar_of(call), key, call["delimiter"], [&key](const auto& found) -> Reply {
    if (!found) {
      return Raised{Raised::Kind::exception, "KeyError",
                    format("'Pillar key not found: {}'", key.python_str())};
    }
    if (!found->is(JsonValue::Kind::object)) {
      return Raised::value_error(format("Pillar value in key {} is not a dict", key.python_str()));
    }
    return keys_of(*found);
  });
}

Reply first_found(const std::vector<JsonValue>& stores, const Call& call) {
  for (const JsonValue& store : stores) {
    Traversed found = traverse(store, call["key"], call["delimiter"]);
    if (auto* raised = std::get_if<Raised>(&found)) return std::move(*raised);
    const auto& value = std::get<std::optional<JsonValue>>(found);
    if (value) return Returned{value->json()};
  }
  return Returned{call["default"].json()};
}

/// Merges the objects in `stores` into one object. If several objects have a key, the first of them
/// determines the value. If `overwrite` is false, values that are objects are merged, too.
JsonDocument all_merged(const std::vector<JsonValue>& stores, bool overwrite) {
  JsonDocument merged = own_document(Json::empty_object());
  for (auto store = stores.rbegin(); store != stores.rend(); ++store) {
    merged = own_document(written_json([&](JsonWriter& writer) {
      if (!overwrite) return write_merged(writer, merged.root(), *store, false);
      writer.begin_object();
      for (const auto& [key, value] : merged.root().members()) {
        if (!store->find(key)) value.write(writer.key(key));
      }
      for (const auto& [key, value] : store->members()) value.write(writer.key(key));
      writer.end_object();
    }));
  }
  return merged;
}

/// Returns the value of a key from the minion's options, its grains, its pillar, or the pillar's `master`.
/// Without `merge`, the first of these sources that has the key determines the value. With `merge`, merges
/// the sources before the search.
Reply config_get(const Call& call) {
  const JsonDocument options = own_document(
      written_object([&call](JsonWriter& writer) { write_minion_options(writer, call.context.minion.id); }));
  const JsonValue& merge = call["merge"];
  const auto is_searched = [&](std::string_view omit) {
    return !merge.is(JsonValue::Kind::null) || !python_bool(call[omit]);
  };
  std::vector<JsonValue> stores;
  if (is_searched("omit_opts")) stores.push_back(options.root());
  if (is_searched("omit_grains")) stores.push_back(grains_of(call));
  if (is_searched("omit_pillar")) stores.push_back(pillar_of(call));
  if (is_searched("omit_master")) stores.push_back(member_of(pillar_of(call), "master"));
  if (merge.is(JsonValue::Kind::null)) return first_found(stores, call);
  const JsonDocument merged = all_merged(stores, merge.text() == "overwrite");
  return first_found({merged.root()}, call);
}

constexpr std::string_view kGrainsGet =
    "Return a grain, or ``default`` if the minion does not have the grain. ``pkg:apache`` is the member\n"
    "``apache`` of the grain ``pkg``; ``delimiter`` sets another separator than the colon.";

constexpr std::string_view kPillarGet =
    "Return a value of the pillar, or ``default`` if the pillar does not have the key. ``pkg:apache`` is "
    "the\n"
    "member ``apache`` of ``pkg``; ``delimiter`` sets another separator than the colon. With ``merge``, a\n"
    "map or list is merged into ``default``.";

constexpr Function kFunctions[] = {
    {"config.get(key, default='', delimiter=':', merge=None, omit_opts=False, omit_pillar=False, "
     "omit_master=False, omit_grains=False)",
     "Return a value from the minion's options, grains, pillar, or the pillar's ``master``. The first of\n"
     "these that has the key counts. With ``merge`` (``recurse``, ``overwrite``), all values are merged.",
     config_get, "pkg:apache\nlxc.container_profile:centos merge=recurse"},
    {"grains.equals(key, value)", "Return whether a grain equals this value, compared as strings.", equals,
     "os Debian"},
    {"grains.fetch = get(key, default='', delimiter=':', ordered=True)", kGrainsGet, grains_get,
     "pkg:apache"},
    {"grains.get(key, default='', delimiter=':', ordered=True)", kGrainsGet, grains_get,
     "pkg:apache\n'abc::def|ghi' delimiter='|'"},
    {"grains.has_value(key)", "Return whether the minion has this grain.", has_value, "pkg:apache"},
    {"grains.item(*args, **kwargs)",
     "Return the named grains. With ``sanitize``, values that identify the host are left out.", grains_item,
     "os osrelease\nhost sanitize=True", true, "nested"},
    {"grains.items(sanitize=False)",
     "Return all grains. With ``sanitize``, values that identify the host are left out.", grains_items,
     "\nsanitize=True", true, "nested"},
    {"grains.ls()", "Return the names of all grains.", grains_ls},
    {"pillar.data(*args, **kwargs)", "The same as ``pillar.items``.", pillar_items},
    {"pillar.fetch = get(key, default='', merge=False, merge_nested_lists=None, delimiter=':', "
     "pillarenv=None, saltenv=None)",
     kPillarGet, pillar_get, "pkg:apache"},
    {"pillar.get(key, default='', merge=False, merge_nested_lists=None, delimiter=':', pillarenv=None, "
     "saltenv=None)",
     kPillarGet, pillar_get, "pkg:apache\n'abc::def|ghi' delimiter='|'"},
    {"pillar.item(*args, **kwargs)",
     "Return the named values of the pillar. A missing value is ``default``, or empty.", pillar_item,
     "foo\nfoo:bar baz"},
    {"pillar.items(*args, **kwargs)", "Return the whole pillar, or the named values.", pillar_items},
    {"pillar.keys(key, delimiter=':')", "Return the keys of a map in the pillar.", keys, "web:sites"},
    {"pillar.ls(*args)", "Return the keys of the pillar.", pillar_ls},
    {"pillar.obfuscate(*args, **kwargs)",
     "The same as ``pillar.items``, with the name of its type in place of each value.", obfuscate},
    {"pillar.raw(key=None)", "Return the whole pillar, or the value of one of its keys.", raw, "\nkey=roles"},
};

}  // namespace
}  // namespace data_modules

std::span<const Function> data_functions() {
  return data_modules::kFunctions;
}

}  // namespace rest_fcgi::embedded
