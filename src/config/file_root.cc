// SPDX-License-Identifier: MIT
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "config/sections.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::config {
namespace {

using Named = std::pair<std::string, std::string>;  // a key, and the path that it has

std::string normal(const std::string& path) {
  std::string text = std::filesystem::path(path).lexically_normal().string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

bool is_within(const std::string& path, const std::string& folder) {
  return path == folder || folder == "/" || path.starts_with(folder + "/");
}

/// Folders in which nothing but this program, or the host's administrator, may write.
std::vector<Named> own_folders(const Settings& settings) {
  std::vector<Named> folders = {{"token_dir", settings.auth.token_dir},
                                {"embedded: proc_dir", settings.embedded.proc_dir}};
  for (const std::string& folder : settings.embedded.modules.module_dirs) {
    folders.emplace_back("embedded: module_dirs", folder);
  }
  const std::string& database = settings.returner.sqlite3.database;
  if (!database.empty()) {
    folders.emplace_back("sqlite3.database", std::filesystem::path(database).parent_path().string());
  }
  return folders;
}

std::vector<Named> own_files(const Settings& settings) {
  std::vector<Named> files = {{"log_file", settings.log.file},
                              {"audit_log", settings.log.audit_file},
                              {"login_guard: file", settings.auth.login_guard.file}};
  for (const auth::EauthOptions& eauth : settings.auth.external_auth) {
    for (const auto& [name, value] : eauth.settings) {
      if (name == "filename") files.emplace_back(format("external_auth: {}: ^filename", eauth.name), value);
    }
  }
  return files;
}

}  // namespace

void check_file_root(Reader embedded, const Settings& settings) {
  const Node* node = embedded.value("file_root");
  if (node == nullptr || settings.embedded.modules.file_root.empty()) return;
  const std::string root = normal(settings.embedded.modules.file_root);
  const auto complain = [&](const std::string& key, const std::string& path) {
    embedded.unexpected(*node, "file_root", format("a folder apart from {}, {}", key, path));
  };
  for (const auto& [key, path] : own_folders(settings)) {
    if (path.empty()) continue;
    if (is_within(normal(path), root) || is_within(root, normal(path))) return complain(key, path);
  }
  for (const auto& [key, path] : own_files(settings)) {
    if (!path.empty() && is_within(normal(path), root)) return complain(key, path);
  }
}

}  // namespace rest_fcgi::config
