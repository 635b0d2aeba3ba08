// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/metrics/writer.h"

namespace rest_fcgi::metrics {

/// A number that only grows. All metrics in this file are thread-safe.
class Counter {
 public:
  void add(std::uint64_t count = 1) noexcept { count_.fetch_add(count, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const noexcept { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> count_ = 0;
};

class Gauge {
 public:
  void set(double value) noexcept { value_.store(value, std::memory_order_relaxed); }
  [[nodiscard]] double value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_ = 0;
};

class Histogram {
 public:
  /// The upper bounds of the buckets in seconds (Prometheus' label `le`).
  static constexpr std::array<double, 14> kBounds{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1,
                                                  0.3,    1,      3,     10,    30,   100,  300};

  void observe(std::chrono::nanoseconds time) noexcept {
    const double seconds = std::chrono::duration<double>(time).count();
    const auto bucket = std::lower_bound(kBounds.begin(), kBounds.end(), seconds) - kBounds.begin();
    counts_[static_cast<std::size_t>(bucket)].add();
    nanoseconds_.add(static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0)));
  }

  /// Returns the number of durations in one bucket alone. The last bucket, `kBounds.size()`, has no upper
  /// bound.
  [[nodiscard]] std::uint64_t count(std::size_t bucket) const noexcept { return counts_[bucket].value(); }
  [[nodiscard]] double sum() const noexcept { return static_cast<double>(nanoseconds_.value()) / 1e9; }

 private:
  std::array<Counter, kBounds.size() + 1> counts_;
  Counter nanoseconds_;
};

struct Description {
  std::string_view name;  ///< The name, a string literal. A counter's name ends with `_total`.
  std::string_view help;
  std::vector<std::string_view> labels{};
  std::size_t max_series = 1000;  ///< The largest number of combinations of label values.
};

/// All series of one metric, one series for each combination of label values. Combinations beyond
/// `max_series` share one series with the label values `other`. This series is not shown for gauges.
template <class Metric>
class Family {
 public:
  explicit Family(Description description) : description_(std::move(description)) {}

  /// Returns the series with these values of `Description::labels`, and creates a missing series. The
  /// reference is valid until `erase`. REQUIRES: each label has a value.
  Metric& with(std::initializer_list<std::string_view> values) {
    const MutexLock lock(mutex_);
    if (const auto found = series_.find(values); found != series_.end()) return *found->second;
    if (series_.size() >= description_.max_series) {
      dropped_.add();
      return other_;
    }
    const auto made =
        series_.emplace(std::vector<std::string>(values.begin(), values.end()), std::make_unique<Metric>());
    return *made.first->second;
  }

  /// Removes a series. REQUIRES: no other thread uses this series.
  void erase(std::initializer_list<std::string_view> values) {
    const MutexLock lock(mutex_);
    if (const auto found = series_.find(values); found != series_.end()) series_.erase(found);
  }

  void write(Writer& writer) const;

  [[nodiscard]] std::string_view name() const noexcept { return description_.name; }
  [[nodiscard]] bool is_limited() const noexcept { return !description_.labels.empty(); }
  /// Returns the number of calls of `with` that got the shared series instead of a new series.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_.value(); }

 private:
  // `with` runs several times in each request, so the look-up does not copy the label values.
  struct Hash {
    using is_transparent = void;
    template <class Values>
    std::size_t operator()(const Values& values) const {
      std::size_t hash = 0;
      for (const std::string_view value : values) hash = 31 * hash + std::hash<std::string_view>()(value);
      return hash;
    }
  };
  struct Equal {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }
  };

  void write(Writer& writer, const std::vector<std::string>& values, const Metric& metric) const;

  const Description description_;
  mutable Mutex mutex_;
  std::unordered_map<std::vector<std::string>, std::unique_ptr<Metric>, Hash, Equal> series_
      GUARDED_BY(mutex_);
  Metric other_;
  Counter dropped_;
};

/// Owns all metrics of the process. References to families live as long as the Registry. Thread-safe.
class Registry {
 public:
  Registry() = default;
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  Family<Counter>& counters(Description description) { return add<Counter>(std::move(description)); }
  Family<Gauge>& gauges(Description description) { return add<Gauge>(std::move(description)); }
  Family<Histogram>& histograms(Description description) { return add<Histogram>(std::move(description)); }

  /// Registers `collect`, which writes further metrics in each call of `text`. Calls of `text` wait for each
  /// other.
  void on_collect(std::function<void(Writer&)> collect);

  [[nodiscard]] std::string text(Format wanted) const;

 private:
  /// Hides the metric type, so that one list can hold all families.
  struct Entry {
    std::shared_ptr<void> family;
    std::function<void(Writer&)> write;
    std::function<void(Writer&)> write_dropped;
  };

  template <class Metric>
  Family<Metric>& add(Description description) {
    auto family = std::make_shared<Family<Metric>>(std::move(description));
    Family<Metric>& made = *family;
    const MutexLock lock(mutex_);
    entries_.push_back({std::move(family), [&made](Writer& writer) { made.write(writer); },
                        [&made](Writer& writer) {
                          if (made.is_limited())
                            writer.sample({{"metric", made.name()}}, static_cast<double>(made.dropped()));
                        }});
    return made;
  }

  mutable Mutex mutex_;
  std::vector<Entry> entries_ GUARDED_BY(mutex_);
  std::vector<std::function<void(Writer&)>> collects_ GUARDED_BY(mutex_);
};

/// Adds the process's own metrics with their standard names, such as `process_open_fds`.
void add_process_metrics(Registry& registry);

}  // namespace rest_fcgi::metrics
