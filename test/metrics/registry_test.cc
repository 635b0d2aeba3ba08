// SPDX-License-Identifier: MIT
#include "rest_fcgi/metrics/registry.h"

#include <chrono>
#include <string>

#include <doctest/doctest.h>

using namespace rest_fcgi::metrics;
using namespace std::chrono_literals;

namespace {

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("a counter is written with its labels, help and type, in which quotes and line ends are escaped") {
  Registry registry;
  auto& jobs = registry.counters({"jobs_total", "Jobs.", {"fun", "ok"}});
  jobs.with({"test.ping", "true"}).add();
  jobs.with({"test.ping", "true"}).add(2);
  jobs.with({"test.ping", "false"}).add();
  const std::string text = registry.text(Format::text);
  CHECK(text.starts_with("# HELP jobs_total Jobs.\n# TYPE jobs_total counter\n"));
  CHECK(has_line(text, R"(jobs_total{fun="test.ping",ok="true"} 3)"));
  CHECK(has_line(text, R"(jobs_total{fun="test.ping",ok="false"} 1)"));
  registry.gauges({"g", "A \"help\"\\\n", {"l"}}).with({"a\"b\\c\nd"}).set(0.5);
  CHECK(has_line(registry.text(Format::text), R"(g{l="a\"b\\c\nd"} 0.5)"));
  CHECK(has_line(registry.text(Format::text), R"(# HELP g A "help"\\\n)"));
  CHECK(has_line(registry.text(Format::openmetrics), R"(# HELP g A \"help\"\\\n)"));
}

TEST_CASE("OpenMetrics describes a counter without its suffix, ends with EOF, and has its form of numbers") {
  Registry registry;
  registry.counters({"jobs_total", "Jobs."}).with({}).add();
  const std::string text = registry.text(Format::openmetrics);
  CHECK(text.starts_with("# HELP jobs Jobs.\n# TYPE jobs counter\njobs_total 1\n"));
  CHECK(text.ends_with("\n# EOF\n"));
  CHECK(registry.text(Format::text).find("EOF") == std::string::npos);
  CHECK(number_text(0.0001) == "0.0001");
  CHECK(number_text(1795680000) == "1795680000");
  CHECK(number_text(-1.0 / 0.0) == "-Inf");
}

TEST_CASE("a histogram counts a time in each bucket whose bound it does not exceed") {
  Registry registry;
  auto& times = registry.histograms({"t_seconds", "Times.", {"client"}});
  times.with({"local"}).observe(1ms);
  times.with({"local"}).observe(2s);
  times.with({"local"}).observe(400s);
  const std::string text = registry.text(Format::text);
  CHECK(has_line(text, R"(t_seconds_bucket{client="local",le="0.0003"} 0)"));
  CHECK(has_line(text, R"(t_seconds_bucket{client="local",le="0.001"} 1)"));
  CHECK(has_line(text, R"(t_seconds_bucket{client="local",le="3.0"} 2)"));
  CHECK(has_line(text, R"(t_seconds_bucket{client="local",le="+Inf"} 3)"));
  CHECK(has_line(text, R"(t_seconds_count{client="local"} 3)"));
  CHECK(has_line(text, R"(t_seconds_sum{client="local"} 402.001)"));
}

TEST_CASE("series beyond the limit count together as other, and are reported as dropped") {
  Registry registry;
  auto& jobs = registry.counters({"jobs_total", "Jobs.", {"minion", "fun"}, 2});
  for (const char* minion : {"a", "b", "c", "d", "a"}) jobs.with({minion, "x"}).add();
  const std::string text = registry.text(Format::text);
  CHECK(has_line(text, R"(jobs_total{minion="a",fun="x"} 2)"));
  CHECK(has_line(text, R"(jobs_total{minion="other",fun="other"} 2)"));
  CHECK(text.find("\"c\"") == std::string::npos);
  CHECK(has_line(text, R"(rest_fcgi_metrics_dropped_total{metric="jobs_total"} 2)"));
}

TEST_CASE("gauges beyond the limit are not shown, and an erased gauge makes room") {
  Registry registry;
  auto& beats = registry.gauges({"beat", "Times.", {"minion"}, 1});
  beats.with({"a"}).set(1);
  beats.with({"b"}).set(2);
  CHECK(registry.text(Format::text).find("other") == std::string::npos);
  beats.erase({"a"});
  beats.with({"b"}).set(3);
  CHECK(has_line(registry.text(Format::text), R"(beat{minion="b"} 3)"));
}

TEST_CASE("metrics of the process have Prometheus' names and plausible values") {
  Registry registry;
  add_process_metrics(registry);
  const std::string text = registry.text(Format::text);
  const auto now =
      static_cast<double>(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
  const auto value = [&text](const std::string& name) {
    const std::size_t at = text.find("\n" + name + " ");
    REQUIRE_MESSAGE(at != std::string::npos, name);
    return std::stod(text.substr(at + name.size() + 2));
  };
  for (const auto& [name, least] : {std::pair("process_cpu_seconds_total", 0.0),
                                    {"process_open_fds", 3},
                                    {"process_max_fds", 3},
                                    {"process_virtual_memory_bytes", 1e6},
                                    {"process_resident_memory_bytes", 1e6},
                                    {"process_start_time_seconds", now - 86400},
                                    {"process_threads", 1}}) {
    CHECK(value(name) >= least);
  }
  CHECK(value("process_start_time_seconds") <= now + 1);
}
