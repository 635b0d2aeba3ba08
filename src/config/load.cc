// SPDX-License-Identifier: MIT
#include <utility>

#include "config/master_file.h"
#include "config/mistakes.h"
#include "config/reader.h"
#include "config/sections.h"
#include "rest_fcgi/config/config.h"

namespace rest_fcgi::config {

Result<Settings> load(const CommandLine& command_line) {
  auto master = read_master_file(command_line.config);
  if (!master) return std::move(master).error();
  Settings settings;
  settings.warnings = std::move(master->warnings);
  Mistakes mistakes;
  Reader top(&master->root, "", mistakes);
  Reader section = top.section("rest_fcgi");
  read_engine(section, settings);
  read_salt_keys(top, settings);
  read_recorded_jobs(section, top, settings);
  read_rest_fcgi(section, settings);
  if (mistakes.any()) return mistakes.take_first();
  if (command_line.listen) settings.gateway.listen = *command_line.listen;
  if (command_line.log_level) settings.log.level = *command_line.log_level;
  settings.salt.timeout = settings.client.timeout;
  settings.salt.conf_file = command_line.config;
  settings.embedded.config_values = config_values(settings);
  return settings;
}

}  // namespace rest_fcgi::config
