// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config/sections.h"
#include "rest_fcgi/core/address.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::config {
namespace {

constexpr std::int64_t kTenYears = 315360000;  // Ten years in seconds.
constexpr std::string_view kMemory = "memory";
constexpr std::string_view kSqlite = "sqlite3";
constexpr std::string_view kEtcd = "etcd";
constexpr std::string_view kCacheNames = "local_cache, sqlite3, etcd or memory";

/// For `local_cache`, Salt's default, returns this program's default cache. Returns an empty text for an
/// unknown name.
std::string_view job_cache(std::string_view name) {
  if (name == kMemory) return kMemory;
  if (name == kEtcd) return kEtcd;
  return name == kSqlite || name == "sqlite" || name == "local_cache" ? kSqlite : std::string_view();
}

/// Returns whether the configuration chooses SQLite explicitly. `local_cache`, the default of
/// `master_job_cache`, also means SQLite, but is not an explicit choice.
bool read_names(Reader& top, returner::Options& options) {
  std::string master = "local_cache";
  top.text("master_job_cache", master);
  options.master_job_cache = job_cache(master);
  if (options.master_job_cache.empty())
    top.unexpected(*top.value("master_job_cache"), "master_job_cache", kCacheNames);
  bool names_sqlite = options.master_job_cache == kSqlite && master != "local_cache";
  std::string others;
  top.text("ext_job_cache", others);
  for (std::string_view rest = others; !rest.empty();) {
    const std::string cache(job_cache(trimmed(next_token(rest, ','))));
    if (cache.empty()) {
      top.unexpected(*top.value("ext_job_cache"), "ext_job_cache",
                     "names of job caches, separated by commas: sqlite3, etcd or memory");
    } else if (cache != options.master_job_cache) {
      options.ext_job_cache.push_back(cache);
      names_sqlite = names_sqlite || cache == kSqlite;
    }
  }
  return names_sqlite;
}

bool uses_etcd(Reader& top, const returner::Options& options) {
  constexpr std::string_view kKeys[] = {"etcd.returner", "etcd.returner_root", "etcd.returner_read_profile",
                                        "etcd.returner_write_profile"};
  const auto& others = options.ext_job_cache;
  return options.master_job_cache == kEtcd ||
         std::find(others.begin(), others.end(), kEtcd) != others.end() ||
         std::any_of(std::begin(kKeys), std::end(kKeys),
                     [&top](std::string_view key) { return top.value(key) != nullptr; });
}

struct Profile {
  etcd::Options client;
  bool require_v2 = true;
  bool encode_values = true;
};

std::optional<std::string> authority_of(std::string_view text, std::size_t port) {
  if (parse_host_port(text)) return std::string(text);
  const std::string_view host = without_brackets(text);
  return is_host(host) ? std::optional(host_port_text(host, port)) : std::nullopt;
}

void read_endpoints(Reader& from, etcd::Options& options) {
  constexpr std::string_view kForms = "HOST, or a list of HOST or HOST:PORT with IPv6 addresses in brackets";
  std::size_t port = 2379;
  from.count("etcd.port", port, kPorts);
  const Node* hosts = from.value("etcd.host");
  const Node local{.kind = Kind::string, .text = "127.0.0.1"};
  options.endpoints.clear();
  for (const Node& host : items_of(hosts == nullptr ? local : *hosts)) {
    if (is_empty(host)) continue;
    const auto authority = host.is(Kind::string) ? authority_of(host.text, port) : std::nullopt;
    if (!authority) return from.unexpected(host, "etcd.host", kForms);
    options.endpoints.push_back((options.ca.empty() ? "http://" : "https://") + *authority);
  }
  if (options.endpoints.empty()) from.unexpected(*hosts, "etcd.host", kForms);
}

void require(Reader& from, std::string_view key, std::string_view other) {
  const Node* found = from.value(key);
  if (found != nullptr && from.value(other) == nullptr)
    from.mistake(*found, key, format("found no {}, expected both keys", other));
}

/// Salt's cache `etcd` reads these keys, but Salt's returner and this program do not.
void warn_of_protocol(Reader& from, bool has_tls) {
  for (const std::string_view key : {"etcd.protocol", "etcd.ca_cert", "etcd.cert"}) {
    const Node* found = from.value(key);
    if (found == nullptr || (key == "etcd.protocol" && found->text == (has_tls ? "https" : "http"))) continue;
    from.findings().warn(
        found->place,
        format("{}: this key has no effect: {}", from.path_to(key),
               has_tls ? "etcd.ca turns TLS on"
                       : "the connection has no TLS, and the password is sent in clear text; set etcd.ca"));
  }
}

Profile read_profile(Reader from) {
  Profile profile;
  etcd::Options& client = profile.client;
  from.text("etcd.username", client.username);
  Secret password;
  from.secret("etcd.password", password);
  require(from, "etcd.username", "etcd.password");
  require(from, "etcd.password", "etcd.username");
  if (!password.empty()) client.password = std::make_shared<const Secret>(std::move(password));
  from.absolute_path("etcd.ca", client.ca);
  from.absolute_path("etcd.client_cert", client.client_cert);
  from.absolute_path("etcd.client_key", client.client_key);
  require(from, "etcd.client_cert", "etcd.client_key");
  require(from, "etcd.client_key", "etcd.client_cert");
  // Without `etcd.ca`, Salt connects without TLS, and the certificate of the client has no effect.
  require(from, "etcd.client_cert", "etcd.ca");
  warn_of_protocol(from, !client.ca.empty());
  read_endpoints(from, client);
  from.flag("etcd.require_v2", profile.require_v2);
  from.flag("etcd.encode_values", profile.encode_values);
  bool encode_keys = false;
  from.flag("etcd.encode_keys", encode_keys);
  if (encode_keys) {
    from.unexpected(*from.value("etcd.encode_keys"), "etcd.encode_keys",
                    "false: rest_fcgi cannot find jobs whose keys are encoded");
  }
  return profile;
}

/// Returns the profile (a section of the master file) with this name, or the top level if `name` is empty.
/// Reports a mistake for an unknown name. Salt would connect to 127.0.0.1.
Reader profile_named(Reader& top, std::string_view key, const std::string& name) {
  if (name.empty()) return top;
  const Node* found = top.value_or_empty(name);
  if (found != nullptr && (found->is(Kind::map) || is_empty(*found))) return top.section(name);
  top.unexpected(*top.value(key), key, "the name of a map at the top level with etcd.host and etcd.port");
  return {nullptr, name, top.findings(), Style::lenient};
}

/// Returns `key` with its value. If `key` is not set, returns `etcd.returner` with its value.
std::pair<std::string_view, std::string> profile_name(Reader& top, std::string_view key) {
  std::string name;
  top.text(key, name);
  if (!name.empty()) return {key, name};
  top.text("etcd.returner", name);
  return {"etcd.returner", name};
}

/// If `etcd.returner_write_profile` is set, `etcd.ttl` comes from this profile, otherwise from the top level.
void read_ttl(Reader& top, Reader& writing, bool has_profile, returner::EtcdOptions& options) {
  Reader& from = has_profile ? writing : top;
  from.whole_seconds("etcd.ttl", options.ttl, {0, kTenYears});
  const Node* unread = has_profile ? nullptr : writing.value("etcd.ttl");
  if (unread == nullptr || top.value("etcd.ttl") != nullptr) return;
  top.findings().warn(
      unread->place,
      "etcd.ttl: this key has no effect in the profile of etcd.returner, as in Salt: put it at "
      "the top level, or into etcd.returner_write_profile");
}

/// The text has a hash instead of the password.
std::string as_text(const etcd::Options& options) {
  const std::string_view password =
      options.password == nullptr ? std::string_view() : options.password->reveal().text;
  return format("{} {} {} {} {} {}", joined(options.endpoints, ","), options.username, options.ca,
                options.client_cert, options.client_key, std::hash<std::string_view>{}(password));
}

/// Reads `keep_jobs_seconds`. As in Salt 3006 and 3007, `keep_jobs` counts, in hours, if only `keep_jobs`
/// differs from its default.
void read_age_of_jobs(Reader& top, std::chrono::seconds& age) {
  constexpr std::size_t kDefault = 24;
  const std::chrono::seconds default_age = age;
  std::size_t hours = kDefault;
  top.count("keep_jobs", hours, {0, kTenYears / kHour.count()});
  top.whole_seconds("keep_jobs_seconds", age, {0, kTenYears});
  if (hours == kDefault) return;
  if (age == default_age) {
    age = std::chrono::hours(hours);
  } else {
    top.findings().warn(top.value("keep_jobs")->place,
                        "keep_jobs: this key has no effect, because keep_jobs_seconds is set, too");
  }
}

}  // namespace

