// SPDX-License-Identifier: MIT
#include "master/embedded/runners/stored_job.h"

#include <utility>

#include "master/embedded/python/python.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/master/jid.h"

namespace rest_fcgi::embedded {

Result<const returner::Returner*> source_named(const Jobs& jobs, JsonValue ext_source) {
  if (!python_bool(ext_source)) return &jobs.cache();
  if (const returner::Returner* found = jobs.returners().find(ext_source.text())) return found;
  std::string names;
  for (const std::string& name : jobs.returners().names()) names.append(names.empty() ? "" : ", ") += name;
  return Error{ErrorKind::invocation,
               format("ext_source is {}, but the job caches here are {}", ext_source.python_repr(), names)};
}

Result<std::optional<StoredJob>> find_stored(const returner::Returner& cache, std::string_view jid) {
  Result<std::optional<returner::Load>> load = cache.get_load(jid);
  if (!load) return std::move(load).error();
  if (!*load) return std::optional<StoredJob>();
  Result<std::vector<returner::JobReturn>> returns = cache.get_jid(jid);
  if (!returns) return std::move(returns).error();
  return std::optional(StoredJob{**std::move(load), *std::move(returns)});
}

void write_description(JsonWriter& writer, const returner::Load& load) {
  writer.key("Function").json(load.fun).key("Arguments").json(load.arg).key("Target").json(load.tgt);
  writer.key("Target-type").string(load.tgt_type).key("User").string(load.user);
  if (load.metadata) writer.key("Metadata").json(*load.metadata);
}

void write_minions(JsonWriter& writer, const returner::Load& load) {
  writer.key("Minions").begin_array();
  for (const std::string& minion : load.minions) writer.string(minion);
  writer.end_array();
}

void write_start_time(JsonWriter& writer, std::string_view jid) {
  writer.key("StartTime").string(master::jid_start_time(jid));
}

void write_no_such_job(JsonWriter& writer) {
  writer.key("Error").string("Cannot contact returner or no job with this jid");
}

void write_result(JsonWriter& writer, const std::vector<returner::JobReturn>& returns) {
  writer.key("Result").begin_object();
  for (const returner::JobReturn& ret : returns) {
    writer.key(ret.minion).begin_object().key("return").json(ret.ret);
    writer.key("retcode").integer(ret.retcode).key("success").boolean(ret.success);
    if (!ret.out.empty()) writer.key("out").string(ret.out);
    writer.end_object();
  }
  writer.end_object();
}

Json printed(const StoredJob& job) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key(job.load.jid).begin_object();
  write_description(writer, job.load);
  write_minions(writer, job.load);
  write_start_time(writer, job.load.jid);
  write_result(writer, job.returns);
  writer.end_object().end_object();
  return Json::trusted(std::move(text));
}

Json with_outputter(std::string_view outputter, std::string data) {
  if (outputter.empty()) return Json::trusted(std::move(data));
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("outputter").string(outputter).key("data").raw(data).end_object();
  return Json::trusted(std::move(text));
}

}  // namespace rest_fcgi::embedded
