// SPDX-License-Identifier: MIT
#pragma once

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

/// What the command line asks for.
struct CommandLine {
  enum class Action { serve, check_config, make_token, revoke, explain, show_version, show_help };
  Action action = Action::serve;
  std::string config;                   ///< path; `--config`, else SALT_MASTER_CONFIG, else /etc/salt/master
  std::optional<std::string> listen;    ///< wins over the configuration's
  std::optional<log::Level> log_level;  ///< wins over the configuration's
  std::string eauth;                    ///< make_token; revoke, where empty stands for all
  std::string username;  ///< make_token (the password comes on standard input), revoke, explain
  std::string fun;       ///< explain
  std::string tgt;       ///< explain
};

/// Errors: configuration, naming the option.
[[nodiscard]] Result<CommandLine> parse_command_line(int argc, const char* const* argv);

/// The text for `--help`.
[[nodiscard]] std::string help_text();

/// What carries calls out: minions in this process, or a real Salt master.
enum class Engine { embedded, salt };

/// Which of Salt's netapi modules answer, and where.
struct FrontEnds {
  bool are_named = false;  ///< `rest_fcgi: netapi` is there; without it no module has a port
  std::vector<netapi::Module> served{netapi::Module::rest_wsgi};
  /// Over FastCGI: paths without a slash at the end, but for `/`.
  std::vector<std::pair<std::string, netapi::Module>> mounts{{"/", netapi::Module::rest_wsgi}};
  std::vector<netapi::Module> http;    ///< on each of `gateway::Options::http`, in its order
  std::vector<netapi::Module> idle{};  ///< have a section in the master file that nobody looks at
  /// Web servers in front of the ports; std::nullopt for `auto`. Each of `gateway::Options::http` has what it
  /// means.
  std::optional<std::vector<std::string>> trusted_proxies{};
  std::vector<std::string> inert{};  ///< keys of sections that are served, and change nothing here
};

/// Where keys stand, `FILE:LINE`, by their path such as `rest_fcgi: listen`.
using Places = std::map<std::string, std::string, std::less<>>;

/// The options of every room.
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
  std::string default_cachedir;  ///< Salt's own, where the engine `embedded` is used and nobody chose one
  std::vector<std::string> warnings;  ///< what looks like an oversight, one line each
  Places places;
  /// The keys that take effect at start only, with what they have.
  std::vector<std::pair<std::string, std::string>> start_keys;

  /// What `--check-config` and `--explain` make an engine of: the same, but nothing on the disk is made or
  /// opened, since they may run as another user than the server, who could not use what they made.
  [[nodiscard]] Settings without_files() &&;

  /// What `--mk-token` makes an engine of: tokens are stored, but no jobs are kept.
  [[nodiscard]] Settings without_jobs() &&;
};

/// Reads Salt's own master file, with `default_include` and `include` merged as Salt merges them. Salt's keys
/// that mean nothing to us are left alone; our own section is `rest_fcgi:`, where a key that is not known is
/// a mistake. Errors: configuration, one line `FILE:LINE: key: what was found, what is accepted`.
[[nodiscard]] Result<Settings> load(const CommandLine& command_line);

/// Puts the place of the key in front of an error that begins with that key, such as one of a component that
/// tried to use its value.
[[nodiscard]] Error with_place(Error error, const Settings& settings);

/// Looks up the names of hosts that ports listen at, and that of a real master; this may take seconds where a
/// name server does not answer. Errors: configuration, for a name that has no address.
[[nodiscard]] Result<void> check_hosts(const Settings& settings);

/// Makes the folder `default_cachedir`, and those above it, for who is about to use it. Where that cannot be,
/// what would have been kept there is not, and one warning says what that means: jobs are kept in memory, and
/// there are no tokens. What somebody chose stays as it is.
void make_cachedir(Settings& settings);

/// A rule of the master's `external_auth` that cannot be read here, with the engine `salt`, is no mistake of
/// ours: a warning, which says what that means. `mistake` is `FILE:LINE: key: what is wrong`.
void leave_to_master(std::string_view mistake, Settings& settings);

/// Is a module served that has hooks?
[[nodiscard]] bool takes_hooks(const Settings& settings);

/// What `--check-config` prints: which clients, eauth back ends and engine are on, and where none is.
/// `event_bus` is what the engine `salt` says of the master's, and `hooks` whether events can be fired on it;
/// empty: nobody asks.
[[nodiscard]] std::string summary(const Settings& settings, const CommandLine& command_line,
                                  std::string_view event_bus = {}, std::string_view hooks = {});

/// Returns the line of `--check-config` about a part of a rule that matches nothing, with the name that was
/// probably meant; empty where `summary` has a note about that part already.
[[nodiscard]] std::string idle_rule_line(const Settings& settings, std::string_view place,
                                         std::string_view text, std::string_view what,
                                         const std::vector<std::string>& names);

/// The keys that take effect at start only and differ between what runs and what is `wanted` now, each with
/// the keys above it, such as `rest_fcgi: listen`.
[[nodiscard]] std::vector<std::string> restart_keys(const Settings& running, const Settings& wanted);

/// One line of standard input; where that is a terminal, it is asked for without echo.
/// Errors: configuration, where there is none or it is absurdly long.
[[nodiscard]] Result<Secret> read_password();

/// One line of standard output, past the buffers of stdio, which nobody wipes. Did it get there?
[[nodiscard]] bool print_secret(const Secret& secret);

}  // namespace rest_fcgi::config
