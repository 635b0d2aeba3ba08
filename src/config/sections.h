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

/// Reads the parts of the master file into options. Adds mistakes and warnings to the reader's findings.
namespace rest_fcgi::config {

/// Salt's master file, merged with all files that it includes.
struct MasterFile {
  Node root;                          ///< The merged map.
  std::vector<std::string> warnings;  ///< Each warning is one line.
};

/// Reads the file `path` and the files that its keys `default_include` and `include` name. Merges them as
/// Salt does. Errors: configuration, for a file that cannot be read, that every user may write, or that is
/// not a map.
[[nodiscard]] Result<MasterFile> read_master_file(const std::string& path);

/// Reads all sections of the master file.
[[nodiscard]] Settings read_settings(const Node& root, Findings& findings);

/// Returns the path without `.`, `..` and superfluous slashes, so that two paths can be compared.
[[nodiscard]] std::string normal(const std::filesystem::path& path);

/// Reads Salt's own keys.
void read_salt_keys(Reader& top, Settings& settings);

/// Adds one warning that names the keys of `root` which only a real master uses.
void warn_of_keys_of_masters(const Node& root, Findings& findings);

/// Reads `external_auth`. With the engine `salt`, it skips settings of back ends, and a rule that cannot be
/// read gives a warning. REQUIRES: the engine was read.
void read_external_auth(Reader& top, Settings& settings);

/// The eauth back ends of the embedded engine.
inline constexpr std::string_view kOwnBackEnds[] = {"auto", "file", "pam", "sharedsecret"};

/// Returns the back ends of `external_auth` with which users can log in. With the engine `salt`, these are
/// all back ends. REQUIRES: `external_auth` and `allow_auto_eauth` were read.
[[nodiscard]] std::vector<std::string> enabled_eauths(const Settings& settings);

/// Reads the keys of job caches. REQUIRES: the store's path is set.
void read_job_caches(Reader& top, Settings& settings);

/// Reads the `etcd.*` keys of Salt's etcd returner.
void read_etcd_returner(Reader& top, returner::EtcdOptions& options);

/// Marks the `etcd.*` keys as keys that take effect only at start. Absent keys are marked, too.
void note_etcd_returner(Reader& top, const returner::EtcdOptions& options);

/// Reads `rest_fcgi: ext_job_cache`. It names a job cache of this program that stores the jobs of a real
/// master. REQUIRES: the engine was read.
void read_recorded_jobs(Reader& section, Reader& top, Settings& settings);

/// Reads the keys of `rest_fcgi:` that the engine `salt` uses.
void read_salt_section(Reader& section, Settings& settings);

/// Returns the object that the wheel function `config.values` shows. It holds the options in effect that are
/// not secret, and SaltGUI's options from the master file.
[[nodiscard]] Json config_values(const Settings& settings, const Node& master_file);

/// Reads `rest_fcgi: login_guard` and `pam_helper`. REQUIRES: the number of threads was read.
void read_logins(Reader& section, Settings& settings);

/// Reads `rest_fcgi: netapi`, `mount` and `trusted_proxies`, and the sections of the modules that are served.
void read_front_ends(Reader& section, Reader& top, Settings& settings);

/// Reads `rest_fcgi: embedded` and `host_number`. REQUIRES: all other sections were read.
void read_embedded_section(Reader& section, Settings& settings);

}  // namespace rest_fcgi::config
