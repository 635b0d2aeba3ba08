// SPDX-License-Identifier: MIT
#include "rest_fcgi/metrics/writer.h"

#include <cmath>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::metrics {
namespace {

constexpr std::string_view kTotal = "_total";
constexpr std::string_view kTypes[] = {"counter", "gauge", "histogram"};

}  // namespace

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return format("{}", value);
}

void Writer::escape(std::string_view text, Quotes quotes) {
  for (const char c : text) {
    if (c == '\\') {
      text_ += "\\\\";
    } else if (c == '\n') {
      text_ += "\\n";
    } else if (c == '"' && quotes == Quotes::escaped) {
      text_ += "\\\"";
    } else {
      text_ += c;
    }
  }
}

void Writer::metric(Type type, std::string_view name, std::string_view help) {
  name_ = name;
  // In OpenMetrics the name of a counter lacks `_total`, but the names of its samples have it.
  std::string_view described = name;
  if (format_ == Format::openmetrics && described.ends_with(kTotal)) described.remove_suffix(kTotal.size());
  text_.append("# HELP ").append(described).append(" ");
  escape(help, format_ == Format::openmetrics ? Quotes::escaped : Quotes::kept);
  text_.append("\n# TYPE ").append(described).append(" ");
  text_.append(kTypes[static_cast<std::size_t>(type)]).append("\n");
}

void Writer::sample(std::string_view suffix, const Labels& labels, double value) {
  text_.append(name_).append(suffix);
  char before = '{';
  for (const auto& [name, content] : labels) {
    text_.append(1, before).append(name).append("=\"");
    escape(content, Quotes::escaped);
    text_.append("\"");
    before = ',';
  }
  if (!labels.empty()) text_.append("}");
  text_.append(" ").append(number_text(value)).append("\n");
}

void Writer::end() {
  if (format_ == Format::openmetrics) text_.append("# EOF\n");
}

}  // namespace rest_fcgi::metrics
