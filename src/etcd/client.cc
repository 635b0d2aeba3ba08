// SPDX-License-Identifier: MIT
#include "rest_fcgi/etcd/client.h"

#include <algorithm>
#include <limits>
#include <random>
#include <string_view>
#include <utility>
#include <variant>

#include "etcd/gateway.h"
#include "etcd/kv.h"
#include "etcd/members.h"
#include "etcd/transport.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::etcd {
namespace {

/// One call whose reply is one message.
template <class Reply>
Result<Reply> call(Gateway& gateway, std::string_view path, const std::string& body, Effect effect,
                   Deadline deadline, Reply (*read)(const Fields&)) {
  Result<JsonDocument> answer = gateway.call(path, body, effect, deadline);
  if (!answer) return std::move(answer).error();
  return read_reply(*answer, read);
}

/// Whether it has no keys but those that were asked for. Where keys stand for tokens, what stands under
/// another one would make somebody of its bearer who they are not.
bool answers(const RangeReply& reply, const RangeRequest& request) {
  const bool to_the_end = request.range_end == std::string_view("\0", 1);
  return std::all_of(reply.kvs.begin(), reply.kvs.end(), [&](const KeyValue& kv) {
    if (request.range_end.empty()) return kv.key == request.key;
    return kv.key >= request.key && (to_the_end || kv.key < request.range_end);
  });
}

bool answers(const TxnReply& reply, const TxnRequest& request) {
  const auto& asked = reply.succeeded ? request.success : request.failure;
  if (reply.responses.size() != asked.size()) return false;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto* range = std::get_if<RangeRequest>(&asked[i].request);
    const auto* found = std::get_if<RangeReply>(&reply.responses[i].response);
    if (range != nullptr && (found == nullptr || !answers(*found, *range))) return false;
  }
  return true;
}

template <class Reply, class Request>
Result<Reply> checked(Result<Reply> reply, const Request& request) {
  if (!reply || answers(*reply, request)) return reply;
  return Error{ErrorKind::internal, "etcd: a reply is not to what was asked for"};
}

std::int64_t random_id() {
  std::random_device random;
  return std::uniform_int_distribution<std::int64_t>(1, std::numeric_limits<std::int64_t>::max())(random);
}

std::string lease_body(std::int64_t id, bool with_keys = false) {
  std::string body;
  JsonWriter writer(body);
  writer.begin_object();
  write_int64(writer, "ID", id);
  write_flag(writer, "keys", with_keys);
  writer.end_object();
  return body;
}

/// Keep-alive is a stream of one answer.
Lease read_kept(const Fields& fields) {
  const std::optional<Fields> result = fields.require("result");
  return result ? read_lease(*result) : Lease{};
}

}  // namespace

Result<std::unique_ptr<Client>> Client::make(Options options) {
  Result<std::unique_ptr<Gateway>> gateway = Gateway::make(std::move(options));
  if (!gateway) return std::move(gateway).error();
  return std::unique_ptr<Client>(new Client(*std::move(gateway)));
}

Client::Client(std::unique_ptr<Gateway> gateway) : gateway_(std::move(gateway)) {}

Client::~Client() = default;

Result<RangeReply> Client::range(const RangeRequest& request, Deadline deadline) {
  return checked(call(*gateway_, "/kv/range", to_json(request), Effect::none, deadline, read_range), request);
}

Result<PutReply> Client::put(const PutRequest& request, Deadline deadline) {
  return call(*gateway_, "/kv/put", to_json(request), Effect::repeatable, deadline, read_put);
}

Result<DeleteRangeReply> Client::delete_range(const DeleteRangeRequest& request, Deadline deadline) {
  return call(*gateway_, "/kv/deleterange", to_json(request), Effect::repeatable, deadline,
              read_delete_range);
}

Result<TxnReply> Client::txn(const TxnRequest& request, Deadline deadline, Repeat repeat) {
  const Effect effect = repeat == Repeat::yes ? Effect::repeatable : Effect::once;
  return checked(call(*gateway_, "/kv/txn", to_json(request), effect, deadline, read_txn), request);
}

Result<Header> Client::compact(std::int64_t revision, bool physical, Deadline deadline) {
  std::string body;
  JsonWriter writer(body);
  writer.begin_object();
  write_int64(writer, "revision", revision);
  write_flag(writer, "physical", physical);
  writer.end_object();
  return call(*gateway_, "/kv/compaction", body, Effect::repeatable, deadline, read_header);
}

Result<Status> Client::status(Deadline deadline) {
  return call(*gateway_, "/maintenance/status", "{}", Effect::none, deadline, read_status);
}

Result<std::vector<Member>> Client::member_list(Deadline deadline) {
  return call(*gateway_, "/cluster/member/list", "{}", Effect::none, deadline, read_members);
}

std::string prefix_end(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  // Above all that begin with 0xff there is nothing, which etcd writes as a zero byte.
  if (end.empty()) return std::string(1, '\0');
  end.back() = static_cast<char>(end.back() + 1);
  return end;
}

Result<Lease> Client::lease_grant(std::chrono::seconds ttl, std::int64_t id, Deadline deadline) {
  const std::int64_t chosen = id != 0 ? id : random_id();
  std::string body;
  JsonWriter writer(body);
  writer.begin_object().key("TTL").string(std::to_string(ttl.count()));
  write_int64(writer, "ID", chosen);
  writer.end_object();
  Result<Lease> lease = call(*gateway_, "/lease/grant", body, Effect::repeatable, deadline, read_lease);
  if (lease) {
    lease->granted_ttl = lease->ttl;
  } else if (says_lease_exists(lease.error())) {
    // Perhaps an answer was lost, and this is the second try.
    return lease_time_to_live(chosen, false, deadline);
  }
  return lease;
}

Result<void> Client::lease_revoke(std::int64_t id, Deadline deadline) {
  auto answer = gateway_->call("/lease/revoke", lease_body(id), Effect::repeatable, deadline);
  if (!answer) return std::move(answer).error();
  return {};
}

Result<Lease> Client::lease_keep_alive(std::int64_t id, Deadline deadline) {
  Result<Lease> lease =
      call(*gateway_, "/lease/keepalive", lease_body(id), Effect::repeatable, deadline, read_kept);
  if (!lease || lease->ttl > 0) return lease;
  return Error{ErrorKind::not_found, format("etcd: there is no lease {}", id)};
}

Result<Lease> Client::lease_time_to_live(std::int64_t id, bool with_keys, Deadline deadline) {
  return call(*gateway_, "/lease/timetolive", lease_body(id, with_keys), Effect::none, deadline, read_lease);
}

Result<std::vector<std::int64_t>> Client::lease_leases(Deadline deadline) {
  return call(*gateway_, "/lease/leases", "{}", Effect::none, deadline, read_leases);
}

std::optional<std::string> missing_api_v3(const Options& options, Deadline deadline) {
  const auto transport = Transport::make(options);
  if (!transport) return std::nullopt;
  std::optional<std::string> missing;
  for (const std::string& url : options.endpoints) {
    const Tried<Probed> probed = probe(**transport, url, deadline);
    const auto* failure = std::get_if<Failure>(&probed);
    if (failure == nullptr) return std::nullopt;
    if (failure->lacks_api) missing = failure->error.message;
  }
  return missing;
}

}  // namespace rest_fcgi::etcd
