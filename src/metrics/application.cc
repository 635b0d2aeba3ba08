// SPDX-License-Identifier: MIT
#include "rest_fcgi/metrics/application.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "rest_fcgi/http/url.h"

namespace rest_fcgi::metrics {
namespace {

using http::Environ;
using http::Response;
using http::Status;

Response text_reply(Status status, std::string_view type, std::string text) {
  return {status, {{"Content-Type", std::string(type)}, {"Cache-Control", "no-store"}}, std::move(text)};
}

Response show_metrics(const Registry& registry, const Environ& environ) {
  // Prometheus names every format that it reads, with the best one first.
  const bool is_open =
      environ.get("HTTP_ACCEPT").find("application/openmetrics-text") != std::string_view::npos;
  return is_open ? text_reply(Status::ok, "application/openmetrics-text; version=1.0.0; charset=utf-8",
                              registry.text(Format::openmetrics))
                 : text_reply(Status::ok, "text/plain; version=0.0.4; charset=utf-8",
                              registry.text(Format::text));
}

/// Returns the digits of a status, which live as long as the process.
std::string_view digits_of(Status status) {
  static const auto all = [] {
    std::array<std::string, 600> made;
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = std::to_string(i);
    return made;
  }();
  return all[static_cast<std::size_t>(status)];
}

}  // namespace

http::Application make_application(std::shared_ptr<const Registry> registry) {
  return [registry = std::move(registry)](const Environ& environ) {
    const std::string_view method = environ.get("REQUEST_METHOD");
    if (method != "GET" && method != "HEAD")
      return text_reply(Status::method_not_allowed, "text/plain", "Method Not Allowed\n");
    if (http::path_of(environ).below == "/metrics") return show_metrics(*registry, environ);
    return text_reply(Status::not_found, "text/plain", "Not Found\n");
  };
}

RequestMetrics::RequestMetrics(Registry& registry)
    : requests_(registry.counters({"rest_fcgi_requests_total",
                                   "Requests that were answered. client: of the first lowstate chunk.",
                                   {"module", "status", "client"}})),
      times_(registry.histograms({"rest_fcgi_request_duration_seconds",
                                  "Time from the whole request to its reply, without sending it.",
                                  {"client"}})) {
  registry.on_collect([this](Writer& writer) {
    writer.gauge("rest_fcgi_requests_in_flight", "Requests that are being answered.",
                 static_cast<double>(in_flight_.load()));
  });
}

Response RequestMetrics::count(const std::string& module, const http::Application& application,
                               const Environ& environ) {
  const auto start = std::chrono::steady_clock::now();
  in_flight_.fetch_add(1, std::memory_order_relaxed);
  Response response = application(environ);
  in_flight_.fetch_sub(1, std::memory_order_relaxed);
  const std::string_view client = response.metric_label.empty() ? "none" : response.metric_label;
  requests_.with({module, digits_of(response.status), client}).add();
  times_.with({client}).observe(std::chrono::steady_clock::now() - start);
  return response;
}

http::Application RequestMetrics::counted(std::string module, http::Application application) {
  return [this, module = std::move(module), application = std::move(application)](const Environ& environ) {
    return count(module, application, environ);
  };
}

}  // namespace rest_fcgi::metrics
