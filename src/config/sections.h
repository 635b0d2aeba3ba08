// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/reader.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/embedded/options.h"
#include "rest_fcgi/master/salt/options.h"

/// Reads the parts of the master file into options. Mistakes and warnings go to the reader's findings.
namespace rest_fcgi::config {

/// Salt's master file with all files that it includes, as one map.
struct MasterFile {
  Node root;                          ///< a map
  std::vector<std::string> warnings;  ///< one line each
};

/// Reads `path`, then the files that its `default_include` and its `include` name, and merges them as Salt
/// does. Errors: configuration, for a file that cannot be read, that every user may write, or that is not a
/// map.
[[nodiscard]] Result<MasterFile> read_master_file(const std::string& path);

/// Reads all sections of the master file.
[[nodiscard]] Settings read_settings(const Node& root, Findings& findings);

/// Returns the path without `.`, `..` and superfluous slashes, for comparisons.
[[nodiscard]] std::string normal(const std::filesystem::path& path);

/// Reads Salt's own keys.
void read_salt_keys(Reader& top, Settings& settings);

/// Warns, in one line, of keys of the root that only a real master has a use for.
void warn_of_keys_of_masters(const Node& root, Findings& findings);

/// Reads `external_auth`. With the engine `salt`, settings of back ends are left out, and a rule that cannot
/// be read is a warning. REQUIRES: the engine was read.
void read_external_auth(Reader& top, Settings& settings);

/// The eauth back ends of the embedded engine.
inline constexpr std::string_view kOwnBackEnds[] = {"auto", "file", "pam", "sharedsecret"};

/// Returns the back ends of `external_auth` that users can log in with: with the engine `salt` all of them.
/// REQUIRES: `external_auth` and `allow_auto_eauth` were read.
[[nodiscard]] std::vector<std::string> enabled_eauths(const Settings& settings);

/// Reads the keys of job caches. REQUIRES: the store's path is set.
void read_job_caches(Reader& top, Settings& settings);

/// Reads the `etcd.*` keys of Salt's etcd returner.
void read_etcd_returner(Reader& top, returner::EtcdOptions& options);

/// Marks the `etcd.*` keys as keys that take effect at start only, also if they are absent.
void note_etcd_returner(Reader& top, const returner::EtcdOptions& options);

/// Reads `rest_fcgi: ext_job_cache`, which keeps jobs of a real master in a job cache of this program.
/// REQUIRES: the engine was read.
void read_recorded_jobs(Reader& section, Reader& top, Settings& settings);

/// Reads the keys of `rest_fcgi:` for the engine `salt`.
void read_salt_section(Reader& section, Settings& settings);

/// Returns the object that the wheel `config.values` shows: the options in effect that are not secret, and
/// SaltGUI's options of the master file.
[[nodiscard]] Json config_values(const Settings& settings, const Node& master_file);

/// Reads `rest_fcgi: login_guard` and `pam_helper`. REQUIRES: the number of threads was read.
void read_logins(Reader& section, Settings& settings);

/// Reads `rest_fcgi: netapi`, `mount` and `trusted_proxies`, and the sections of the modules that are served.
void read_front_ends(Reader& section, Reader& top, Settings& settings);

/// Reads `rest_fcgi: embedded` and `host_number`. REQUIRES: all other sections were read.
void read_embedded_section(Reader& section, Settings& settings);

}  // namespace rest_fcgi::config
