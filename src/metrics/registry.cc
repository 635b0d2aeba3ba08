// SPDX-License-Identifier: MIT
#include "rest_fcgi/metrics/registry.h"

#include <map>
#include <type_traits>

namespace rest_fcgi::metrics {
namespace {

template <class Metric>
constexpr Type kTypeOf = std::is_same_v<Metric, Counter> ? Type::counter
                         : std::is_same_v<Metric, Gauge> ? Type::gauge
                                                         : Type::histogram;

void write_value(Writer& writer, const Labels& labels, const auto& counter_or_gauge) {
  writer.sample(labels, counter_or_gauge.value());
}

/// OpenMetrics compares the label `le` as text, so the bound 1 is written as `1.0`.
std::string bound_text(std::size_t bucket) {
  if (bucket == Histogram::kBounds.size()) return "+Inf";
  std::string text = number_text(Histogram::kBounds[bucket]);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

void write_value(Writer& writer, Labels labels, const Histogram& histogram) {
  std::uint64_t count = 0;
  for (std::size_t bucket = 0; bucket <= Histogram::kBounds.size(); ++bucket) {
    count += histogram.count(bucket);
    const std::string bound = bound_text(bucket);
    labels.emplace_back("le", bound);
    writer.sample("_bucket", labels, static_cast<double>(count));
    labels.pop_back();
  }
  writer.sample("_count", labels, static_cast<double>(count));
  writer.sample("_sum", labels, histogram.sum());
}

}  // namespace

template <class Metric>
void Family<Metric>::write(Writer& writer, const std::vector<std::string>& values,
                           const Metric& metric) const {
  Labels labels;
  for (std::size_t i = 0; i < values.size(); ++i) labels.emplace_back(description_.labels[i], values[i]);
  write_value(writer, std::move(labels), metric);
}

template <class Metric>
void Family<Metric>::write(Writer& writer) const {
  writer.metric(kTypeOf<Metric>, description_.name, description_.help);
  const MutexLock lock(mutex_);
  std::map<std::vector<std::string>, const Metric*> sorted;
  for (const auto& [values, metric] : series_) sorted.emplace(values, metric.get());
  for (const auto& [values, metric] : sorted) write(writer, values, *metric);
  if (dropped_.value() == 0 || std::is_same_v<Metric, Gauge>) return;
  write(writer, std::vector<std::string>(description_.labels.size(), "other"), other_);
}

template class Family<Counter>;
template class Family<Gauge>;
template class Family<Histogram>;

void Registry::on_collect(std::function<void(Writer&)> collect) {
  const MutexLock lock(mutex_);
  collects_.push_back(std::move(collect));
}

std::string Registry::text(Format wanted) const {
  std::string text;
  Writer writer(wanted, text);
  const MutexLock lock(mutex_);
  for (const Entry& entry : entries_) entry.write(writer);
  for (const auto& collect : collects_) collect(writer);
  writer.metric(Type::counter, "rest_fcgi_metrics_dropped_total",
                "Values without a series of their own, because the metric has too many series.");
  for (const Entry& entry : entries_) entry.write_dropped(writer);
  writer.end();
  return text;
}

}  // namespace rest_fcgi::metrics
