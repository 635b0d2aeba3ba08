// SPDX-License-Identifier: MIT

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "config/sections.h"
#include "rest_fcgi/core/address.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::config {
namespace {

constexpr std::string_view kNodegroupForms =
    "a compound target such as 'web* and G@os:Debian', or a list of its words";

/// Salt reads every scalar except null as one word of a nodegroup.
bool is_word(const Node& node) {
  return !node.is(Kind::list) && !node.is(Kind::map) && !node.is(Kind::null);
}

std::vector<std::string> read_words(const Node& node, const std::string& path, Findings& findings) {
  if (node.is(Kind::string)) {
    const auto found = split_words(node.text);
    return {found.begin(), found.end()};
  }
  std::vector<std::string> words;
  if (!node.is(Kind::list)) findings.unexpected(node, path, kNodegroupForms);
  for (const Node& item : node.items) {
    if (is_empty(item)) continue;
    if (is_word(item)) {
      words.push_back(item.text);
    } else {
      findings.unexpected(item, path, kNodegroupForms);
    }
  }
  return words;
}

constexpr std::int64_t kYearInSeconds = 31536000;

void read_clients(Reader& top, client::Options& options) {
  static constexpr std::string_view kKey = "netapi_enable_clients";
  const Node* list = top.value(kKey);
  if (list == nullptr) return;
  const auto known = names_of(lowstate::kClients);
  for (const Node& item : items_of(*list)) {
    if (is_empty(item)) continue;
    if (!is_word(item)) {
      top.unexpected(item, kKey, format("names of clients: {}", joined(known)));
    } else if (const auto client = lowstate::client_named(item.text)) {
      options.enabled.push_back(*client);
    } else {
      top.findings().warn(item.place, format("{}: unknown client {}, expected {}", kKey, in_quotes(item.text),
                                             joined(known)));
    }
  }
}

/// Returns the path below `root_dir`, like Salt's `prepend_root_dir`.
std::string below(const std::string& root_dir, const std::string& path) {
  std::error_code ignored;
  const std::string root = normal(std::filesystem::absolute(root_dir, ignored));
  if (root != "/" && path.starts_with(root + "/")) return normal(path);
  return normal(root + "/" + path);
}

std::string read_text(Reader& top, std::string_view key, std::string value) {
  top.text(key, value);
  return value;
}

/// Reads `token_expire_user_override`: a boolean, or a map from back ends to users. As in Salt, other values
/// count as false.
void read_token_life_rule(Reader& top, auth::TokenLifeRule& rule) {
  static constexpr std::string_view kKey = "token_expire_user_override";
  const Node* node = top.value(kKey);
  if (node == nullptr) return;
  if (node->is(Kind::boolean)) return top.flag(kKey, rule.all_users);
  for (const Entry& eauth : node->entries) {
    for (const Node& user : items_of(eauth.value)) {
      if (!user.text.empty()) rule.users.emplace(eauth.key, user.text);
    }
  }
}

/// Keys for features of a Salt master that the engine `embedded` does not have.
constexpr std::string_view kKeysOfMasters =
    "reactor engines schedule event_return peer peer_run publisher_acl client_acl ext_pillar master_tops "
    "external_nodes pillar_roots file_roots gitfs_remotes runner_dirs syndic_master client_acl_blacklist "
    "presence_events state_events order_masters extension_modules module_dirs fileserver_backend winrepo_dir "
    "autosign_file mine_functions beacons";

std::string read_cachedir(Reader& top) {
  return read_text(top, "cachedir", "/var/cache/salt/master");
}

/// Returns systemd's state directory, or an empty text.
std::string state_directory() {
  const char* given = std::getenv("STATE_DIRECTORY");
  const std::string_view folders = given != nullptr ? given : "";
  const std::string folder(folders.substr(0, folders.find(':')));
  return folder.starts_with('/') ? folder : std::string();
}

/// With the engine `salt`, only the master uses these keys.
void read_own_keys(Reader& top, const std::string& root_dir, Settings& settings) {
  top.secret("sharedsecret", settings.auth.sharedsecret);
  top.text("auth.pam.service", settings.auth.pam.service);
  const std::string cachedir = read_cachedir(top);
  if (top.value("cachedir") == nullptr) settings.default_cachedir = below(root_dir, cachedir);
  settings.store.path = below(root_dir, cachedir + "/rest_fcgi/state.db");
  top.whole_seconds("token_expire", settings.auth.token_expire, {1, kYearInSeconds});
  read_token_life_rule(top, settings.auth.token_expire_user_override);
  read_job_caches(top, settings);
  const Node* blacklist = top.value("publisher_acl_blacklist");
  if (blacklist == nullptr || blacklist->entries.empty()) return;
  top.findings().warn(
      blacklist->place,
      "publisher_acl_blacklist: this key has no effect; only external_auth decides what users may do");
}

/// The key `interface` has the address on which the master listens. For 0.0.0.0 and `::`, returns the
/// loopback address.
std::string read_master_address(Reader& top) {
  constexpr std::string_view kKey = "interface";
  const std::string interface(without_brackets(read_text(top, kKey, "0.0.0.0")));
  if (!is_host(interface)) {
    top.unexpected(*top.value(kKey), kKey, kHostExpected);
  }
  if (interface == "0.0.0.0") return "127.0.0.1";
  return interface == "::" ? "::1" : interface;
}

/// If `sock_dir` is much longer than `cachedir`, returns a folder in `cachedir`, as Salt's
/// `apply_master_config` does.
std::string read_sock_dir(Reader& top) {
  constexpr std::size_t kMostBeyond = 10;
  const std::string sock_dir = read_text(top, "sock_dir", "/var/run/salt/master");
  const std::string cachedir = read_cachedir(top);
  return sock_dir.size() > cachedir.size() + kMostBeyond ? cachedir + "/.salt-unix" : sock_dir;
}

/// The masters of a cluster (`cluster_id`, since Salt 3007) keep the keys of minions in `cluster_pki_dir`.
std::string read_pki_dir(Reader& top) {
  const Node* cluster = top.value("cluster_id");
  const bool is_cluster = cluster != nullptr && !is_empty(*cluster);
  const std::string pki_dir = read_text(top, "pki_dir", "/etc/salt/pki/master");
  const std::string of_cluster = read_text(top, "cluster_pki_dir", pki_dir);
  return is_cluster ? of_cluster : pki_dir;
}

void read_port(Reader& top, std::string_view key, unsigned& port) {
  std::size_t number = port;
  top.at_start().count(key, number, kPorts);
  port = static_cast<unsigned>(number);
}

/// Reads the number of workers: `worker_threads`, or the size of the pool `*` in `worker_pools` (Salt 3008).
void read_workers(Reader& top, std::size_t& workers) {
  constexpr Range kWorkers{1, 1024};
  top.count("worker_threads", workers, kWorkers);
  const Node* pools = top.map("worker_pools");
  if (pools == nullptr) return;
  for (const Entry& entry : pools->entries) {
    if (!entry.value.is(Kind::map)) continue;
    Reader pool(&entry.value, format("worker_pools: {}", entry.key), top.findings(), Style::lenient);
    const Node* commands = pool.list("commands");
    const bool takes_all =
        commands != nullptr && std::any_of(commands->items.begin(), commands->items.end(),
                                           [](const Node& item) { return item.text == "*"; });
    if (takes_all) pool.count("worker_count", workers, kWorkers);
  }
}

/// Returns the groups of `nodegroups`, which is a map, or a list of maps (Salt's `repack_dictlist`).
std::vector<const Entry*> nodegroups_in(const Node& nodegroups, Findings& findings) {
  std::vector<const Entry*> groups;
  const std::span<const Node> maps = items_of(nodegroups);
  if (std::any_of(maps.begin(), maps.end(), [](const Node& map) { return !map.is(Kind::map); }))
    findings.unexpected(nodegroups, "nodegroups", "a map of names to compound targets");
  for (const Node& map : maps) {
    for (const Entry& entry : map.entries) groups.push_back(&entry);
  }
  return groups;
}

/// Reads the words of each nodegroup; the engine checks them. With engine: salt, a mistake is only a warning,
/// because the Salt master starts with such a group, too. The group then has no words, so calls cannot use
/// it.
std::vector<master::NodegroupOptions> read_nodegroups(Reader& top, Engine engine) {
  std::vector<master::NodegroupOptions> groups;
  const Node* nodegroups = top.value("nodegroups");
  if (nodegroups == nullptr) return groups;
  const auto warn_of = [&](const Findings& found) {
    if (!found.mistake()) return false;
    if (engine == Engine::embedded) {
      top.findings().add(*found.mistake());
    } else {
      top.findings().warn(format("{}; calls cannot use this node group", found.mistake()->message));
    }
    return true;
  };
  Findings of_all;
  const std::vector<const Entry*> entries = nodegroups_in(*nodegroups, of_all);
  warn_of(of_all);
  for (const Entry* entry : entries) {
    if (is_empty(entry->value)) continue;
    Findings found;
    auto words = read_words(entry->value, format("nodegroups: {}", entry->key), found);
    if (warn_of(found)) words.clear();
    groups.push_back({entry->key, std::move(words)});
  }
  return groups;
}

void read_real_master(Reader& top, const std::string& root_dir, Settings& settings) {
  salt::Options& options = settings.salt;
  const std::string sock_dir = below(root_dir, read_sock_dir(top));
  const std::string cachedir = below(root_dir, read_cachedir(top));
  options.pki_dir = below(root_dir, read_pki_dir(top));
  top.note_start_key("pki_dir", options.pki_dir);
  options.token_dir = cachedir + "/tokens";  // Salt ignores the key `token_dir`, so it is not read.
  const std::string given = state_directory();
  settings.store = {(given.empty() ? cachedir + "/rest_fcgi" : given) + "/state.db", true};
  options.interface = read_master_address(top);
  top.note_start_key("interface", options.interface);
  read_port(top, "ret_port", options.ret_port);
  read_port(top, "tcp_master_pub_port", options.tcp_master_pub_port);
  top.choice("transport", {"zeromq"});
  read_port(top, "tcp_master_pull_port", options.tcp_master_pull_port);
  options.sock_dir = sock_dir;
  top.note_start_key("sock_dir", options.sock_dir);
  if (const auto mode = top.choice("ipc_mode", {"ipc", "tcp"})) options.ipc_mode_tcp = *mode == "tcp";
  top.note_start_key("ipc_mode", options.ipc_mode_tcp);
  read_workers(top, options.worker_threads);
  top.note_start_key("worker_threads", options.worker_threads);
  top.text("ext_job_cache", options.ext_job_cache);
  top.flag("order_masters", options.order_masters);
  std::chrono::milliseconds syndic_wait = std::chrono::seconds(5);
  top.seconds("syndic_wait", syndic_wait, kTenthOfASecond, kHour);
  if (options.order_masters) settings.client.syndic_wait = syndic_wait;
}

}  // namespace

