// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rest_fcgi::metrics {

enum class Format {
  text,         ///< `text` is the text format 0.0.4 of Prometheus.
  openmetrics,  ///< `openmetrics` is the format OpenMetrics 1.0.
};

enum class Type { counter, gauge, histogram };

using Labels = std::vector<std::pair<std::string_view, std::string_view>>;

/// Writes metrics as text. Used by one thread.
class Writer {
 public:
  Writer(Format wanted, std::string& text) : format_(wanted), text_(text) {}

  /// Begins a metric. Samples belong to this metric until the next call. A counter's name ends with `_total`.
  void metric(Type type, std::string_view name, std::string_view help);

  void sample(const Labels& labels, auto value) { sample("", labels, static_cast<double>(value)); }
  /// Writes a sample. The `suffix` of a histogram is `_bucket`, `_sum` or `_count`; other metrics have an
  /// empty suffix.
  void sample(std::string_view suffix, const Labels& labels, double value);

  void gauge(std::string_view name, std::string_view help, auto value) {
    metric(Type::gauge, name, help);
    sample({}, value);
  }
  void counter(std::string_view name, std::string_view help, auto value) {
    metric(Type::counter, name, help);
    sample({}, value);
  }

  /// Writes the end of the text, after the last sample.
  void end();

 private:
  enum class Quotes { kept, escaped };
  void escape(std::string_view text, Quotes quotes);

  const Format format_;
  std::string& text_;
  std::string name_;
};

/// Returns the shortest text from which a program reads the same number, such as `0.5`, `1` or `+Inf`.
[[nodiscard]] std::string number_text(double value);

}  // namespace rest_fcgi::metrics
