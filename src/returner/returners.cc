// SPDX-License-Identifier: MIT
#include "rest_fcgi/returner/returners.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/returner/returner.h"
#include "returner/etcd/store.h"
#include "returner/store_returner.h"

namespace rest_fcgi::returner {
namespace {

constexpr std::string_view kMemory = "memory";
constexpr std::string_view kSqlite = "sqlite3";
constexpr std::string_view kEtcd = "etcd";

constexpr std::size_t kBytesInMemory = std::size_t{8} << 20;
constexpr std::size_t kBytesOnDisk = std::size_t{1} << 30;

Result<std::unique_ptr<Returner>> open_cache(const std::string& name, const Options& options,
                                             std::shared_ptr<store::Store> store, const Clock& clock) {
  if (name == kEtcd) return open_etcd_returner(options.etcd, std::move(store), clock);
  if (name == kMemory) {
    auto own = store::Store::open({});
    if (!own) return std::move(own).error();
    store = *std::move(own);
  } else if (name != kSqlite) {
    return wrong_setting("master_job_cache", format("found {}, expected memory, sqlite3 or etcd", name));
  }
  const std::size_t bytes = store->is_in_memory() ? kBytesInMemory : kBytesOnDisk;
  return make_store_returner(std::move(store), options.keep_jobs_seconds, options.max_bytes.value_or(bytes),
                             clock);
}

}  // namespace

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

Result<std::unique_ptr<Returners>> Returners::make(const Options& options,
                                                   const std::shared_ptr<store::Store>& store,
                                                   const Clock& clock) {
  std::unique_ptr<Returners> returners(new Returners());
  Result<void> opened = returners->open(options, store, clock);
  return opened ? Result(std::move(returners)) : std::move(opened).error();
}

Result<void> Returners::open(const Options& options, const std::shared_ptr<store::Store>& store,
                             const Clock& clock) {
  std::set<std::string> wanted(options.ext_job_cache.begin(), options.ext_job_cache.end());
  wanted.insert({options.master_job_cache, std::string(kSqlite)});
  if (options.etcd.is_chosen) wanted.emplace(kEtcd);
  for (const std::string& name : wanted) {
    auto cache = open_cache(name, options, store, clock);
    if (!cache) return std::move(cache).error();
    by_name_.emplace(name, *std::move(cache));
  }
  master_job_cache_ = find(options.master_job_cache);
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
