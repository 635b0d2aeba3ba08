// SPDX-License-Identifier: MIT
#include <array>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "etcd/messages.h"
#include "etcd/v2.h"
#include "etcd/watch_messages.h"
#include "master/embedded/target/target.h"
#include "master/embedded/text.h"
#include "rest_fcgi/core/base64.h"
#include "rest_fcgi/process/run_wire.h"
#include "targets.h"

namespace rest_fcgi::fuzz {
namespace {

using embedded::TargetMatcher;

embedded::Minion minion_with(std::string_view grains) {
  embedded::Minion minion{"web1.example", {}, {}};
  const bool fits = minion.grains.parse(grains).ok() && minion.grains.root().is(JsonValue::Kind::object);
  if (!fits) {
    require(static_cast<bool>(minion.grains.parse(
                R"({"os": "Debian", "roles": ["web", "cache"], "disk": {"sda": {"size": "10"}}, "n": 1,
                    "ipv4": ["127.0.0.1", "10.1.2.3"]})")),
            "grains are no JSON");
  }
  require(static_cast<bool>(minion.pillar.parse(grains)) || minion.pillar.parse("{}"), "a pillar is no JSON");
  return minion;
}

bool matches(const std::string& text, const embedded::Minion& minion) {
  const lowstate::Target target = embedded::compound_target(text);
  const auto matcher = TargetMatcher::compile(target, {});
  return matcher.ok() && matcher->matches(minion);
}

void try_targets(std::string_view text, std::string_view delimiter, const embedded::Minion& minion) {
  for (int type = 0; type <= static_cast<int>(lowstate::TargetType::ipcidr); ++type) {
    lowstate::Target target;
    target.type = static_cast<lowstate::TargetType>(type);
    target.expression = text;
    target.delimiter = delimiter;
    if (target.type == lowstate::TargetType::list) target.list = embedded::split_names(text);
    const auto matcher = TargetMatcher::compile(target, {});
    if (!matcher) {
      require_sentence(matcher.error());
      continue;
    }
    embedded::target::Work work;
    const bool does = matcher->matches(minion, work);
    if (work.is_spent()) continue;
    require(does == matcher->matches(minion), "a target matches now and then");
    if (target.type != lowstate::TargetType::compound) continue;
    const std::string bracketed = "( " + std::string(text) + " )";
    // The checks below make the expression longer, and a longer expression may exceed the limits of the
    // matcher.
    if (!TargetMatcher::compile(embedded::compound_target(bracketed + " or a or a"), {})) continue;
    require(matches(bracketed, minion) == does, "brackets change a target");
    require(matches("not " + bracketed, minion) != does, "what is not so is so");
    require(matches(bracketed + " or web1.example", minion), "one of two is not enough");
    require(!matches(bracketed + " and nosuch", minion), "one of two is enough");
    require(matches("web1.example and " + bracketed, minion) == does, "the second of two does not count");
    require(matches(bracketed + " and web1.example", minion) == does, "the first of two does not count");
  }
}

}  // namespace

void expression(std::string_view input) {
  const std::string_view text = next_line(input);
  const embedded::Minion minion = minion_with(input);
  try_targets(text, ":", minion);
  try_targets(text, "|", minion);
}

namespace {

std::vector<std::string> lines_in(std::string_view bytes, std::size_t step) {
  etcd::LineReader reader(1000);
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    reader.append(bytes.substr(0, step));
    bytes.remove_prefix(std::min(step, bytes.size()));
    for (auto line = reader.next(); !line || *line; line = reader.next()) {
      if (!line) {
        lines.push_back(line.error().message);
        return lines;
      }
      lines.push_back(**line);
    }
  }
  lines.push_back(reader.rest());
  return lines;
}

constexpr std::string_view kUrl = "http://192.0.2.1:2379";

void require_failure(const etcd::Failure& failure) {
  require_sentence(failure.error);
}

void hear_watch(std::string_view input) {
  const auto lines = lines_in(input, input.size());
  require(lines == lines_in(input, step_for(input)), "it matters in which parts a watch comes");
  etcd::WatchBacklog backlog(5);
  std::size_t told = 0;
  std::size_t came = 0;
  for (const std::string& line : lines) {
    auto reply = etcd::read_watch_reply(line, kUrl);
    if (const auto* failure = std::get_if<etcd::Failure>(&reply)) {
      require_failure(*failure);
      backlog.note_break();
      continue;
    }
    auto& watched = std::get<etcd::WatchReply>(reply);
    if (watched.canceled) {
      require_failure(etcd::cancel_failure(watched, kUrl));
      continue;
    }
    came += watched.events.size();
    backlog.add(std::move(watched));
    while (const auto events = backlog.take()) told += events->size();
  }
  require(told <= came, "events are told twice");
}

template <class Reply>
void read_as(const JsonDocument& document, Reply (*read)(const etcd::MessageFields&)) {
  if (const auto reply = etcd::read_reply(document, read); !reply) require_sentence(reply.error());
}

void read_replies(std::string_view input) {
  JsonDocument document;
  if (!document.parse(input, JsonLimits::none())) return;
  read_as(document, etcd::read_range);
  read_as(document, etcd::read_prev_kv);
  read_as(document, etcd::read_txn);
  read_as(document, etcd::read_status);
  require_failure(etcd::stream_failure(document.root(), kUrl));
}

}  // namespace

void etcd(std::string_view input) {
  if (input.empty()) return;
  constexpr std::array kStatuses = {200L, 400L, 401L, 404L, 429L, 503L};
  const auto choice = static_cast<unsigned char>(input.front());
  const std::string_view bytes = input.substr(1);
  const etcd::HttpReply reply{kStatuses[choice % kStatuses.size()], std::string(bytes)};
  hear_watch(bytes);
  read_replies(bytes);
  require_failure(etcd::gateway_failure(reply, kUrl));
  const auto node = etcd::read_v2_node(reply, kUrl);
  if (const auto* failure = std::get_if<etcd::Failure>(&node)) require_failure(*failure);
  if (const auto decoded = from_base64(bytes)) {
    std::string encoded;
    append_base64(encoded, *decoded);
    require(encoded == bytes, "base64 is read that is not written");
  }
}

void helpers(std::string_view input) {
  const std::string_view header = input.substr(0, process::wire::kHeader);
  if (header.size() < process::wire::kHeader) return;
  const auto size = process::wire::length_in(header);
  require(!size || *size <= process::wire::kMaxOrder, "an order is larger than it may be");
  const auto order = process::wire::read_order(input.substr(header.size()));
  if (!order) return;
  require(!order->argv.empty(), "an order has no program");
  // The decoder accepts several forms of a StartOrder, but the encoder writes only one form. The test
  // therefore compares two encoded forms.
  const std::string written = process::wire::to_bytes(*order);
  const auto again = process::wire::read_order(std::string_view(written).substr(process::wire::kHeader));
  require(again && process::wire::to_bytes(*again) == written, "an order is written in two ways");
}

}  // namespace rest_fcgi::fuzz
