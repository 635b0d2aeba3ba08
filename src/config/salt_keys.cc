// SPDX-License-Identifier: MIT
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "config/names.h"
#include "config/sections.h"

namespace rest_fcgi::config {
namespace {

constexpr std::chrono::milliseconds kTenthOfASecond{100};
constexpr std::chrono::seconds kDay{86400};
constexpr std::int64_t kYearInSeconds = 31536000;

std::string client_names() {
  std::vector<std::string> names;
  for (const lowstate::Client client : lowstate::kClients) names.emplace_back(lowstate::name_of(client));
  return joined(names, ", ");
}

void read_clients(Reader& top, client::Options& options) {
  static constexpr std::string_view kKey = "netapi_enable_clients";
  const Node* list = top.list(kKey);
  if (list == nullptr) return;
  for (const Node& item : list->items) {
    const auto client = item.is(Kind::string) ? lowstate::client_named(item.text) : std::nullopt;
    if (client) {
      options.enabled.push_back(*client);
    } else {
      top.unexpected(item, kKey, format("names of clients: {}", client_names()));
    }
  }
}

std::string without_end_slash(const std::filesystem::path& path) {
  std::string text = path.lexically_normal().string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

/// Salt's `prepend_root_dir`: each path lies below `root_dir`, written so or not.
std::string below(const std::string& root_dir, const std::string& path) {
  std::error_code ignored;
  const std::string root = without_end_slash(std::filesystem::absolute(root_dir, ignored));
  if (root != "/" && path.starts_with(root + "/")) return without_end_slash(path);
  return without_end_slash(root + "/" + path);
}

std::string read_text(Reader& top, std::string_view key, std::string value) {
  top.text(key, value);
  return value;
}

void read_tokens(Reader& top, const std::string& root_dir, const std::string& cachedir,
                 auth::Options& options) {
  options.token_dir_is_default = top.value("token_dir") == nullptr;
  const std::string token_dir = read_text(top, "token_dir", cachedir + "/tokens");
  if (!token_dir.empty()) options.token_dir = below(root_dir, token_dir);
  top.whole_seconds("token_expire", options.token_expire, {1, kYearInSeconds});
}

/// Salt refuses these users and functions before it looks at anything else; whoever relies on that has to
/// know.
void warn_of_blacklist(Reader& top, std::vector<std::string>& warnings) {
  const Node* blacklist = top.value("publisher_acl_blacklist");
  if (blacklist == nullptr || blacklist->entries.empty()) return;
  warnings.push_back(mistake_at(blacklist->place,
                                "publisher_acl_blacklist: is not enforced here; what it refuses is "
                                "allowed where external_auth allows it")
                         .message);
}

std::string read_cachedir(Reader& top) {
  return read_text(top, "cachedir", "/var/cache/salt/master");
}

/// Those that are about what the engine `embedded` does by itself, and a real master does for its own.
void read_own_keys(Reader& top, const std::string& root_dir, Settings& settings) {
  top.secret("sharedsecret", settings.auth.sharedsecret);
  top.text("auth.pam.service", settings.auth.pam.service);
  const std::string cachedir = read_cachedir(top);
  read_tokens(top, root_dir, cachedir, settings.auth);
  read_job_caches(top, below(root_dir, cachedir + "/rest_fcgi/jobs.db"), settings);
  settings.embedded.proc_dir = below(root_dir, cachedir + "/proc");
  warn_of_blacklist(top, settings.warnings);
}

}  // namespace

void read_salt_keys(Reader& top, Settings& settings) {
  client::Options& client = settings.client;
  read_clients(top, client);
  top.seconds("timeout", client.timeout, kTenthOfASecond, kDay);
  top.seconds("gather_job_timeout", client.gather_job_timeout, kTenthOfASecond, kDay);
  top.seconds("rest_timeout", client.rest_timeout, kTenthOfASecond, kDay);
  top.log_level("log_level", settings.log.level);
  read_external_auth(top, settings);
  const std::string root_dir = read_text(top, "root_dir", "/");
  auto nodegroups = read_nodegroups(top.map("nodegroups"), top.mistakes());
  if (settings.engine == Engine::salt) {
    settings.salt.nodegroups = std::move(nodegroups);
    read_real_master(top, below(root_dir, read_text(top, "sock_dir", "/var/run/salt/master")), settings);
  } else {
    settings.embedded.nodegroups = std::move(nodegroups);
    read_own_keys(top, root_dir, settings);
  }
}

void read_recorded_jobs(Reader& section, Reader& top, Settings& settings) {
  constexpr std::string_view key = "ext_job_cache";
  const Node* node = section.value(key);
  if (node == nullptr) return;
  if (settings.engine != Engine::salt) {
    return section.mistakes().add(
        node->place, section.path_to(key),
        "is for engine: salt; the embedded engine goes by ext_job_cache at the top");
  }
  if (!node->is(Kind::string) || node->text != "etcd") return section.unexpected(*node, key, "etcd");
  settings.returner.ext_job_cache = {node->text};
  const std::string root_dir = read_text(top, "root_dir", "/");
  read_etcd_returner(top, below(root_dir, read_cachedir(top) + "/rest_fcgi/etcd"), settings.returner.etcd,
                     settings.warnings);
}

}  // namespace rest_fcgi::config
