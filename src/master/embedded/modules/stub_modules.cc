// SPDX-License-Identifier: MIT

#include "master/embedded/modules/native.h"

/// The execution modules `beacons`, `mine` and `schedule`, and functions of `saltutil` that some clients call
/// automatically. The functions answer like a minion on which beacons, mine and schedule are empty.
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

Reply beacons(const Call& call) {
  return Returned{python_bool(call["return_yaml"]) ? Json::string("beacons: {}\n") : Json::empty_object()};
}

Reply schedule(const Call& call) {
  return Returned{python_bool(call["return_yaml"]) ? Json::string("schedule: {}\n") : Json::empty_object()};
}

Reply available_beacons(const Call&) {
  return Returned{Json::trusted(R"({"beacons": {}})")};
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

#define SYNC_PARAMETERS "(saltenv=None, refresh=True, extmod_whitelist=None, extmod_blacklist=None"

constexpr Function kFunctions[] = {
    {"beacons.list_(return_yaml=True, include_pillar=True, include_opts=True, **kwargs)",
     "Return an empty list of beacons.", beacons},
    {"beacons.list_available(return_yaml=True, **kwargs)", "Return an empty list of available beacons.",
     available_beacons},
    {"mine.delete(fun)", kDone, done, "network.interfaces"},
    {"mine.flush()", kDone, done},
    {"mine.update(clear=False, mine_functions=None)", kDone, done},
    {"mine.valid()", "Return an empty map: the mine has no functions.", empty_map},
    {"saltutil.list_extmods()", "Return an empty map: there is no file server.", empty_map},
    {"saltutil.pillar_refresh = refresh_pillar(wait=False, timeout=30, clean_cache=True)", kDone, done},
    {"saltutil.refresh_beacons()", kDone, done},
    {"saltutil.refresh_grains(**kwargs)", kDone, done},
    {"saltutil.refresh_matchers()", kDone, done},
    {"saltutil.refresh_modules(**kwargs)", kDone, done},
    {"saltutil.refresh_pillar(wait=False, timeout=30, clean_cache=True)", kDone, done},
    {"saltutil.sync_all" SYNC_PARAMETERS ", clean_pillar_cache=False)",
     "Return an empty list for each kind of module: there is no file server.", sync_all},
    {"saltutil.sync_beacons" SYNC_PARAMETERS ")", kNothing, empty_list},
    {"saltutil.sync_grains" SYNC_PARAMETERS ", clean_pillar_cache=False)", kNothing, empty_list},
    {"saltutil.sync_modules" SYNC_PARAMETERS ")", kNothing, empty_list},
    {"saltutil.sync_pillar" SYNC_PARAMETERS ", clean_pillar_cache=False)", kNothing, empty_list},
    {"saltutil.sync_states" SYNC_PARAMETERS ")", kNothing, empty_list},
    {"schedule.list_(show_all=False, show_disabled=True, where=None, return_yaml=True, offline=False)",
     "Return the schedule, which is empty.", schedule},
};

#undef SYNC_PARAMETERS

}  // namespace
}  // namespace stub_modules

std::span<const Function> stub_functions() {
  return stub_modules::kFunctions;
}

}  // namespace rest_fcgi::embedded
