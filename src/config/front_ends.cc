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
#include "rest_fcgi/core/address.h"
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
      section.unexpected(entry.value, kKey, "a module in the list rest_fcgi: netapi");
    } else {
      front_ends.mounts.emplace_back(entry.key, *module);
    }
  }
}

constexpr std::string_view kOrigins = "an origin such as https://gui.example.org, or a list of them";

constexpr std::string_view kAddresses = "a list of addresses or networks, such as [127.0.0.1, 10.0.0.0/8]";

void read_addresses(Reader& section, std::string_view key, std::vector<std::string>& texts) {
  section.texts(key, texts, kAddresses);
  const auto known = http::Addresses::make(texts);
  if (known) return;
  section.mistake(*section.value(key), key, known.error().message + "; '*' stands for all");
}

constexpr std::string_view kProxies =
    "auto, [] for no web server, or addresses of web servers such as [127.0.0.1, 10.0.0.0/8], not '*'";

/// Reads `auto` or a list of web servers. Refuses `*`, because every client could claim any address. Refuses
/// a key without a value, because the value could mean all web servers or none.
void read_proxies(Reader& section, FrontEnds& front_ends) {
  static constexpr std::string_view kKey = "trusted_proxies";
  const Node* node = section.value(kKey);
  if (node == nullptr || (node->is(Kind::string) && node->text == "auto")) {
    return section.note_start_key(kKey, "auto");
  }
  std::vector<std::string>& proxies = front_ends.trusted_proxies.emplace();
  const std::span<const Node> items = items_of(*node);
  const bool fits = std::all_of(items.begin(), items.end(), [](const Node& item) {
    return item.is(Kind::string) && !item.text.empty() && item.text != "*";
  });
  if (!fits) return section.unexpected(*node, kKey, kProxies);
  section.texts(kKey, proxies, kProxies);
  const auto known = http::Addresses::make(proxies);
  if (!known) section.mistake(*node, kKey, known.error().message);
  section.note_start_key(kKey, joined(proxies));
}

/// Sets the web servers that each port trusts. With `auto`, a loopback port without TLS trusts the web
/// servers of this host, and no other port trusts a web server.
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
    // `names` is a strict Reader, because a lenient Reader would leave out a user with an empty list.
    Reader names(users, reader.path_to("users"), section.findings());
    for (const Entry& entry : users->entries) {
      std::vector<std::string> addresses;
      read_addresses(names, entry.key, addresses);
      acl->users.emplace_back(entry.key, std::move(addresses));
    }
  }
  reader.refuse_unknown_keys();
}

/// Reports a mistake if Salt's keys for client certificates would leave clients unchecked.
void read_client_certificates(Reader& section, bool has_port, bool plain, gateway::HttpOptions& options) {
  using gateway::ClientCertificates;
  const Node* mode = section.value("ssl_cert_reqs");
  const Node* ca = section.value("ssl_ca_certs");
  const Node* names = section.value_or_empty("ssl_allowed_cn");
  if (const auto name = section.choice("ssl_cert_reqs", {"CERT_NONE", "CERT_OPTIONAL", "CERT_REQUIRED"})) {
    if (*name == "CERT_OPTIONAL") options.client_certificates = ClientCertificates::optional;
    if (*name == "CERT_REQUIRED") options.client_certificates = ClientCertificates::required;
  }
  section.absolute_path("ssl_ca_certs", options.ssl_ca_certs);
  section.texts("ssl_allowed_cn", options.ssl_allowed_cn, "a list of names");
  const bool is_asked = options.client_certificates != ClientCertificates::none;
  // If certificates are checked, an empty `ssl_allowed_cn` is a mistake, because an empty list could mean all
  // clients or no client.
  if (names != nullptr && is_empty(*names) && !is_asked) names = nullptr;
  if (names != nullptr &&
      (options.ssl_allowed_cn.empty() || std::any_of(names->items.begin(), names->items.end(), is_empty)))
    section.unexpected(*names, "ssl_allowed_cn", "a list of at least one name, without empty names");
  if (names != nullptr && !is_asked)
    section.mistake(
        *names, "ssl_allowed_cn",
        "found no check of client certificates, expected also ssl_cert_reqs: CERT_REQUIRED or CERT_OPTIONAL");
  if (ca != nullptr && mode == nullptr)
    section.mistake(
        *ca, "ssl_ca_certs",
        "found no ssl_cert_reqs, expected both keys: set it to CERT_REQUIRED, CERT_OPTIONAL or CERT_NONE");
  if (!is_asked) return;
  if (options.ssl_ca_certs.empty())
    section.mistake(*mode, "ssl_cert_reqs",
                    "found no ssl_ca_certs, expected both keys: set it to the certificates of the "
                    "authorities that sign client certificates");
  if (plain)
    section.mistake(
        *mode, "ssl_cert_reqs",
        "found disable_ssl: true, expected TLS, which client certificates need: remove one of the two keys");
  if (!has_port)
    section.mistake(*mode, "ssl_cert_reqs",
                    "found no port, expected one: over FastCGI the web server checks client certificates");
}

