// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/reader.h"
#include "config/sections.h"
#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/http/addresses.h"

namespace rest_fcgi::config {
namespace {

using netapi::Module;

std::optional<Module> module_named(const Node& node) {
  if (!node.is(Kind::string)) return std::nullopt;
  const auto found = std::find(std::begin(netapi::kModules), std::end(netapi::kModules), node.text);
  if (found == std::end(netapi::kModules)) return std::nullopt;
  return static_cast<Module>(found - std::begin(netapi::kModules));
}

bool has(const std::vector<Module>& modules, Module module) {
  return std::find(modules.begin(), modules.end(), module) != modules.end();
}

void read_served(Reader& section, FrontEnds& front_ends) {
  static constexpr std::string_view kKey = "netapi";
  const Node* list = section.list(kKey);
  if (list == nullptr) return;
  front_ends.are_named = true;
  front_ends.served.clear();
  for (const Node& item : list->items) {
    const auto module = module_named(item);
    if (module && !has(front_ends.served, *module)) {
      front_ends.served.push_back(*module);
    } else {
      section.unexpected(item, kKey, format("some of {}, each once", joined(netapi::kModules)));
    }
  }
  if (front_ends.served.empty()) section.unexpected(*list, kKey, "at least one module");
}

bool is_mount_path(std::string_view path) {
  return path == "/" || (path.size() > 1 && path.front() == '/' && path.back() != '/' &&
                         path.find("//") == std::string_view::npos);
}

void read_mounts(Reader& section, FrontEnds& front_ends) {
  static constexpr std::string_view kKey = "mount";
  if (!front_ends.served.empty()) front_ends.mounts = {{"/", front_ends.served.front()}};
  const Node* map = section.value(kKey);
  if (map == nullptr) return;
  if (!map->is(Kind::map)) return section.unexpected(*map, kKey, "a map of paths to modules");
  front_ends.mounts.clear();
  for (const Entry& entry : map->entries) {
    const auto module = module_named(entry.value);
    if (!is_mount_path(entry.key)) {
      section.findings().add(entry.place, section.path_to(kKey),
                             format("found {}, expected a path such as / or /api", in_quotes(entry.key)));
    } else if (!module || !has(front_ends.served, *module)) {
      section.unexpected(entry.value, kKey, "a module that rest_fcgi: netapi names");
    } else {
      front_ends.mounts.emplace_back(entry.key, *module);
    }
  }
}

/// A list of texts, or one text for a list of one.
void read_texts(Reader& section, std::string_view key, std::vector<std::string>& texts,
                std::string_view expected) {
  const Node* node = section.value(key);
  if (node == nullptr) return;
  for (const Node& item : items_of(*node)) {
    const bool is_off = item.is(Kind::boolean) && !yaml::to_boolean(item.text);
    if (is_empty(item) || is_off) continue;
    if (!item.is(Kind::string)) return section.unexpected(item, key, expected);
    texts.push_back(item.text);
  }
}

/// Returns whether a list holds an item without a value, which `read_texts` leaves out.
bool has_empty_item(const Node& node) {
  return std::any_of(node.items.begin(), node.items.end(), [](const Node& item) { return is_empty(item); });
}

constexpr std::string_view kOrigins = "an origin such as https://gui.example.org, or a list of them";

constexpr std::string_view kAddresses = "a list of addresses or networks, such as [127.0.0.1, 10.0.0.0/8]";

void read_addresses(Reader& section, std::string_view key, std::vector<std::string>& texts) {
  read_texts(section, key, texts, kAddresses);
  const auto known = http::Addresses::make(texts);
  if (known) return;
  section.findings().add(section.value(key)->place, section.path_to(key),
                         known.error().message + "; '*' stands for all");
}

constexpr std::string_view kProxies =
    "auto, [] for no web server, or addresses of web servers such as [127.0.0.1, 10.0.0.0/8], not '*'";

/// Returns whether the value is an address, or a list of them that may have no items.
bool is_address_list(const Node& node) {
  const auto items = items_of(node);
  return std::all_of(items.begin(), items.end(), [](const Node& item) {
    return item.is(Kind::string) && !item.text.empty() && item.text != "*";
  });
}

/// Reads which web servers are believed about their clients: `auto`, or their addresses. `*` would have each
/// client believed about itself. An empty value is refused, since it does not say which of them is meant.
void read_proxies(Reader& section, FrontEnds& front_ends) {
  static constexpr std::string_view kKey = "trusted_proxies";
  const Node* node = section.value(kKey);
  std::vector<std::string>& proxies = front_ends.trusted_proxies.emplace();
  if (node == nullptr || (node->is(Kind::string) && node->text == "auto")) {
    front_ends.trusted_proxies.reset();
    section.note_start_key(kKey, "auto");
    return;
  }
  if (!is_address_list(*node)) return section.unexpected(*node, kKey, kProxies);
  read_texts(section, kKey, proxies, kProxies);
  const auto known = http::Addresses::make(proxies);
  if (!known) section.findings().add(node->place, section.path_to(kKey), known.error().message);
  section.note_start_key(kKey, joined(proxies));
}

/// Gives each port the addresses of web servers that it believes. `auto` stands for those of this host, where
/// all peers are on this host and TLS does not show that clients come by themselves.
void resolve_proxies(Settings& settings) {
  const auto& named = settings.front_ends.trusted_proxies;
  for (gateway::HttpOptions& port : settings.gateway.http) {
    if (named) {
      port.trusted_proxies = *named;
    } else if (http::is_loopback(port.host) && port.ssl_crt.empty()) {
      port.trusted_proxies.assign(std::begin(http::kLoopback), std::end(http::kLoopback));
    }
  }
}

void read_api_acl(Reader& section, std::optional<netapi::ApiAcl>& acl) {
  if (section.map("api_acl") == nullptr) return;
  Reader reader = section.section("api_acl");
  acl.emplace();
  if (const Node* users = reader.map("users")) {
    Reader names(users, reader.path_to("users"),
                 section.findings());  // strict: a user without addresses is kept
    for (const Entry& entry : users->entries) {
      std::vector<std::string> addresses;
      read_addresses(names, entry.key, addresses);
      acl->users.emplace_back(entry.key, std::move(addresses));
    }
  }
  reader.refuse_unknown_keys();
}

/// Reads Salt's keys for certificates of clients. A combination that would serve clients without the check
/// that its author wants is a mistake.
void read_client_certificates(Reader& section, bool has_port, bool plain, gateway::HttpOptions& options) {
  using gateway::ClientCertificates;
  const Node* mode = section.value("ssl_cert_reqs");
  const Node* ca = section.value("ssl_ca_certs");
  const Node* names = section.value_or_empty("ssl_allowed_cn");
  const auto wrong = [&section](const Node& node, std::string_view key, std::string_view text) {
    section.findings().add(node.place, section.path_to(key), text);
  };
  if (const auto name = section.choice("ssl_cert_reqs", {"CERT_NONE", "CERT_OPTIONAL", "CERT_REQUIRED"})) {
    if (*name == "CERT_OPTIONAL") options.client_certificates = ClientCertificates::optional;
    if (*name == "CERT_REQUIRED") options.client_certificates = ClientCertificates::required;
  }
  section.absolute_path("ssl_ca_certs", options.ssl_ca_certs);
  read_texts(section, "ssl_allowed_cn", options.ssl_allowed_cn, "a list of names");
  const bool is_asked = options.client_certificates != ClientCertificates::none;
  // Beside ssl_cert_reqs an empty value could mean each client or no client.
  if (names != nullptr && is_empty(*names) && !is_asked) names = nullptr;
  if (names != nullptr && (options.ssl_allowed_cn.empty() || has_empty_item(*names)))
    section.unexpected(*names, "ssl_allowed_cn", "at least one name, and no empty one");
  if (names != nullptr && !is_asked)
    wrong(*names, "ssl_allowed_cn",
          "without ssl_cert_reqs: CERT_REQUIRED or CERT_OPTIONAL no client shows a name");
  if (ca != nullptr && mode == nullptr)
    wrong(*ca, "ssl_ca_certs",
          "without ssl_cert_reqs no client is checked: say CERT_REQUIRED, CERT_OPTIONAL or CERT_NONE");
  if (!is_asked) return;
  if (options.ssl_ca_certs.empty())
    wrong(*mode, "ssl_cert_reqs",
          "ssl_ca_certs is missing: name the certificates that clients are checked against");
  if (plain)
    wrong(*mode, "ssl_cert_reqs", "disable_ssl: true leaves no client checked: remove one of the two");
  if (!has_port)
    wrong(*mode, "ssl_cert_reqs", "without port no client is checked: over FastCGI the web server does that");
}

/// Unknown keys that begin so may ask for a check that is not made.
constexpr std::string_view kOfTls = "ssl_";

/// Reads where a module listens itself from its section, with the keys that it has for salt-api. `host_key`
/// is `host` or `address`. Returns whether the port has TLS.
bool read_port(Reader& section, Module module, std::string_view host_key, gateway::HttpOptions options,
               Settings& settings) {
  std::size_t port = 0;
  const Node* given = section.value("port");
  section.count("port", port, kPorts);
  section.text(host_key, options.host);
  options.host = without_brackets(options.host);
  if (!is_host(options.host)) {
    section.unexpected(*section.value(host_key), host_key, kHostExpected);
  }
  bool plain = false;
  section.flag("disable_ssl", plain);
  section.absolute_path("ssl_cert", options.ssl_crt);  // as older manuals have it
  section.absolute_path("ssl_crt", options.ssl_crt);
  section.absolute_path("ssl_key", options.ssl_key);
  section.absolute_path("ssl_chain", options.ssl_chain);
  read_client_certificates(section, given != nullptr, plain, options);
  if (given == nullptr || port == 0) return false;
  options.name = name_of(module);
  options.port = static_cast<std::uint16_t>(port);
  if (plain) options.ssl_crt = options.ssl_key = options.ssl_chain = "";
  if (!plain && options.ssl_key.empty()) options.ssl_key = options.ssl_crt;  // both may be in one file
  if (!plain && options.ssl_crt.empty()) {
    section.findings().add(given->place, section.path_to("port"),
                           "ssl_crt and ssl_key are missing: name a certificate and its key, or say "
                           "disable_ssl: true, which sends passwords without encryption");
  }
  section.note_start_key("ssl_cert_reqs", static_cast<int>(options.client_certificates));
  section.note_start_key("ssl_ca_certs", options.ssl_ca_certs);
  section.note_start_key("ssl_allowed_cn", joined(options.ssl_allowed_cn));
  section.note_start_key("port",
                         format("{}:{} {} {} {} {} {}", options.host, port, options.ssl_crt, options.ssl_key,
                                options.ssl_chain, options.queue_size, options.max_request_body_size));
  settings.gateway.http.push_back(std::move(options));
  settings.front_ends.http.push_back(module);
  return !plain;
}

void read_debug(Reader& section, Settings& settings) {
  bool debug = false;
  section.flag("debug", debug);
  if (debug) settings.log.level = log::Level::debug;
}

/// CherryPy's threads are ours, unless our own section says how many there may be.
void read_thread_pool(Reader& section, bool ours, gateway::Options& options) {
  std::size_t threads = options.max_threads;
  section.at_start().count("thread_pool", threads, kThreads);
  if (ours) return;
  options.max_threads = threads;
  options.min_threads = std::min(options.min_threads, threads);
}

void read_log_files(Reader& section, Settings& settings) {
  section.absolute_path("log_access_file", settings.log.access_file);
  section.absolute_path("log_error_file", settings.log.error_file);
  settings.rest_cherrypy.log_access = !settings.log.access_file.empty();
}

/// Reads the section of Salt's own server for developers, which is on loopback and has no TLS.
void read_rest_wsgi(Reader& top, Settings& settings) {
  Reader section = top.section("rest_wsgi");
  gateway::HttpOptions http;
  http.host = "127.0.0.1";
  http.max_request_body_size = settings.gateway.max_request_body_size;
  http.name = name_of(Module::rest_wsgi);
  std::size_t port = 0;
  section.at_start().count("port", port, kPorts);
  for (const std::string_view key : {"ssl_cert_reqs", "ssl_ca_certs", "ssl_allowed_cn"}) {
    if (const Node* node = section.value(key))
      section.unexpected(*node, key, "no such key: this port has no TLS");
  }
  section.warn_of_unknown_keys();
  if (port == 0) return;
  http.port = static_cast<std::uint16_t>(port);
  settings.gateway.http.push_back(std::move(http));
  settings.front_ends.http.push_back(Module::rest_wsgi);
}

/// Reads a path of a URL. Salt-api takes `/` as well, and goes on answering there what `/` itself is.
void read_url_path(Reader& section, std::string_view key, std::string& path) {
  section.text(key, path);
  if (path.empty() || path.find_first_not_of('/') != std::string::npos) return;
  section.findings().warn(
      section.value(key)->place,
      format("{}: found {}, where nothing of it can be reached: / is the page of the API itself",
             section.path_to(key), in_quotes(path)));
}

void read_rest_cherrypy(Reader& top, bool own_threads, Settings& settings) {
  Reader section = top.section("rest_cherrypy");
  netapi::RestCherrypyOptions& options = settings.rest_cherrypy;
  read_texts(section, "cors_origin", options.cors_origin, kOrigins);
  read_api_acl(section, options.api_acl);
  read_addresses(section, "authorized_ips", options.authorized_ips);
  if (const Node* allowed = section.value("authorized_ips");
      allowed != nullptr && options.authorized_ips.empty()) {
    section.unexpected(*allowed, "authorized_ips", kAddresses);  // `[null]` must not open it to all
  }
  section.text("root_prefix", options.root_prefix);
  read_url_path(section, "webhook_url", options.webhook_url);
  section.flag("webhook_disable_auth", options.webhook_disable_auth);
  section.flag("enable_sessions", options.enable_sessions);
  section.absolute_path("static", options.static_root);
  read_url_path(section, "static_path", options.static_path);
  section.absolute_path("app", options.app);
  read_url_path(section, "app_path", options.app_path);
  section.absolute_path("favicon", options.favicon);
  section.flag("collect_stats", options.collect_stats);
  section.flag("stats_disable_auth", options.stats_disable_auth);
  section.at_start().bytes("max_request_body_size", options.max_request_body_size, {64, kGiB});
  gateway::HttpOptions http;
  http.max_request_body_size = options.max_request_body_size;
  section.count("socket_queue_size", http.queue_size, {1, 65535});
  section.count("queue_size", http.queue_size, {1, 65535});
  const bool has_tls = read_port(section, Module::rest_cherrypy, "host", std::move(http), settings);
  section.flag("expire_responses", options.expire_responses);
  read_thread_pool(section, own_threads, settings.gateway);
  read_log_files(section, settings);
  read_debug(section, settings);
  section.warn_of_unknown_keys(has_tls ? kOfTls : "");
}

void read_rest_tornado(Reader& top, Settings& settings) {
  Reader section = top.section("rest_tornado");
  netapi::RestTornadoOptions& options = settings.rest_tornado;
  read_texts(section, "cors_origin", options.cors_origin, kOrigins);
  section.flag("webhook_disable_auth", options.webhook_disable_auth);
  section.flag("websockets", options.websockets);
  section.flag("token_in_url", options.token_in_url);
  section.at_start().bytes("max_body_size", options.max_body_size, {64, kGiB});
  gateway::HttpOptions http;
  http.host = "::";  // as salt-api: all addresses, those of IPv4 as well
  http.queue_size = 128;
  http.max_request_body_size = options.max_body_size;
  section.count("backlog", http.queue_size, {1, 65535});
  const bool has_tls = read_port(section, Module::rest_tornado, "address", std::move(http), settings);
  read_debug(section, settings);
  if (section.value("num_processes") != nullptr) {  // which salt-api has
    settings.front_ends.inert.push_back(section.path_to("num_processes"));
  }
  section.warn_of_unknown_keys(has_tls ? kOfTls : "");
}

void read_streams(Reader& section, Settings& settings) {
  if (const auto seen_by = section.choice("events", {"by_rule", "everybody"})) {
    settings.client.events_for_everybody = *seen_by == "everybody";
  }
  section.count("max_streams", settings.streams.max_streams, {1, 100000});
  settings.gateway.max_streams = settings.streams.max_streams;
  section.count("max_streams_per_user", settings.streams.max_streams_per_user, {1, 100000});
}

bool is_reachable(const FrontEnds& front_ends, Module module) {
  const auto is_here = [module](const auto& mount) { return mount.second == module; };
  return has(front_ends.http, module) ||
         std::any_of(front_ends.mounts.begin(), front_ends.mounts.end(), is_here);
}

/// Over FastCGI a body may have as many bytes as any module there takes; each of them looks at its own limit.
void raise_body_limit(Settings& settings) {
  std::size_t& most = settings.gateway.max_request_body_size;
  settings.netapi.max_request_body_size = most;
  for (const auto& [path, module] : settings.front_ends.mounts) {
    if (module == Module::rest_cherrypy) most = std::max(most, settings.rest_cherrypy.max_request_body_size);
    if (module == Module::rest_tornado) most = std::max(most, settings.rest_tornado.max_body_size);
  }
}

}  // namespace

void read_front_ends(Reader& section, Reader& top, Settings& settings) {
  FrontEnds& front_ends = settings.front_ends;
  read_served(section, front_ends);
  read_mounts(section, front_ends);
  read_proxies(section, front_ends);
  read_streams(section, settings);
  section.at_start().count("max_http_connections", settings.gateway.max_http_connections, {1, 1000000});
  constexpr const char* kOlderName = "max_http_body_bytes";
  if (section.value(kOlderName) != nullptr) {
    section.at_start().bytes(kOlderName, settings.gateway.max_body_bytes, {1024, 64 * kGiB});
  }
  section.at_start().bytes("max_body_bytes", settings.gateway.max_body_bytes, {1024, 64 * kGiB});
  section.note_start_key("netapi", joined(names_of(front_ends.served)));
  const bool own_threads = section.value("max_threads") != nullptr;
  for (const Module module : {Module::rest_wsgi, Module::rest_cherrypy, Module::rest_tornado}) {
    if (!front_ends.are_named || !has(front_ends.served, module)) {
      if (top.value(name_of(module)) != nullptr) front_ends.idle.push_back(module);
      continue;
    }
    switch (module) {
      case Module::rest_wsgi:
        read_rest_wsgi(top, settings);
        break;
      case Module::rest_cherrypy:
        read_rest_cherrypy(top, own_threads, settings);
        break;
      case Module::rest_tornado:
        read_rest_tornado(top, settings);
        break;
    }
  }
  resolve_proxies(settings);
  raise_body_limit(settings);
  settings.netapi.token_life = settings.auth.token_expire_user_override;
  settings.rest_cherrypy.common = settings.rest_tornado.common = settings.netapi;
  for (const Module module : front_ends.served) {
    if (!is_reachable(front_ends, module)) {
      section.findings().warn(
          format("{} is reachable nowhere: its section has no port, and rest_fcgi: mount no path for it",
                 name_of(module)));
    }
  }
}

}  // namespace rest_fcgi::config