void note_etcd_returner(Reader& top, const returner::EtcdOptions& options) {
  top.note_start_key("etcd.returner_root", options.root);
  top.note_start_key("etcd.ttl", options.ttl.count());
  top.note_start_key("etcd.returner",
                     format("{} {} {} {} {}", options.is_chosen, options.require_v2, options.encode_values,
                            as_text(options.writing), as_text(options.reading)));
}

void read_job_caches(Reader& top, Settings& settings) {
  returner::Options& options = settings.returner;
  settings.store.may_be_in_memory = !read_names(top, options);
  if (uses_etcd(top, options)) read_etcd_returner(top, options.etcd);
  if (top.choice("eauth_tokens", {"localfs", kEtcd}) == kEtcd) {
    std::string name;
    top.text("etcd.returner", name);
    // In etcd, tokens always use API v3.
    settings.auth.tokens_in_etcd.emplace().cluster =
        read_profile(profile_named(top, "etcd.returner", name)).client;
  }
  read_age_of_jobs(top, options.keep_jobs_seconds);
  top.note_start_key("master_job_cache", options.master_job_cache);
  top.note_start_key("ext_job_cache", joined(options.ext_job_cache, ","));
  top.note_start_key("keep_jobs_seconds", options.keep_jobs_seconds.count());
}

void read_etcd_returner(Reader& top, returner::EtcdOptions& options) {
  options.is_chosen = true;
  top.text("etcd.returner_root", options.root);
  const auto [write_key, write_name] = profile_name(top, "etcd.returner_write_profile");
  const auto [read_key, read_name] = profile_name(top, "etcd.returner_read_profile");
  Reader writing = profile_named(top, write_key, write_name);
  Profile to_write = read_profile(writing);
  Profile to_read = read_profile(profile_named(top, read_key, read_name));
  if (to_write.require_v2 != to_read.require_v2) {
    const std::string_view key = top.value(read_key) == nullptr ? write_key : read_key;
    top.mistake(*top.value(key), key,
                "found another value of etcd.require_v2 than in the other profile, expected the same value: "
                "data that is written through one API of etcd is not visible through the other API");
  }
  options.require_v2 = to_write.require_v2;
  options.encode_values = to_write.encode_values;
  options.writing = std::move(to_write.client);
  options.reading = std::move(to_read.client);
  read_ttl(top, writing, write_key != "etcd.returner", options);
}

}  // namespace rest_fcgi::config
