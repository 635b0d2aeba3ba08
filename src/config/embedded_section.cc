// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "config/sections.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::config {
namespace {

constexpr std::string_view kMinionForms = "ids, or maps such as web1: {grains: {role: web}, pillar: {}}";
constexpr std::size_t kLongestId = 255;

/// A minion id is safe in a path, a target and a log line.
bool is_minion_id(std::string_view id) {
  if (id.empty() || id.size() > kLongestId || id == "." || id == "..") return false;
  return std::none_of(id.begin(), id.end(), [](char c) {
    return c == '/' || c == '\\' || static_cast<unsigned char>(c) <= 0x20 || c == 0x7F;
  });
}

/// Reports a mistake for a number that JSON cannot hold.
Json json_of(Reader& reader, const Node& node, std::string_view key) {
  return yaml::to_json(
      node, [&](const Node& unfit) { reader.unexpected(unfit, key, "numbers that JSON can hold"); });
}

/// Borrows `findings`.
class MinionReader {
 public:
  MinionReader(std::string path, Findings& findings) : path_(std::move(path)), findings_(findings) {}

  void read_list(const Node& list) {
    for (const Node& item : list.items) {
      if (item.is(Kind::map) && item.entries.size() == 1) {
        add(item.entries.front());
      } else if (item.is(Kind::map) || item.is(Kind::list) || item.is(Kind::null)) {
        findings_.unexpected(item, path_, kMinionForms);
      } else {
        add_id(item.place, item.text);
      }
    }
  }

  void add(const Entry& entry) {
    embedded::MinionOptions& minion = add_id(entry.place, entry.key);
    const Node& value = entry.value;
    if (value.is(Kind::null)) return;
    const std::string path = format("{}: {}", path_, entry.key);
    if (!value.is(Kind::map)) return findings_.unexpected(value, path, "a map with grains and pillar");
    Reader reader(&value, path, findings_);
    if (const Node* grains = reader.map("grains")) {
      minion.grains = json_of(reader, *grains, "grains");
    }
    if (const Node* pillar = reader.map("pillar")) {
      minion.pillar = json_of(reader, *pillar, "pillar");
    }
    reader.refuse_unknown_keys();
  }

  [[nodiscard]] std::vector<embedded::MinionOptions> take() { return std::move(minions_); }

 private:
  embedded::MinionOptions& add_id(const Place& place, const std::string& id) {
    if (!is_minion_id(id)) {
      findings_.add(place, path_,
                    format("found the id {}, expected up to {} characters without slashes and spaces",
                           in_quotes(id), kLongestId));
    }
    if (std::any_of(minions_.begin(), minions_.end(), [&id](const auto& other) { return other.id == id; })) {
      findings_.add(place, path_, format("found the id {} twice, expected each id once", in_quotes(id)));
    }
    minions_.emplace_back().id = id;
    return minions_.back();
  }

