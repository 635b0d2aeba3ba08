// SPDX-License-Identifier: MIT
#include <string_view>

#include "master/embedded/modules/native.h"

/// The modules beacons, mine and schedule, and saltutil's functions that refresh and fetch files. Clients
/// call them by themselves. Minions of this process answer as a minion that has none of these things.
namespace rest_fcgi::embedded {
namespace stub_modules {
namespace {

Reply done(const Call&) {
  return Returned{Json::boolean(true)};
}

Reply empty_map(const Call&) {
  return Returned{Json::empty_object()};
}

Reply empty_list(const Call&) {
  return Returned{Json::trusted("[]")};
}

Reply empty_in_yaml(const Call& call, std::string_view yaml) {
  return Returned{python_bool(call["return_yaml"]) ? Json::string(yaml) : Json::empty_object()};
}

Reply beacons(const Call& call) {
  return empty_in_yaml(call, "beacons: {}\n");
}

Reply available_beacons(const Call&) {
  return Returned{Json::trusted(R"({"beacons": {}})")};
}

Reply schedule(const Call& call) {
  return empty_in_yaml(call, "schedule: {}\n");
}

Reply sync_all(const Call&) {
  constexpr std::string_view kKinds =
      "clouds beacons modules states sdb grains renderers returners output utils log_handlers executors "
      "proxymodules engines thorium serializers matchers";
  return Returned{written_object([&](JsonWriter& writer) {
    for (const std::string_view kind : split_words(kKinds)) writer.key(kind).begin_array().end_array();
  })};
}

constexpr std::string_view kDone = "Return ``True``: there is nothing to do.";
constexpr std::string_view kNothing = "Return an empty list: there is no file server.";

constexpr Function kFunctions[] = {
    {"beacons.list_(return_yaml=True, include_pillar=True, include_opts=True, **kwargs)",
     "Return an empty list of beacons.", "beacons.list", beacons},
    {"beacons.list_available(return_yaml=True, **kwargs)", "Return an empty list of available beacons.",
     "beacons.list_available", available_beacons},
    {"mine.delete(fun)", kDone, "mine.delete network.interfaces", done},
    {"mine.flush()", kDone, "mine.flush", done},
    {"mine.update(clear=False, mine_functions=None)", kDone, "mine.update", done},
    {"mine.valid()", "Return an empty map: the mine has no functions.", "mine.valid", empty_map},
    {"saltutil.list_extmods()", "Return an empty map: there is no file server.", "saltutil.list_extmods",
     empty_map},
    {"saltutil.pillar_refresh = refresh_pillar(wait=False, timeout=30, clean_cache=True)", kDone,
     "saltutil.pillar_refresh", done},
    {"saltutil.refresh_beacons()", kDone, "saltutil.refresh_beacons", done},
    {"saltutil.refresh_grains(**kwargs)", kDone, "saltutil.refresh_grains", done},
    {"saltutil.refresh_matchers()", kDone, "saltutil.refresh_matchers", done},
    {"saltutil.refresh_modules(**kwargs)", kDone, "saltutil.refresh_modules", done},
    {"saltutil.refresh_pillar(wait=False, timeout=30, clean_cache=True)", kDone, "saltutil.refresh_pillar",
     done},
    {"saltutil.sync_all(saltenv=None, refresh=True, extmod_whitelist=None, extmod_blacklist=None, "
     "clean_pillar_cache=False)",
     "Return an empty list for each kind of module: there is no file server.", "saltutil.sync_all", sync_all},
    {"saltutil.sync_beacons(saltenv=None, refresh=True, extmod_whitelist=None, extmod_blacklist=None)",
     kNothing, "saltutil.sync_beacons", empty_list},
    {"saltutil.sync_grains(saltenv=None, refresh=True, extmod_whitelist=None, extmod_blacklist=None, "
     "clean_pillar_cache=False)",
     kNothing, "saltutil.sync_grains", empty_list},
    {"saltutil.sync_modules(saltenv=None, refresh=True, extmod_whitelist=None, extmod_blacklist=None)",
     kNothing, "saltutil.sync_modules", empty_list},
    {"saltutil.sync_pillar(saltenv=None, refresh=True, extmod_whitelist=None, extmod_blacklist=None, "
     "clean_pillar_cache=False)",
     kNothing, "saltutil.sync_pillar", empty_list},
    {"saltutil.sync_states(saltenv=None, refresh=True, extmod_whitelist=None, extmod_blacklist=None)",
     kNothing, "saltutil.sync_states", empty_list},
    {"schedule.list_(show_all=False, show_disabled=True, where=None, return_yaml=True, offline=False)",
     "Return the schedule, which is empty.", "schedule.list", schedule},
};

}  // namespace
}  // namespace stub_modules

std::span<const Function> stub_functions() {
  return stub_modules::kFunctions;
}

}  // namespace rest_fcgi::embedded
