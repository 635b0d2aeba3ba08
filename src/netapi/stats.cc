// SPDX-License-Identifier: MIT
#include <chrono>
#include <string>

#include "netapi/handlers.h"

namespace rest_fcgi::netapi {
namespace {

using http::Response;
using http::Status;

double seconds(std::chrono::microseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::int64_t count(const std::atomic<std::uint64_t>& counter) {
  return static_cast<std::int64_t>(counter.load(std::memory_order_relaxed));
}

}  // namespace

RequestCount::RequestCount(const RequestContext& context) : context_(context) {
  RequestCounters& counters = *context.app.counters;
  counters.requests.fetch_add(1, std::memory_order_relaxed);
  counters.current.fetch_add(1, std::memory_order_relaxed);
  if (context.environ.body) {
    counters.bytes_read.fetch_add(context.environ.body->size(), std::memory_order_relaxed);
  }
}

RequestCount::~RequestCount() {
  context_.app.counters->current.fetch_sub(1, std::memory_order_relaxed);
}

void RequestCount::write(const Response& response) const {
  RequestCounters& counters = *context_.app.counters;
  if (static_cast<int>(response.status) >= 400) counters.errors.fetch_add(1, std::memory_order_relaxed);
  if (const auto* text = std::get_if<std::string>(&response.body)) {
    counters.bytes_written.fetch_add(text->size(), std::memory_order_relaxed);
  }
  if (!context_.app.options.collect_stats || context_.route == nullptr) return;
  const MutexLock lock(counters.mutex);
  ++counters.by_url[path_text(*context_.route)];
}

Response show_stats(RequestContext& context) {
  RequestCounters& counters = *context.app.counters;
  const WallTime now = context.app.clock.wall();
  std::string json;
  JsonWriter writer(json);
  writer.begin_object().key("CherryPy Applications").begin_object();
  writer.key("Enabled").boolean(true);
  writer.key("Start Time").number(seconds(counters.since.time_since_epoch()));
  writer.key("Current Time").number(seconds(now.time_since_epoch()));
  writer.key("Uptime").number(seconds(now - counters.since));
  writer.key("Total Requests").integer(count(counters.requests));
  writer.key("Current Requests").integer(count(counters.current));
  writer.key("Requests").begin_object();
  MutexLock lock(counters.mutex);
  for (const auto& [url, requests] : counters.by_url) {
    writer.key(url).begin_object().key("Count").integer(static_cast<std::int64_t>(requests)).end_object();
  }
  lock.unlock();
  writer.end_object().end_object().key("Cheroot HTTPServer").begin_object();
  writer.key("Enabled").boolean(true).key("Requests").integer(count(counters.requests));
  writer.key("Bytes Read").integer(count(counters.bytes_read));
  writer.key("Bytes Written").integer(count(counters.bytes_written));
  writer.key("Errors").integer(count(counters.errors));
  writer.end_object().end_object();
  return reply(context, Status::ok, std::move(json));
}

}  // namespace rest_fcgi::netapi
