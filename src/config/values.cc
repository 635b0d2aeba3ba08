// SPDX-License-Identifier: MIT
#include <utility>

#include "config/sections.h"

namespace rest_fcgi::config {
namespace {

double seconds_of(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

template <class Names>
void write_names(JsonWriter& writer, const Names& names) {
  writer.begin_array();
  for (const std::string_view name : names) writer.string(name);
  writer.end_array();
}

void write_embedded(JsonWriter& writer, const embedded::Options& options) {
  writer.begin_object().key("max_workers").integer(static_cast<std::int64_t>(options.max_workers));
  writer.key("max_queued").integer(static_cast<std::int64_t>(options.max_queued));
  writer.key("minions").begin_array();
  for (const embedded::MinionOptions& minion : options.minions) writer.string(minion.id);
  writer.end_array().key("proc_dir").string(options.proc_dir).end_object();
}

}  // namespace

/// A list of what is shown, not of what is hidden: a new option is a secret until somebody says that it is
/// none. Users, rules, grains and pillar data stay out.
Json config_values(const Settings& settings) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  writer.key("ext_job_cache");
  write_names(writer, settings.returner.ext_job_cache);
  writer.key("gather_job_timeout").number(seconds_of(settings.client.gather_job_timeout));
  writer.key("keep_jobs_seconds").integer(settings.returner.keep_jobs_seconds.count());
  writer.key("master_job_cache").string(settings.returner.master_job_cache);
  std::vector<std::string_view> clients;
  for (const lowstate::Client client : settings.client.enabled) clients.push_back(lowstate::name_of(client));
  writer.key("netapi_enable_clients");
  write_names(writer, clients);
  writer.key("nodegroups").begin_object();
  for (const master::NodegroupOptions& group : settings.embedded.nodegroups) {
    write_names(writer.key(group.name), group.words);
  }
  writer.end_object().key("rest_fcgi").begin_object().key("embedded");
  write_embedded(writer, settings.embedded);
  writer.key("engine").string("embedded").end_object();
  writer.key("rest_timeout").number(seconds_of(settings.client.rest_timeout));
  writer.key("timeout").number(seconds_of(settings.client.timeout)).end_object();
  return Json::trusted(std::move(text));
}

}  // namespace rest_fcgi::config
