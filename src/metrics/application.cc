// SPDX-License-Identifier: MIT
#include "rest_fcgi/metrics/application.h"

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/format.h"
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
  // Prometheus lists OpenMetrics in the Accept header.
  const bool is_open =
      environ.get("HTTP_ACCEPT").find("application/openmetrics-text") != std::string_view::npos;
  return is_open ? text_reply(Status::ok, "application/openmetrics-text; version=1.0.0; charset=utf-8",
                              registry.text(Format::openmetrics))
                 : text_reply(Status::ok, "text/plain; version=0.0.4; charset=utf-8",
                              registry.text(Format::text));
}

constexpr std::string_view kJson = "application/json";

enum class Details { shown, hidden };

std::optional<Response> show_health(Health& health, const std::string& path, Details details) {
  if (path == "/health") return text_reply(Status::ok, kJson, R"({"healthy": true})");
  if (path != "/ready") return std::nullopt;
  const std::vector<Check> checks = health.checks();
  const bool ready = is_ready(checks);
  return text_reply(ready ? Status::ok : Status::service_unavailable, kJson,
                    details == Details::shown ? health_text(checks) : format(R"({{"ready": {}}})", ready));
}

bool reads(const Environ& environ) {
  const std::string_view method = environ.get("REQUEST_METHOD");
  return method == "GET" || method == "HEAD";
}

std::string_view digits_of(Status status) {
  static const auto all = [] {
    std::array<std::string, 600> made;
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = std::to_string(i);
    return made;
  }();
  return all[static_cast<std::size_t>(status)];
}

const char* refusal_of(Status status) {
  if (status == Status::forbidden) return "The client's address is not in authorized_ips.\n";
  if (status == Status::unauthorized)
    return "Found no valid token, or a user without the rule @metrics in external_auth.\n";
  return "The token cannot be checked now.\n";
}

}  // namespace

http::Application make_application(std::shared_ptr<const Registry> registry, Health& health) {
  return [registry = std::move(registry), &health](const Environ& environ) {
    if (!reads(environ)) return text_reply(Status::method_not_allowed, "text/plain", "Method Not Allowed\n");
    const std::string path = http::path_of(environ).below;
    if (path == "/metrics") return show_metrics(*registry, environ);
    if (auto shown = show_health(health, path, Details::shown)) return *std::move(shown);
    return text_reply(Status::not_found, "text/plain", "Not Found\n");
  };
}

http::Application with_health(Health& health, http::Application application) {
  return [&health, application = std::move(application)](const Environ& environ) {
    if (reads(environ)) {
      if (auto shown = show_health(health, http::path_of(environ).below, Details::hidden))
        return *std::move(shown);
    }
    return application(environ);
  };
}

http::Application with_metrics(std::shared_ptr<const Registry> registry, MetricsCheck check,
                               http::Application application) {
  return [registry = std::move(registry), check = std::move(check),
          application = std::move(application)](const Environ& environ) {
    if (!reads(environ) || http::path_of(environ).below != "/metrics") return application(environ);
    const Status status = check(environ);
    if (status == Status::ok) return show_metrics(*registry, environ);
    return text_reply(status, "text/plain", refusal_of(status));
  };
}

RequestMetrics::RequestMetrics(Registry& registry)
    : requests_(registry.counters(
          {"rest_fcgi_requests_total",
           "Requests that were answered. The label client is the client of the first lowstate chunk.",
           {"module", "status", "client"}})),
      times_(registry.histograms(
          {"rest_fcgi_request_duration_seconds",
           "Time from the receipt of the whole request until the reply is ready to be sent.",
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
