// SPDX-License-Identifier: MIT
#include "rest_fcgi/etcd/client.h"

#include <utility>

#include "etcd/gateway.h"
#include "etcd/kv_reply.h"
#include "etcd/kv_request.h"

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

}  // namespace

Result<std::unique_ptr<Client>> Client::make(Options options) {
  Result<std::unique_ptr<Gateway>> gateway = Gateway::make(std::move(options));
  if (!gateway) return std::move(gateway).error();
  return std::unique_ptr<Client>(new Client(*std::move(gateway)));
}

Client::Client(std::unique_ptr<Gateway> gateway) : gateway_(std::move(gateway)) {}

Client::~Client() = default;

Result<RangeReply> Client::range(const RangeRequest& request, Deadline deadline) {
  return call(*gateway_, "/kv/range", to_json(request), Effect::none, deadline, read_range);
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
  return call(*gateway_, "/kv/txn", to_json(request), effect, deadline, read_txn);
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

}  // namespace rest_fcgi::etcd
