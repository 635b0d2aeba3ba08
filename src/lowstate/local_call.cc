// SPDX-License-Identifier: MIT
#include "lowstate/local_call.h"

#include <cmath>

#include "lowstate/arguments.h"
#include "lowstate/target.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/lowstate/jid.h"

namespace rest_fcgi::lowstate {
namespace {

bool is_count(double number) {
  return number >= 1 && number <= 1e9 && std::trunc(number) == number;
}

void read_jid(ChunkReader& reader, std::string_view& jid) {
  const auto value = reader.find("jid");
  if (!value) return;
  const bool has_text = value->is(JsonValue::Kind::string) || value->is(JsonValue::Kind::integer);
  if (has_text && value->text().empty()) return;
  if (!has_text || !is_jid(value->text())) {
    reader.complain(format("'jid' must be {} digits; found {}.", kJidDigits, shown(*value)));
    return;
  }
  jid = value->text();
}

/// Salt's documentation puts the sign of a percentage before or after the number.
std::optional<std::string_view> without_percent_sign(std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (text.back() == '%') return text.substr(0, text.size() - 1);
  if (text.front() == '%') return text.substr(1);
  return std::nullopt;
}

void read_batch(ChunkReader& reader, BatchSize& batch) {
  const auto value = reader.find("batch");
  if (!value) return;
  const auto percent =
      value->is(JsonValue::Kind::string) ? without_percent_sign(value->text()) : std::nullopt;
  const auto amount = percent ? number_in(*percent) : number_of(*value);
  if (!amount || !(percent ? *amount > 0 : is_count(*amount))) {
    reader.complain(
        format("'batch' must be a number of minions from 1, or a percentage above 0 such as '10%'; found {}.",
               shown(*value)));
    return;
  }
  batch = {*amount, percent.has_value()};
}

void read_subset(ChunkReader& reader, std::size_t& subset) {
  // `sub` is the older name, which wins in Salt.
  const std::string_view key = reader.find("sub") ? "sub" : "subset";
  const auto value = reader.find(key);
  if (!value) return;
  const auto amount = number_of(*value);
  if (!amount || !is_count(*amount)) {
    reader.complain(format("'{}' must be a number of minions from 1; found {}.", key, shown(*value)));
    return;
  }
  subset = static_cast<std::size_t>(*amount);
}

}  // namespace

void read_local_call(ChunkReader& reader, Client client, LocalCall& call) {
  read_target(reader, client, call.target);
  read_functions(reader, client, call);
  call.timeout = reader.duration("timeout");
  call.gather_job_timeout = reader.duration("gather_job_timeout");
  call.full_return = reader.flag("full_return");
  call.ret = reader.text("ret");
  // A batch is several jobs, so it has no use for one id; Salt drops it as well.
  if (client != Client::local_batch) read_jid(reader, call.jid);
  call.metadata = reader.object("metadata");
  if (client == Client::local_batch) {
    read_batch(reader, call.batch);
    call.batch_wait = reader.duration("batch_wait").value_or(std::chrono::milliseconds(0));
    call.failhard = reader.flag("failhard");
    call.raw = reader.flag("raw");
  }
  if (client == Client::local_subset) read_subset(reader, call.subset);
}

}  // namespace rest_fcgi::lowstate
