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

bool reads(const Environ& environ) {
  const std::string_view method = environ.get("REQUEST_METHOD");
  return method == "GET" || method == "HEAD";
}

Response wrong_method() {
  Response response = text_reply(Status::method_not_allowed, "text/plain", "Method Not Allowed\n");
  response.headers.emplace_back("Allow", "GET, HEAD");
  return response;
}

/// Returns whether the request is for `path`. The application answers OPTIONS (CORS preflight).
bool is_for(const Environ& environ, std::string_view path) {
  return environ.get("REQUEST_METHOD") != "OPTIONS" && http::path_of(environ).below == path;
}

std::optional<Response> show_ready(Health& health, const Environ& environ, Details details) {
  if (!is_for(environ, "/ready")) return std::nullopt;
  if (!reads(environ)) return wrong_method();
  if (health.is_stopping())
    return text_reply(Status::service_unavailable, kJson, R"({"ready": false, "stopping": true})");
  const std::vector<Check> checks = health.checks();
  const bool ready = is_ready(checks);
  return text_reply(ready ? Status::ok : Status::service_unavailable, kJson,
                    details == Details::shown ? health_text(checks) : format(R"({{"ready": {}}})", ready));
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

std::optional<Response> answer_health(const Environ& environ) {
  if (!is_for(environ, "/health")) return std::nullopt;
  return reads(environ) ? text_reply(Status::ok, kJson, R"({"healthy": true})") : wrong_method();
}

http::Application make_application(std::shared_ptr<const Registry> registry, Health& health) {
  return [registry = std::move(registry), &health](const Environ& environ) {
    if (!reads(environ)) return wrong_method();
    if (is_for(environ, "/metrics")) return show_metrics(*registry, environ);
    if (auto shown = answer_health(environ)) return *std::move(shown);
    if (auto shown = show_ready(health, environ, Details::shown)) return *std::move(shown);
    return text_reply(Status::not_found, "text/plain", "Not Found\n");
  };
}

http::Application with_health(Health& health, http::Application application) {
  return [&health, application = std::move(application)](const Environ& environ) {
    if (auto shown = answer_health(environ)) return *std::move(shown);
    if (auto shown = show_ready(health, environ, Details::hidden)) return *std::move(shown);
    if (health.is_stopping())
      return text_reply(Status::service_unavailable, "text/plain", "The service is stopping.\n");
    return application(environ);
  };
}

http::Application with_metrics(std::shared_ptr<const Registry> registry, MetricsCheck check,
                               http::Application application) {
  return [registry = std::move(registry), check = std::move(check),
          application = std::move(application)](const Environ& environ) {
    if (!is_for(environ, "/metrics")) return application(environ);
    if (!reads(environ)) return wrong_method();
    const Status status = check(environ);
    if (status == Status::ok) return show_metrics(*registry, environ);
    return text_reply(status, "text/plain", refusal_of(status));
  };
}

RequestMetrics::RequestMetrics(Registry& registry)
    : requests_(registry.counters({"rest_fcgi_requests_total",
                                   "Requests that were answered or refused. The label client is the client "
                                   "of the first lowstate chunk.",
                                   {"module", "status", "client"}})),
      times_(registry.histograms({"rest_fcgi_request_duration_seconds",
                                  "Time from the receipt of the whole request until the reply is ready to be "
                                  "sent, with the wait for a "
                                  "thread.",
                                  {"client"}})) {
  registry.on_collect([this](Writer& writer) {
    writer.gauge("rest_fcgi_requests_in_flight", "Requests that are being answered.",
                 static_cast<double>(in_flight_.load()));
  });
}

void RequestMetrics::count_refused(std::string_view module, Status status) {
  requests_.with({module, digits_of(status), "none"}).add();
}

http::Application RequestMetrics::counted(std::string module, http::Application application) {
  return [this, module = std::move(module), application = std::move(application)](const Environ& environ) {
    const bool is_known = environ.received != std::chrono::steady_clock::time_point();
    const auto start = is_known ? environ.received : std::chrono::steady_clock::now();
    in_flight_.fetch_add(1, std::memory_order_relaxed);
    Response response = application(environ);
    in_flight_.fetch_sub(1, std::memory_order_relaxed);
    const std::string_view client = response.metric_label.empty() ? "none" : response.metric_label;
    requests_.with({module, digits_of(response.status), client}).add();
    times_.with({client}).observe(std::chrono::steady_clock::now() - start);
    return response;
  };
}

}  // namespace rest_fcgi::metrics
