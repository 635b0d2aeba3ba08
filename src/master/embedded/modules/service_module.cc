// SPDX-License-Identifier: MIT
#include "master/embedded/modules/service_module.h"

#include <array>

#include "master/embedded/modules/replies.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

/// Runs a function whose last parameter is `root`, which is Salt's and has no meaning here, as others by
/// name.
template <Reply (*Run)(const Call&)>
Reply on_this_host(const Call& call) {
  if (!call.arguments.back().is(JsonValue::Kind::null)) {
    return invocation_error("The argument 'root' is not supported: units are those of this host.");
  }
  for (const JsonMember& keyword : call.keywords) {
    if (keyword.key.starts_with("__pub_")) continue;
    return invocation_error(format("The argument '{}' is not known here.", keyword.key));
  }
  return Run(call);
}

constexpr std::array kFunctions = {
    Function{.name = "service.available",
             .python_name = "available",
             .parameters = {{{"name"}}},
             .summary = "Return whether there is such a unit.",
             .example = "service.available sshd",
             .quick = false,
             .run = service_module::available},
    Function{.name = "service.disable",
             .python_name = "disable",
             .parameters = {{{"name"}, {"no_block", "false"}, {"root", "null"}}},
             .takes_keywords = true,
             .summary = "Let a unit not start at boot. Return whether that went well.",
             .example = "service.disable sshd",
             .quick = false,
             .run = on_this_host<service_module::disable>},
    Function{.name = "service.disabled",
             .python_name = "disabled",
             .parameters = {{{"name"}, {"root", "null"}}},
             .summary = "Return whether a unit does not start at boot.",
             .example = "service.disabled sshd",
             .quick = false,
             .run = on_this_host<service_module::disabled>},
    Function{.name = "service.enable",
             .python_name = "enable",
             .parameters = {{{"name"},
                             {"no_block", "false"},
                             {"unmask", "false"},
                             {"unmask_runtime", "false"},
                             {"root", "null"}}},
             .takes_keywords = true,
             .summary = "Let a unit start at boot.",
             .example = "service.enable sshd",
             .quick = false,
             .run = on_this_host<service_module::enable>},
    Function{.name = "service.enabled",
             .python_name = "enabled",
             .parameters = {{{"name"}, {"root", "null"}}},
             .takes_keywords = true,
             .summary = "Return whether a unit starts at boot.",
             .example = "service.enabled sshd",
             .quick = false,
             .run = on_this_host<service_module::enabled>},
    Function{
        .name = "service.force_reload",
        .python_name = "force_reload",
        .parameters = {{{"name"}, {"no_block", "true"}, {"unmask", "false"}, {"unmask_runtime", "false"}}},
        .summary = "Let a unit read its configuration again, or restart where it cannot.",
        .example = "service.force_reload sshd",
        .quick = false,
        .run = service_module::force_reload},
    Function{.name = "service.get_all",
             .python_name = "get_all",
             .parameters = {{{"root", "null"}}},
             .summary = "Return the names of all units that have a file, and of init scripts.",
             .example = "service.get_all",
             .quick = false,
             .run = on_this_host<service_module::get_all>},
    Function{.name = "service.get_disabled",
             .python_name = "get_disabled",
             .parameters = {{{"root", "null"}}},
             .summary = "Return the names of the units that are disabled.",
             .example = "service.get_disabled",
             .quick = false,
             .run = on_this_host<service_module::get_disabled>},
    Function{.name = "service.get_enabled",
             .python_name = "get_enabled",
             .parameters = {{{"root", "null"}}},
             .summary = "Return the names of the units that are enabled.",
             .example = "service.get_enabled",
             .quick = false,
             .run = on_this_host<service_module::get_enabled>},
    Function{.name = "service.get_running",
             .python_name = "get_running",
             .summary = "Return the names of the units that run.",
             .example = "service.get_running",
             .quick = false,
             .run = service_module::get_running},
    Function{.name = "service.get_static",
             .python_name = "get_static",
             .parameters = {{{"root", "null"}}},
             .summary = "Return the names of the units that are neither enabled nor disabled.",
             .example = "service.get_static",
             .quick = false,
             .run = on_this_host<service_module::get_static>},
    Function{.name = "service.mask",
             .python_name = "mask",
             .parameters = {{{"name"}, {"runtime", "false"}, {"root", "null"}}},
             .summary = "Let a unit not start at all, with ``runtime`` until the next boot.",
             .example = "service.mask sshd",
             .quick = false,
             .run = on_this_host<service_module::mask>},
    Function{.name = "service.masked",
             .python_name = "masked",
             .parameters = {{{"name"}, {"runtime", "false"}, {"root", "null"}}},
             .summary = "Return whether a unit is masked, with ``runtime`` until the next boot.",
             .example = "service.masked sshd",
             .quick = false,
             .run = on_this_host<service_module::masked>},
    Function{.name = "service.missing",
             .python_name = "missing",
             .parameters = {{{"name"}}},
             .summary = "Return whether there is no such unit.",
             .example = "service.missing sshd",
             .quick = false,
             .run = service_module::missing},
    Function{
        .name = "service.reload",
        .python_name = "reload_",
        .parameters = {{{"name"}, {"no_block", "false"}, {"unmask", "false"}, {"unmask_runtime", "false"}}},
        .summary = "Let a unit read its configuration again.",
        .example = "service.reload sshd",
        .quick = false,
        .run = service_module::reload},
    Function{
        .name = "service.restart",
        .python_name = "restart",
        .parameters = {{{"name"}, {"no_block", "null"}, {"unmask", "false"}, {"unmask_runtime", "false"}}},
        .summary = "Restart a unit.",
        .example = "service.restart sshd",
        .quick = false,
        .run = service_module::restart},
    Function{.name = "service.show",
             .python_name = "show",
             .parameters = {{{"name"}, {"root", "null"}}},
             .summary = "Return the properties of a unit.",
             .example = "service.show sshd",
             .quick = false,
             .run = on_this_host<service_module::show>},
    Function{
        .name = "service.start",
        .python_name = "start",
        .parameters = {{{"name"}, {"no_block", "false"}, {"unmask", "false"}, {"unmask_runtime", "false"}}},
        .summary = "Start a unit.",
        .example = "service.start sshd",
        .quick = false,
        .run = service_module::start},
    Function{.name = "service.status",
             .python_name = "status",
             .parameters = {{{"name"}, {"sig", "null"}}},
             .summary = "Return whether a unit is active; of a pattern, whether each unit that matches is.",
             .example = "service.status sshd\nservice.status 'ssh*'",
             .quick = false,
             .run = service_module::status},
    Function{.name = "service.stop",
             .python_name = "stop",
             .parameters = {{{"name"}, {"no_block", "null"}}},
             .summary = "Stop a unit. Return whether that went well.",
             .example = "service.stop sshd",
             .quick = false,
             .run = service_module::stop},
    Function{.name = "service.systemctl_reload",
             .python_name = "systemctl_reload",
             .summary = "Let systemd read its unit files again.",
             .example = "service.systemctl_reload",
             .quick = false,
             .run = service_module::systemctl_reload},
    Function{.name = "service.unmask",
             .python_name = "unmask_",
             .parameters = {{{"name"}, {"runtime", "false"}, {"root", "null"}}},
             .summary = "Undo ``service.mask``.",
             .example = "service.unmask sshd",
             .quick = false,
             .run = on_this_host<service_module::unmask>},
};

}  // namespace

std::span<const Function> service_functions() {
  return kFunctions;
}

}  // namespace rest_fcgi::embedded
