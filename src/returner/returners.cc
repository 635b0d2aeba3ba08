// SPDX-License-Identifier: MIT
#include "rest_fcgi/returner/returners.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/returner/watch.h"
#include "returner/etcd/store.h"
#include "returner/sqlite/store.h"

namespace rest_fcgi::returner {
namespace {

constexpr std::string_view kMemory = "memory";
constexpr std::string_view kSqlite = "sqlite3";
constexpr std::string_view kEtcd = "etcd";

Result<std::unique_ptr<Returner>> open_cache(const std::string& name, const Options& options,
                                             const Clock& clock) {
  if (name == kMemory) return make_memory_returner(options, clock);
  const bool is_etcd = name == kEtcd;
  if (!is_etcd && name != kSqlite) {
    return Error{ErrorKind::configuration,
                 format("master_job_cache: found {}, expected memory, sqlite3 or etcd", name)};
  }
  auto opened = is_etcd ? open_etcd_returner(options, clock) : open_sqlite_returner(options, clock);
  if (opened || opened.error().kind == ErrorKind::configuration) return opened;
  const std::string what = is_etcd ? "master_job_cache: etcd cannot be used: " + options.etcd.spool
                                   : format("sqlite3.database: {} cannot be used", options.sqlite3.database);
  return Error{ErrorKind::configuration, format("{}: {}", what, opened.error().message)};
}

/// Certainly no file has that path. In a folder that may not be looked into, one could.
bool is_missing(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return false;
  if (errno != EACCES) return errno == ENOENT || errno == ENOTDIR;
  return ::stat(path.substr(0, path.rfind('/')).c_str(), &status) != 0;
}

}  // namespace

Result<void> Returner::save_job(const Load& load, std::span<const ReturnView> returns) {
  Result<void> saved = save_load(load, Durability::grouped);
  for (const ReturnView& ret : returns) {
    Result<void> kept = returner(load.jid, ret.copy());
    if (saved && !kept) saved = std::move(kept);
  }
  return saved;
}

Result<std::unique_ptr<Watch>> Returner::watch(ClusterListener&) {
  return std::unique_ptr<Watch>();
}

Result<LoadPage> get_page(const Returner& cache, JobQuery query, std::size_t most) {
  LoadPage page;
  bool more = false;
  Result<void> walked = cache.get_jids(query, [&](const Load& load) {
    more = page.loads.size() == most;
    if (!more) page.loads.push_back(load);
    return !more;
  });
  if (!walked) return std::move(walked).error();
  if (!more) return page;
  (query.newest_first ? query.before : query.after) = page.loads.back().jid;
  page.rest = std::move(query);
  return page;
}

std::unique_ptr<Returners> Returners::of(std::string name, std::unique_ptr<Returner> cache) {
  std::unique_ptr<Returners> returners(new Returners());
  returners->master_job_cache_ = cache.get();
  returners->by_name_.emplace(std::move(name), std::move(cache));
  return returners;
}

Result<std::unique_ptr<Returners>> Returners::make(const Options& options, const Clock& clock) {
  std::unique_ptr<Returners> returners(new Returners());
  if (Result<void> opened = returners->open(options, clock); !opened) return std::move(opened).error();
  return returners;
}

Result<void> Returners::open(const Options& options, const Clock& clock) {
  std::set<std::string> wanted(options.ext_job_cache.begin(), options.ext_job_cache.end());
  wanted.insert(options.master_job_cache);
  // Somebody who chose a database may name it in a call.
  if (!options.sqlite3.database.empty() && !options.sqlite3.is_default) wanted.emplace(kSqlite);
  if (options.etcd.is_chosen) wanted.emplace(kEtcd);
  std::string master = options.master_job_cache;
  for (const std::string& name : wanted) {
    Result<std::unique_ptr<Returner>> cache = open_cache(name, options, clock);
    if (cache) {
      by_name_.emplace(name, *std::move(cache));
    } else if (name == kSqlite && options.sqlite3.is_default && is_missing(options.sqlite3.database)) {
      log::warning(format("jobs are kept in this process's memory only: {}", cache.error().message));
      by_name_.emplace(kMemory, make_memory_returner(options, clock));
      master = kMemory;
    } else {
      return std::move(cache).error();
    }
  }
  master_job_cache_ = find(master);
  for (const std::string& name : options.ext_job_cache) ext_job_caches_.push_back(find(name));
  return {};
}

Returner* Returners::find(std::string_view name) const {
  const auto found = by_name_.find(name == "sqlite" ? kSqlite : name);
  return found == by_name_.end() ? nullptr : found->second.get();
}

Result<void> Returners::flush() const {
  Result<void> all;
  for (const auto& [name, cache] : by_name_) {
    Result<void> flushed = cache->flush();
    if (all && !flushed) all = std::move(flushed);
  }
  return all;
}

std::vector<std::string> Returners::names() const {
  std::vector<std::string> names;
  for (const auto& [name, cache] : by_name_) names.push_back(name);
  return names;
}

}  // namespace rest_fcgi::returner