/// Unknown keys with this prefix are refused, because such a key may ask for a check that this program does
/// not make.
constexpr std::string_view kPrefixOfTls = "ssl_";

/// `host_key` is the configuration key of the address. Returns whether the port has TLS.
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
  section.absolute_path("ssl_crt", options.ssl_crt);
  section.absolute_path("ssl_key", options.ssl_key);
  section.absolute_path("ssl_chain", options.ssl_chain);
  read_client_certificates(section, given != nullptr, plain, options);
  if (given == nullptr || port == 0) return false;
  options.name = name_of(module);
  options.port = static_cast<std::uint16_t>(port);
  if (plain) options.ssl_crt = options.ssl_key = options.ssl_chain = "";
  // If `ssl_key` is missing, the file of the certificate has the key, too.
  if (options.ssl_key.empty()) options.ssl_key = options.ssl_crt;
  if (!plain && options.ssl_crt.empty()) {
    section.mistake(*given, "port",
                    "found no ssl_crt and ssl_key, expected a certificate and its key, or disable_ssl: true, "
                    "which sends passwords without encryption");
  }
  section.note_start_key("ssl_cert_reqs", static_cast<int>(options.client_certificates));
  section.note_start_key("ssl_ca_certs", options.ssl_ca_certs);
  section.note_start_key("ssl_allowed_cn", joined(options.ssl_allowed_cn));
  section.note_start_key("port", format("{}:{} {} {} {} {}", options.host, port, options.ssl_crt,
                                        options.ssl_key, options.ssl_chain, options.max_request_body_size));
  settings.gateway.http.push_back(std::move(options));
  settings.front_ends.http.push_back(module);
  return !plain;
}

void note_inert_keys(Reader& section, FrontEnds& front_ends) {
  for (const std::string_view key : {"thread_pool", "socket_queue_size", "queue_size", "backlog",
                                     "num_processes", "expire_responses", "debug", "websockets"}) {
    if (section.value(key) != nullptr) front_ends.inert.push_back(section.path_to(key));
  }
}

/// Suggests the keys of a port for the names that other sections and other servers have.
void suggest_keys_of_port(Reader& section, std::string_view host_key, std::string_view size_key) {
  section.suggest(host_key,
                  {"host", "address", "interface", "bind", "bind_address", "listen", "socket_host"});
  section.suggest(size_key, {"max_request_body_size", "max_body_size", "max_buffer_size"});
  section.suggest("port", {"listen_port", "socket_port"});
  section.suggest("ssl_crt", {"ssl_certificate", "ssl_cert", "certfile"});
  section.suggest("ssl_key", {"ssl_private_key", "ssl_certificate_key", "keyfile"});
  section.suggest("ssl_chain", {"ssl_certificate_chain"});
  section.suggest("ssl_ca_certs", {"ssl_ca", "ca_certs"});
}

/// The port of rest_wsgi is on loopback and has no TLS.
void read_rest_wsgi(Reader& top, Settings& settings) {
  Reader section = top.section("rest_wsgi");
  gateway::HttpOptions http;
  http.host = "127.0.0.1";
  http.max_request_body_size = settings.gateway.max_request_body_size;
  http.body_limit_key = netapi::kWsgiBodyKey;
  http.name = name_of(Module::rest_wsgi);
  std::size_t port = 0;
  section.at_start().count("port", port, kPorts);
  for (const std::string_view key : {"ssl_cert_reqs", "ssl_ca_certs", "ssl_allowed_cn"}) {
    if (const Node* node = section.value(key))
      section.unexpected(*node, key, "no such key: rest_wsgi has no TLS");
  }
  section.warn_of_unknown_keys();
  if (port == 0) return;
  http.port = static_cast<std::uint16_t>(port);
  settings.gateway.http.push_back(std::move(http));
  settings.front_ends.http.push_back(Module::rest_wsgi);
}

