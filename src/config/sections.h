// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "config/mistakes.h"
#include "config/reader.h"
#include "config/tree.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/config/config.h"
#include "rest_fcgi/master/embedded/options.h"
#include "rest_fcgi/master/salt/options.h"

/// Parts of the master file into options. What is wrong goes to the reader's mistakes.
namespace rest_fcgi::config {

/// `rest_fcgi: engine`. To be read first: it says what other keys mean.
void read_engine(Reader& section, Settings& settings);

/// Salt's own keys, those that mean something here. What of Salt's rules is not enforced here goes to
/// `warnings`.
void read_salt_keys(Reader& top, Settings& settings);

/// Salt's `external_auth`. With the engine `salt` it is the master's: back ends' settings are not read, and a
/// rule that cannot be read is left out with a warning. REQUIRES: the engine was read.
void read_external_auth(Reader& top, Settings& settings);

/// Salt's `nodegroups`: a map, or null where there is none. What its words mean is for the engine to say.
[[nodiscard]] std::vector<master::NodegroupOptions> read_nodegroups(const Node* nodegroups,
                                                                    Mistakes& mistakes);

/// Which job caches there are, and how long jobs are kept. What is an old way to say it goes to `warnings`.
void read_job_caches(Reader& top, const std::string& default_database, Settings& settings);

/// Does a key of Salt's etcd returner stand there?
[[nodiscard]] bool is_etcd_returner_chosen(Reader& top);

/// Salt's `etcd.*` keys, for a returner whose spools' paths begin with `spool`. What has no effect goes to
/// `warnings`.
void read_etcd_returner(Reader& top, const std::string& spool, returner::EtcdOptions& options,
                        std::vector<std::string>& warnings);

/// How to reach the real master that this file belongs to, for the engine `salt`.
void read_real_master(Reader& top, const std::string& sock_dir, Settings& settings);

/// `rest_fcgi: ext_job_cache`: where jobs that a real master keeps are kept as well. REQUIRES: the engine was
/// read.
void read_recorded_jobs(Reader& section, Reader& top, Settings& settings);

/// `rest_fcgi: host_number`. REQUIRES: the job caches were read.
void read_host_number(Reader& section, Settings& settings);

/// Of our section what is for the engine `salt`.
void read_salt_section(Reader& section, salt::Options& options);

/// What the wheel `config.values` shows: an object with the effective options that are no secret.
[[nodiscard]] Json config_values(const Settings& settings);

/// Our section, `rest_fcgi:`.
void read_rest_fcgi(Reader& section, Settings& settings);

/// Of our section what is about logins: the guard against guessing, the helper for PAM. REQUIRES: the number
/// of threads was read.
void read_logins(Reader& section, Settings& settings);

/// `rest_fcgi: embedded: file_root`: callers write there, so it must not overlap what this program trusts.
/// REQUIRES: all else was read.
void check_file_root(Reader embedded, const Settings& settings);

/// `rest_fcgi: embedded: minions:`, a list or a map; `path` is the key in messages.
[[nodiscard]] std::vector<embedded::MinionOptions> read_minions(const Node& minions, const std::string& path,
                                                                Mistakes& mistakes);

}  // namespace rest_fcgi::config
