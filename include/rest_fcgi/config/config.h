// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/client/options.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/gateway/options.h"
#include "rest_fcgi/master/embedded/options.h"
#include "rest_fcgi/master/salt/options.h"
#include "rest_fcgi/netapi/options.h"
#include "rest_fcgi/returner/options.h"
#include "rest_fcgi/store/options.h"

namespace rest_fcgi::config {

/// The parsed command line.
struct CommandLine {
  enum class Action {
    serve,
    check_config,
    check_health,
    check_salt,
    init,
    make_token,
    revoke,
    explain,
    show_version,
    show_help
  };
  Action action = Action::serve;
  std::string config;                   ///< path; `--config`, else SALT_MASTER_CONFIG, else /etc/salt/master
  std::optional<std::string> listen;    ///< replaces the configuration's
  std::optional<log::Level> log_level;  ///< replaces the configuration's
  std::string eauth;                    ///< make_token; revoke, where empty means all back ends
  std::string username;                 ///< make_token, revoke, explain; init, where empty means to ask
  std::string fun;                      ///< explain
  std::string tgt;                      ///< explain
  bool has_password_on_stdin = false;   ///< init
};

/// Errors: configuration, with the name of the option.
[[nodiscard]] Result<CommandLine> parse_command_line(int argc, const char* const* argv);

/// Returns the text of `--help`.
[[nodiscard]] std::string help_text();

/// What runs calls: minions in this process, or a real Salt master.
enum class Engine { embedded, salt };

/// The Salt netapi modules that answer requests, and where.
struct FrontEnds {
  bool are_named = false;  ///< `rest_fcgi: netapi` is set; without it no module has a port
  std::vector<netapi::Module> served{netapi::Module::rest_wsgi};
  /// Paths over FastCGI, without a slash at the end except for `/`.
  std::vector<std::pair<std::string, netapi::Module>> mounts{{"/", netapi::Module::rest_wsgi}};
  std::vector<netapi::Module> http;    ///< the module of each entry of `gateway::Options::http`
  std::vector<netapi::Module> idle{};  ///< modules with a section in the master file that are not served
  /// Web servers whose headers about their clients are trusted; std::nullopt for `auto`. Each entry of
  /// `gateway::Options::http` has the addresses that result from it.
  std::optional<std::vector<std::string>> trusted_proxies{};
  std::vector<std::string> inert{};               ///< keys of salt-api in the file that have no effect here
  std::optional<gateway::HttpOptions> metrics{};  ///< the port for Prometheus; absent: none
  bool health = false;  ///< `/health` and `/ready` are answered beside the modules, too
};

/// The places of keys, `FILE:LINE`, by path such as `rest_fcgi: listen`.
using Places = std::map<std::string, std::string, std::less<>>;

/// The options of every component.
struct Settings {
  log::Options log;
  gateway::Options gateway;
  FrontEnds front_ends;
  netapi::Options netapi;  ///< of all modules, and of rest_wsgi
  netapi::RestCherrypyOptions rest_cherrypy;
  netapi::RestTornadoOptions rest_tornado;
  netapi::StreamLimits streams;
  client::Options client;
  auth::Options auth;
  embedded::Options embedded;
  salt::Options salt;
  store::Options store;
  returner::Options returner;
  Engine engine = Engine::embedded;
  std::string master_user = "root";   ///< Salt's `user`: who the master runs as
  std::string default_cachedir;       ///< Salt's default, if the engine `embedded` uses it; else empty
  std::vector<std::string> warnings;  ///< one line each
  Places places;
  /// The keys that take effect at start only, with their values.
  std::vector<std::pair<std::string, std::string>> start_keys;

  /// Returns the settings for `--check-config` and `--explain`: no file is made or opened, since these may
  /// run as another user than the server.
  [[nodiscard]] Settings without_files() &&;

  /// Returns the settings for `--mk-token`: tokens are stored, and no jobs.
  [[nodiscard]] Settings without_jobs() &&;
};

/// Reads the master file with the files that it includes. Unknown keys at the top are ignored; an unknown key
/// of `rest_fcgi:` is a mistake. Errors: configuration, one line `FILE:LINE: KEY: found X, expected Y`.
[[nodiscard]] Result<Settings> load(const CommandLine& command_line);

/// Puts `FILE:LINE` in front of an error message that begins with a configuration key: the line of that key.
[[nodiscard]] Error with_place(Error error, const Settings& settings);

/// Creates the folder `default_cachedir` and those above it, if that is possible. The store reports a
/// failure.
void make_cachedir(const Settings& settings);

/// Adds the warning that a rule of `external_auth` is not understood here, with the engine `salt`. `mistake`
/// is `FILE:LINE: KEY: TEXT`.
void leave_to_master(std::string_view mistake, Settings& settings);

/// Returns whether this process's user may serve in front of the master of this host, as
/// rest_fcgi-salt.service does. Errors: configuration, with what to do, if `engine: salt` is missing or the
/// master has another user.
[[nodiscard]] Result<void> check_salt(const Settings& settings, const CommandLine& command_line);

using PasswordToHash = std::function<Result<std::string>(const Secret& password)>;

/// Writes the first configuration of a single host, `command_line.config`, and a password file beside it, and
/// starts the services if systemd runs here. Asks on a terminal for what the command line leaves out. Returns
/// what to tell the user. Errors: configuration, if one of the files exists; internal; those of `hash`.
[[nodiscard]] Result<std::string> init(const CommandLine& command_line, const PasswordToHash& hash);

/// A first configuration: its files, and who may log in.
struct FirstSetup {
  std::string config;  ///< path of the master file
  std::string users;   ///< path of the password file
  std::string user;
  std::string hash;  ///< of the user's password, as Apache's htpasswd writes it
  gid_t group = 0;   ///< who may read both files
};

/// Writes the files of `init`. Neither replaces a file. Errors: as for `init`.
Result<void> write_first_setup(const FirstSetup& setup);

/// Returns whether a module with the route `/hook` is served.
[[nodiscard]] bool takes_hooks(const Settings& settings);

/// Returns the output of `--check-config`. `event_bus` and `hooks` are the engine's texts about the master's
/// event bus, and may be empty.
[[nodiscard]] std::string summary(const Settings& settings, const CommandLine& command_line,
                                  std::string_view event_bus = {}, std::string_view hooks = {});

/// Returns a line of `--check-config` about a part of a rule that matches nothing, with the most similar of
/// `names`.
[[nodiscard]] std::string idle_rule_line(std::string_view place, std::string_view text, std::string_view what,
                                         const std::vector<std::string>& names);

/// Returns the keys that take effect at start only and differ between `running` and `wanted`, such as
/// `rest_fcgi: listen`.
[[nodiscard]] std::vector<std::string> restart_keys(const Settings& running, const Settings& wanted);

/// Reads one line of standard input; a terminal is asked without echo. Errors: configuration, if there is no
/// line or it is too long.
[[nodiscard]] Result<Secret> read_password();

/// Writes one line to standard output without stdio, whose buffers are not wiped. Returns false if that
/// failed.
[[nodiscard]] bool print_secret(const Secret& secret);

}  // namespace rest_fcgi::config