std::string normal(const std::filesystem::path& path) {
  std::string text = path.lexically_normal().string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

void warn_of_keys_of_masters(const Node& root, Findings& findings) {
  std::vector<std::string_view> found;
  const Entry* first = nullptr;
  for (const std::string_view key : split_words(kKeysOfMasters)) {
    const Entry* entry = root.find(key);
    if (entry == nullptr || is_empty(entry->value) || is_false(entry->value)) continue;
    if (first == nullptr) first = entry;
    found.push_back(key);
  }
  if (first == nullptr) return;
  findings.warn(first->value.place, format("{}: no effect with the embedded engine; only a Salt master "
                                           "(rest_fcgi: engine: salt) has these features",
                                           joined(found)));
}

void read_salt_keys(Reader& top, Settings& settings) {
  client::Options& client = settings.client;
  read_clients(top, client);
  top.seconds("timeout", client.timeout, kTenthOfASecond, kDay);
  top.seconds("gather_job_timeout", client.gather_job_timeout, kTenthOfASecond, kDay);
  top.seconds("rest_timeout", client.rest_timeout, kTenthOfASecond, kDay);
  top.log_level("log_level", settings.log.level);
  read_external_auth(top, settings);
  const std::string root_dir = read_text(top, "root_dir", "/");
  auto nodegroups = read_nodegroups(top, settings.engine);
  if (settings.engine == Engine::salt) {
    settings.salt.nodegroups = std::move(nodegroups);
    read_real_master(top, root_dir, settings);
  } else {
    settings.embedded.nodegroups = std::move(nodegroups);
    read_own_keys(top, root_dir, settings);
  }
}

void make_cachedir(const Settings& settings) {
  const std::string& cachedir = settings.default_cachedir;
  if (cachedir.empty()) return;
  const std::filesystem::path above = std::filesystem::path(cachedir).parent_path();
  std::error_code ignored;
  const bool was_there = std::filesystem::exists(above, ignored);
  const bool is_made = std::filesystem::create_directories(cachedir, ignored);
  // Lets other users enter the folder, because Salt's programs may run as another user.
  if (is_made && !was_there) std::filesystem::permissions(above, std::filesystem::perms(0755), ignored);
}

void read_state_dir(Reader& section, Reader& top, Settings& settings) {
  constexpr std::string_view kKey = "state_dir";
  std::string folder;
  section.at_start().absolute_path(kKey, folder);
  if (!folder.empty()) settings.store = {normal(folder) + "/state.db", false};
  // The masters of a cluster (`cluster_id`, since Salt 3007) share `cachedir`.
  const Node* cluster = top.value("cluster_id");
  const bool is_cluster = settings.engine == Engine::salt && cluster != nullptr && !is_empty(*cluster);
  if (!is_cluster || !folder.empty() || !state_directory().empty()) return;
  top.findings().warn(
      cluster->place,
      "cluster_id: found the database of rest_fcgi in cachedir, which the masters of a cluster "
      "share, expected a folder on a local disk: set rest_fcgi: state_dir");
}

void read_recorded_jobs(Reader& section, Reader& top, Settings& settings) {
  constexpr std::string_view key = "ext_job_cache";
  const Node* node = section.value(key);
  if (node == nullptr) return;
  if (settings.engine != Engine::salt) {
    return section.findings().add(node->place, section.path_to(key),
                                  "found this key with the embedded engine, expected it only with engine: "
                                  "salt: use ext_job_cache at the top level");
  }
  if (!node->is(Kind::string) || node->text != "etcd") return section.unexpected(*node, key, "etcd");
  settings.returner.ext_job_cache = {node->text};
  read_etcd_returner(top, settings.returner.etcd);
}

void read_salt_section(Reader& section, Settings& settings) {
  section.flag("inline_login", settings.salt.inline_login);
  Reader ssh = section.section("salt_ssh");
  ssh.absolute_path("program", settings.salt.ssh.program);
  ssh.program_or_socket("run_helper", settings.salt.ssh.run_helper);
  ssh.refuse_unknown_keys();
}

}  // namespace rest_fcgi::config
