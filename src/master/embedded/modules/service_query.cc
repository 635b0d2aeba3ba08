// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "master/embedded/host/host_text.h"
#include "master/embedded/modules/replies.h"
#include "master/embedded/modules/service_module.h"
#include "master/embedded/modules/service_units.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/pattern.h"

namespace rest_fcgi::embedded::service_module {
namespace {

Reply sorted_names(const std::set<std::string>& names) {
  return written([&names](JsonWriter& writer) {
    writer.begin_array();
    for (const std::string& name : names) writer.string(name);
    writer.end_array();
  });
}

/// The units of a list of systemctl's whose column `column` says `state`.
std::variant<std::set<std::string>, Raised> units_with(const Systemctl& systemctl,
                                                       std::vector<std::string> words, std::size_t column,
                                                       std::string_view state) {
  words.insert(words.end(), {"--full", "--no-legend", "--plain"});
  const auto ran = systemctl.run(std::move(words));
  if (const auto* raised = std::get_if<Raised>(&ran)) return *raised;
  std::set<std::string> names;
  for (const std::string_view line : lines_of(std::get<SystemctlResult>(ran).output)) {
    const std::vector<std::string_view> columns = words_of(line);
    if (columns.size() <= column || columns[column] != state) continue;
    if (auto name = service_name(columns[0])) names.insert(*std::move(name));
  }
  return names;
}

/// The units whose files are in a state, and the init scripts where `add_scripts` says so of their being
/// enabled.
template <class AddScripts>
Reply with_state(const Call& call, std::string_view state, AddScripts add_scripts) {
  const Systemctl systemctl(call);
  if (auto missing = systemctl.missing()) return *std::move(missing);
  auto units = units_with(systemctl, {"list-unit-files"}, 1, state);
  if (auto* raised = std::get_if<Raised>(&units)) return std::move(*raised);
  auto& names = std::get<std::set<std::string>>(units);
  for (const std::string& script : sysv_services(systemctl)) {
    if (add_scripts(is_sysv_enabled(systemctl, script))) names.insert(script);
  }
  return sorted_names(names);
}

std::set<std::string> all_services(const Systemctl& systemctl) {
  std::set<std::string> all = systemd_services(systemctl);
  all.merge(sysv_services(systemctl));
  return all;
}

/// What systemctl's exit status says about the unit that is named, as `answer` reads it.
template <class Answer>
Reply ask(const Call& call, std::vector<std::string> words, Answer answer) {
  const Systemctl systemctl(call);
  if (auto missing = systemctl.missing()) return *std::move(missing);
  auto unit = unit_name(call.arguments[0].python_str());
  if (auto* raised = std::get_if<Raised>(&unit)) return std::move(*raised);
  const auto ran = systemctl.run(std::move(words), std::get<std::string>(unit));
  if (const auto* raised = std::get_if<Raised>(&ran)) return *raised;
  return answer(systemctl, std::get<SystemctlResult>(ran));
}

Reply is_available(const Call& call, bool wanted) {
  // 4 stands for a unit that is not known.
  return ask(call, {"status", "--lines=0"}, [wanted](const Systemctl&, const SystemctlResult& result) {
    return Returned{Json::boolean((result.retcode >= 0 && result.retcode < 4) == wanted)};
  });
}

Reply is_enabled(const Call& call, bool wanted) {
  return ask(call, {"is-enabled"}, [&](const Systemctl& systemctl, const SystemctlResult& result) {
    const std::string name = call.arguments[0].python_str();
    const bool enabled = result.retcode == 0 ||
                         (sysv_services(systemctl).count(name) != 0 && is_sysv_enabled(systemctl, name));
    return Returned{Json::boolean(enabled == wanted)};
  });
}

bool is_pattern(std::string_view name) {
  const std::size_t open = name.find('[');
  return name.find_first_of("*?") != std::string_view::npos ||
         (open != std::string_view::npos && name.find(']', open + 2) != std::string_view::npos);
}

Reply status_of_all(const Systemctl& systemctl, std::string_view pattern) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const std::string& service : all_services(systemctl)) {
    if (!glob_match(pattern, service)) continue;
    const auto unit = unit_name(service);
    if (std::holds_alternative<Raised>(unit)) continue;
    const auto ran = systemctl.run({"is-active"}, std::get<std::string>(unit));
    if (const auto* raised = std::get_if<Raised>(&ran)) return *raised;
    writer.key(service).boolean(std::get<SystemctlResult>(ran).retcode == 0);
  }
  writer.end_object();
  return Returned{Json::trusted(std::move(text))};
}

