// SPDX-License-Identifier: MIT
#include "rest_fcgi/etcd/client.h"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>
#include <variant>

#include "etcd/cluster.h"
#include "etcd/messages.h"

namespace rest_fcgi::etcd {
namespace {

template <class Reply>
Result<Reply> call(Cluster& cluster, std::string_view path, const std::string& body, Effect effect,
                   Deadline deadline, Reply (*read)(const MessageFields&)) {
  Result<JsonDocument> answer = cluster.call(path, body, effect, deadline);
  if (!answer) return std::move(answer).error();
  return read_reply(*answer, read);
}

/// Returns whether the reply has only keys of the request. Without this check, a reply to another request
/// could give a user the login token of another user.
bool answers(const RangeReply& reply, const RangeRequest& request) {
  const bool is_unbounded = request.range_end == std::string_view("\0", 1);
  return std::all_of(reply.kvs.begin(), reply.kvs.end(), [&](const KeyValue& kv) {
    if (request.range_end.empty()) return kv.key == request.key;
    return kv.key >= request.key && (is_unbounded || kv.key < request.range_end);
  });
}

bool answers(const TxnReply& reply, const TxnRequest& request) {
  if (request.compare.empty() && !reply.succeeded) return false;
  const auto& operations = reply.succeeded ? request.success : request.failure;
  if (reply.responses.size() != operations.size()) return false;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const auto* range = std::get_if<RangeRequest>(&operations[i].request);
    const std::optional<RangeReply>& found = reply.responses[i];
    if (range != nullptr && (!found || !answers(*found, *range))) return false;
  }
  return true;
}

template <class Reply, class Request>
Result<Reply> checked(Result<Reply> reply, const Request& request) {
  if (!reply || answers(*reply, request)) return reply;
  return Error{ErrorKind::internal, "etcd: malformed reply: found other keys than requested"};
}

std::optional<KeyValue> read_deleted(const MessageFields& fields) {
  std::vector<KeyValue> deleted = fields.each("prev_kvs", read_key_value);
  return deleted.empty() ? std::nullopt : std::optional(std::move(deleted.front()));
}

}  // namespace

Result<std::unique_ptr<Client>> Client::make(Options options) {
  Result<std::unique_ptr<Cluster>> cluster = Cluster::make(std::move(options));
  if (!cluster) return std::move(cluster).error();
  return std::unique_ptr<Client>(new Client(*std::move(cluster)));
}

Client::Client(std::unique_ptr<Cluster> cluster) : cluster_(std::move(cluster)) {}

Client::~Client() = default;

Result<RangeReply> Client::range(const RangeRequest& request, Deadline deadline) {
  return checked(call(*cluster_, "/kv/range", to_json(request), Effect::reads, deadline, read_range),
                 request);
}

Result<void> Client::put(const PutRequest& request, Deadline deadline) {
  return cluster_->call("/kv/put", to_json(request), Effect::writes, deadline).without_value();
}

Result<std::optional<KeyValue>> Client::delete_key(const std::string& key, Deadline deadline) {
  const Json body = written_object([&](JsonWriter& writer) {
    write_bytes(writer, "key", key);
    write_flag(writer, "prev_kv", true);
  });
  return call(*cluster_, "/kv/deleterange", body.text(), Effect::writes, deadline, read_deleted);
}

Result<TxnReply> Client::txn(const TxnRequest& request, Deadline deadline) {
  return checked(call(*cluster_, "/kv/txn", to_json(request), Effect::writes, deadline, read_txn), request);
}

Result<std::int64_t> Client::lease_grant(std::chrono::seconds ttl, Deadline deadline) {
  std::random_device random;
  const std::int64_t id =
      std::uniform_int_distribution<std::int64_t>(1, std::numeric_limits<std::int64_t>::max())(random);
  const Json body = written_object([&](JsonWriter& writer) {
    writer.key("TTL").string(std::to_string(ttl.count()));
    write_int64(writer, "ID", id);
  });
  const auto answer = cluster_->call("/lease/grant", body.text(), Effect::writes, deadline);
  // An earlier attempt may have made the lease, and only its reply was lost. An existing lease therefore
  // means success.
  const bool is_granted = answer || answer.error().kind == ErrorKind::conflict;
  return is_granted ? Result(id) : answer.error();
}

Result<void> Client::lease_revoke(std::int64_t id, Deadline deadline) {
  const Json body = written_object([&](JsonWriter& writer) { write_int64(writer, "ID", id); });
  return cluster_->call("/lease/revoke", body.text(), Effect::writes, deadline).without_value();
}

std::string prefix_end(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  // In etcd, a `range_end` of one zero byte means that the range has no upper bound.
  if (end.empty()) return std::string(1, '\0');
  end.back() = static_cast<char>(end.back() + 1);
  return end;
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