  std::string path_;
  Findings& findings_;
  std::vector<embedded::MinionOptions> minions_;
};

using Named = std::pair<std::string, std::string>;  // A configuration key and its value, which is a path.

bool is_within(const std::string& path, const std::string& folder) {
  return path == folder || folder == "/" || path.starts_with(folder + "/");
}

/// Users of the API must not be able to write to these folders.
std::vector<Named> own_folders(const Settings& settings) {
  std::vector<Named> folders;
  for (const std::string& folder : settings.embedded.modules.module_dirs) {
    folders.emplace_back("embedded: module_dirs", folder);
  }
  if (!settings.store.path.empty()) {
    folders.emplace_back("cachedir", std::filesystem::path(settings.store.path).parent_path().string());
  }
  return folders;
}

std::vector<Named> own_files(const Settings& settings) {
  std::vector<Named> files = {{"log_file", settings.log.file},
                              {"audit_log", settings.log.audit_file},
                              {"rest_cherrypy: log_access_file", settings.log.access_file},
                              {"rest_cherrypy: log_error_file", settings.log.error_file}};
  for (const auth::EauthOptions& eauth : settings.auth.external_auth) {
    for (const auto& [name, value] : eauth.settings) {
      if (name == "filename") files.emplace_back(format("external_auth: {}: ^filename", eauth.name), value);
    }
  }
  return files;
}

/// Each of 64 hosts can make 15,000 job ids a second.
constexpr std::int64_t kMostHosts = 64;

/// The default of `host_number` depends on the host and user, and is the same at each start.
std::int64_t default_number() {
  std::string name;
  if (!std::getline(std::ifstream("/etc/machine-id"), name)) {
    name.assign(HOST_NAME_MAX + 1, '\0');
    ::gethostname(name.data(), name.size() - 1);
  }
  const std::size_t hash = std::hash<std::string>{}(name + '/' + std::to_string(::geteuid()));
  return static_cast<std::int64_t>(hash % kMostHosts);
}

/// `path` is the key that messages show.
std::vector<embedded::MinionOptions> read_minions(const Node& minions, const std::string& path,
                                                  Findings& findings) {
  MinionReader reader(path, findings);
  if (minions.is(Kind::list)) {
    reader.read_list(minions);
  } else if (minions.is(Kind::map)) {
    for (const Entry& entry : minions.entries) reader.add(entry);
  } else if (!minions.is(Kind::null)) {
    findings.unexpected(minions, path, format("a list of {}", kMinionForms));
  }
  return reader.take();
}

/// Reports a mistake if `file_root` overlaps a trusted folder, because API users can write to `file_root`.
void check_file_root(Reader& embedded, const Settings& settings) {
  const Node* node = embedded.value("file_root");
  if (node == nullptr || settings.embedded.modules.file_root.empty()) return;
  const std::string root = normal(settings.embedded.modules.file_root);
  const auto complain = [&](const std::string& key, const std::string& path) {
    embedded.unexpected(*node, "file_root", format("a folder that does not overlap {} ({})", key, path));
  };
  for (const auto& [key, path] : own_folders(settings)) {
    if (path.empty()) continue;
    if (is_within(normal(path), root) || is_within(root, normal(path))) return complain(key, path);
  }
  for (const auto& [key, path] : own_files(settings)) {
    if (!path.empty() && is_within(normal(path), root)) return complain(key, path);
  }
}

void read_script_modules(Reader& embedded, embedded::ModuleOptions& options) {
  if (const Node* folders = embedded.list("module_dirs")) {
    for (const Node& folder : folders->items) {
      if (folder.is(Kind::string) && folder.text.starts_with('/')) {
        options.module_dirs.push_back(folder.text);
      } else {
        embedded.unexpected(folder, "module_dirs", "paths that begin with a slash");
      }
    }
  }
  embedded.seconds("script_timeout", options.script_timeout, kTenthOfASecond, kDay);
  embedded.text("script_user", options.script_user);
  embedded.program_or_socket("run_helper", options.run_helper);
  embedded.absolute_path("python", options.python);
  const Node* node = embedded.value("python");
  if (node == nullptr || !options.python.starts_with('/')) return;
  options.python_key = mistake_at(node->place, embedded.path_to("python")).message;
  std::error_code error;
  const bool is_file = std::filesystem::is_regular_file(options.python, error);
  if (is_file && ::access(options.python.c_str(), X_OK) != 0) error.assign(errno, std::generic_category());
  if (is_file && !error) return;
  embedded.unexpected(*node, "python",
                      format("the absolute path of the program of Python 3.9 or newer: {}",
                             error ? error.message() : "the path is not a file"));
}

}  // namespace

void read_embedded_section(Reader& section, Settings& settings) {
  embedded::Options& options = settings.embedded;
  Reader embedded = section.section("embedded");
  if (const Node* minions = embedded.value("minions")) {
    options.minions = read_minions(*minions, embedded.path_to("minions"), embedded.findings());
  }
  embedded.at_start().count("max_workers", options.max_workers, kThreads);
  embedded.at_start().count("max_queued", options.max_queued, {0, 1000000});
  embedded.absolute_path("file_root", options.modules.file_root);
  read_script_modules(embedded, options.modules);
  std::size_t number = static_cast<std::size_t>(default_number());
  section.count("host_number", number, {0, kMostHosts - 1});
  if (settings.returner.etcd.is_chosen) {
    settings.embedded.jid_share = {kMostHosts, static_cast<std::int64_t>(number)};
  }
  section.note_start_key("host_number", settings.embedded.jid_share.mine);
  check_file_root(embedded, settings);
  embedded.refuse_unknown_keys();
}

}  // namespace rest_fcgi::config