void write_property(JsonWriter& writer, std::string_view key, std::string_view value) {
  writer.key(key);
  if (value.starts_with('{')) {
    std::string text(value);
    std::erase_if(text, [](char c) { return c == '{' || c == '}'; });
    writer.begin_object();
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view item = rest.substr(0, rest.find(" ; "));
      rest.remove_prefix(std::min(item.size() + 3, rest.size()));
      const std::size_t equals = std::min(item.find('='), item.size());
      std::string_view item_value = item.substr(std::min(equals + 1, item.size()));
      item_value = item_value.substr(0, item_value.find('='));
      writer.key(stripped(item.substr(0, equals))).string(stripped(item_value));
    }
    writer.end_object();
  } else if (key == "Before" || key == "After" || key == "Wants") {
    writer.begin_array();
    for (const std::string_view word : words_of(value)) writer.string(word);
    writer.end_array();
  } else {
    writer.string(value);
  }
}

}  // namespace

Reply get_all(const Call& call) {
  const Systemctl systemctl(call);
  if (auto missing = systemctl.missing()) return *std::move(missing);
  return sorted_names(all_services(systemctl));
}

Reply get_enabled(const Call& call) {
  return with_state(call, "enabled", [](bool enabled) { return enabled; });
}

Reply get_disabled(const Call& call) {
  return with_state(call, "disabled", [](bool enabled) { return !enabled; });
}

Reply get_static(const Call& call) {
  return with_state(call, "static", [](bool) { return false; });
}

Reply get_running(const Call& call) {
  const Systemctl systemctl(call);
  if (auto missing = systemctl.missing()) return *std::move(missing);
  auto units = units_with(systemctl, {"list-units"}, 3, "running");
  if (auto* raised = std::get_if<Raised>(&units)) return std::move(*raised);
  return sorted_names(std::get<std::set<std::string>>(units));
}

Reply available(const Call& call) {
  return is_available(call, true);
}

Reply missing(const Call& call) {
  return is_available(call, false);
}

Reply status(const Call& call) {
  const std::string name = call.arguments[0].python_str();
  if (is_pattern(name)) {
    const Systemctl systemctl(call);
    if (auto missing = systemctl.missing()) return *std::move(missing);
    return status_of_all(systemctl, name);
  }
  return ask(call, {"is-active"}, [](const Systemctl&, const SystemctlResult& result) {
    return Returned{Json::boolean(result.retcode == 0)};
  });
}

Reply enabled(const Call& call) {
  return is_enabled(call, true);
}

Reply disabled(const Call& call) {
  return is_enabled(call, false);
}

Reply masked(const Call& call) {
  const Systemctl systemctl(call);
  if (auto missing = systemctl.missing()) return *std::move(missing);
  auto unit = unit_name(call.arguments[0].python_str());
  if (auto* raised = std::get_if<Raised>(&unit)) return std::move(*raised);
  return Returned{
      Json::boolean(is_masked(systemctl, std::get<std::string>(unit), python_bool(call.arguments[1])))};
}

Reply show(const Call& call) {
  return ask(call, {"show"}, [](const Systemctl&, const SystemctlResult& result) -> Reply {
    // Of a property that comes twice the last one counts, in the place of the first.
    std::vector<std::pair<std::string_view, std::string_view>> properties;
    for (const std::string_view line : lines_of(result.output)) {
      const std::string_view key = line.substr(0, line.find('='));
      const std::string_view value = line.substr(std::min(key.size() + 1, line.size()));
      const auto other = std::find_if(properties.begin(), properties.end(),
                                      [key](const auto& property) { return property.first == key; });
      if (other == properties.end()) {
        properties.emplace_back(key, value);
      } else {
        other->second = value;
      }
    }
    std::string text;
    JsonWriter writer(text);
    writer.begin_object();
    for (const auto& [key, value] : properties) write_property(writer, key, value);
    writer.end_object();
    return Returned{Json::trusted(std::move(text)), result.retcode};
  });
}

}  // namespace rest_fcgi::embedded::service_module