/// Warns of the path `/`. salt-api accepts this path, but here `/` is the page of the API.
void read_url_path(Reader& section, std::string_view key, std::string& path) {
  section.text(key, path);
  if (path.empty() || path.find_first_not_of('/') != std::string::npos) return;
  section.findings().warn(section.value(key)->place,
                          format("{}: found {}, expected another path: the URL / belongs to the API itself",
                                 section.path_to(key), in_quotes(path)));
}

void read_rest_cherrypy(Reader& top, Settings& settings) {
  Reader section = top.section("rest_cherrypy");
  netapi::RestCherrypyOptions& options = settings.rest_cherrypy;
  section.texts("cors_origin", options.cors_origin, kOrigins);
  read_api_acl(section, options.api_acl);
  read_addresses(section, "authorized_ips", options.authorized_ips);
  if (const Node* allowed = section.value("authorized_ips");
      allowed != nullptr && options.authorized_ips.empty()) {
    // A list with only empty items is refused, because an empty list would allow all addresses.
    section.unexpected(*allowed, "authorized_ips", kAddresses);
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
  http.body_limit_key = netapi::kCherrypyBodyKey;
  const bool has_tls = read_port(section, Module::rest_cherrypy, "host", std::move(http), settings);
  section.absolute_path("log_access_file", settings.log.access_file);
  section.absolute_path("log_error_file", settings.log.error_file);
  options.log_access = !settings.log.access_file.empty();
  note_inert_keys(section, settings.front_ends);
  suggest_keys_of_port(section, "host", "max_request_body_size");
  section.suggest("static_path", {"static_prefix", "static_url"});
  section.suggest("static", {"static_dir", "static_root"});
  section.suggest("app_path", {"app_prefix", "app_url"});
  section.suggest("webhook_url", {"webhook_path", "webhook_prefix"});
  section.warn_of_unknown_keys(has_tls ? kPrefixOfTls : "");
}

void read_rest_tornado(Reader& top, Settings& settings) {
  Reader section = top.section("rest_tornado");
  netapi::RestTornadoOptions& options = settings.rest_tornado;
  section.texts("cors_origin", options.cors_origin, kOrigins);
  section.flag("webhook_disable_auth", options.webhook_disable_auth);
  section.at_start().bytes("max_body_size", options.max_body_size, {64, kGiB});
  gateway::HttpOptions http;
  http.host = "::";  // As in salt-api, the port listens on all IPv4 and IPv6 addresses.
  http.max_request_body_size = options.max_body_size;
  http.body_limit_key = netapi::kTornadoBodyKey;
  const bool has_tls = read_port(section, Module::rest_tornado, "address", std::move(http), settings);
  note_inert_keys(section, settings.front_ends);
  suggest_keys_of_port(section, "address", "max_body_size");
  section.warn_of_unknown_keys(has_tls ? kPrefixOfTls : "");
}

std::optional<gateway::HttpOptions> metrics_port(const Node& node) {
  static constexpr std::string_view kUnix = "unix:";
  if (!node.is(Kind::string)) return std::nullopt;
  gateway::HttpOptions options;
  options.name = "metrics";
  options.is_monitoring = true;
  if (node.text.starts_with(kUnix)) {
    options.unix_path = node.text.substr(kUnix.size());
    return options.unix_path.starts_with('/') ? std::optional(std::move(options)) : std::nullopt;
  }
  const auto where = parse_host_port(node.text);
  if (!where) return std::nullopt;
  options.host = where->host;
  options.port = where->port;
  return options;
}

void read_metrics(Reader& section, Settings& settings) {
  Reader metrics = section.section("metrics");
  const Node* listen = metrics.value("listen");
  metrics.note_start_key("listen", listen == nullptr ? std::string() : listen->text);
  if (listen != nullptr) {
    settings.front_ends.metrics = metrics_port(*listen);
    if (!settings.front_ends.metrics)
      metrics.unexpected(*listen, "listen", "HOST:PORT or unix:PATH, such as 127.0.0.1:9175");
  }
  metrics.at_start().flag("on_api", settings.front_ends.has_metrics_on_api);
  metrics.at_start().flag("ignore_test", settings.front_ends.ignores_tests);
  metrics.refuse_unknown_keys();
}

void raise_body_limit(Settings& settings) {
  gateway::Options& fastcgi = settings.gateway;
  settings.netapi.max_request_body_size = fastcgi.max_request_body_size;
  fastcgi.body_limit_key = netapi::kWsgiBodyKey;
  const auto raise = [&fastcgi](std::size_t most, std::string_view key) {
    if (most <= fastcgi.max_request_body_size) return;
    fastcgi.max_request_body_size = most;
    fastcgi.body_limit_key = key;
  };
  for (const auto& [path, module] : settings.front_ends.mounts) {
    if (module == Module::rest_cherrypy)
      raise(settings.rest_cherrypy.max_request_body_size, netapi::kCherrypyBodyKey);
    if (module == Module::rest_tornado) raise(settings.rest_tornado.max_body_size, netapi::kTornadoBodyKey);
  }
}

}  // namespace

std::string listening_advice(const Settings& settings) {
  const FrontEnds& front_ends = settings.front_ends;
  const auto place_of = [&settings](std::string_view key) {
    const auto place = settings.places.find(key);
    return place == settings.places.end() ? std::string() : format("{}: ", place->second);
  };
  if (!front_ends.idle.empty()) {
    std::vector<Module> wanted = front_ends.are_named ? front_ends.served : std::vector<Module>();
    wanted.insert(wanted.end(), front_ends.idle.begin(), front_ends.idle.end());
    const std::string_view name = name_of(front_ends.idle.front());
    return format(
        "{}{}: found this section, but rest_fcgi: netapi does not name it: to serve it, write `netapi: [{}]` "
        "below `rest_fcgi:`.",
        place_of(name), name, joined(names_of(wanted)));
  }
  const std::string_view name = front_ends.are_named ? name_of(front_ends.served.front()) : "rest_cherrypy";
  return format("{}{}: found no port, expected one for HTTP: write `port: 8000` below `{}:`{}.",
                place_of(name), name, name,
                front_ends.are_named ? "" : format(", and `netapi: [{}]` below `rest_fcgi:`", name));
}

void read_front_ends(Reader& section, Reader& top, Settings& settings) {
  FrontEnds& front_ends = settings.front_ends;
  read_served(section, front_ends);
  read_mounts(section, front_ends);
  read_proxies(section, front_ends);
  if (const auto seen_by = section.choice("events", {"by_rule", "everybody"})) {
    settings.client.events_for_everybody = *seen_by == "everybody";
  }
  section.count("max_streams", settings.streams.max_streams, {1, 100000});
  settings.gateway.max_streams = settings.streams.max_streams;
  section.count("max_streams_per_user", settings.streams.max_streams_per_user, {1, 100000});
  read_metrics(section, settings);
  section.at_start().flag("health", front_ends.health);
  section.at_start().bytes("max_body_bytes", settings.gateway.max_body_bytes, {1024, 64 * kGiB});
  section.note_start_key("netapi", joined(names_of(front_ends.served)));
  for (const Module module : {Module::rest_wsgi, Module::rest_cherrypy, Module::rest_tornado}) {
    if (!front_ends.are_named || !has(front_ends.served, module)) {
      if (top.value(name_of(module)) != nullptr) front_ends.idle.push_back(module);
      continue;
    }
    if (module == Module::rest_wsgi) read_rest_wsgi(top, settings);
    if (module == Module::rest_cherrypy) read_rest_cherrypy(top, settings);
    if (module == Module::rest_tornado) read_rest_tornado(top, settings);
  }
  resolve_proxies(settings);
  raise_body_limit(settings);
  settings.netapi.token_life = settings.auth.token_expire_user_override;
  settings.netapi.eauths = enabled_eauths(settings);
  settings.rest_cherrypy.common = settings.rest_tornado.common = settings.netapi;
  for (const Module module : front_ends.served) {
    const bool is_mounted = std::any_of(front_ends.mounts.begin(), front_ends.mounts.end(),
                                        [module](const auto& mount) { return mount.second == module; });
    if (is_mounted || has(front_ends.http, module)) continue;
    section.findings().warn(
        format("rest_fcgi: netapi: {} cannot be reached: set a port in its section, or a path for it in "
               "rest_fcgi: mount",
               name_of(module)));
  }
}

}  // namespace rest_fcgi::config
