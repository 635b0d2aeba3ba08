// SPDX-License-Identifier: MIT
#include "rest_fcgi/etcd/keys_v2.h"

#include <utility>
#include <variant>

#include "etcd/endpoints.h"
#include "etcd/login.h"
#include "etcd/retry.h"
#include "etcd/transport.h"
#include "etcd/v2_wire.h"

namespace rest_fcgi::etcd {
namespace {

using Method = HttpRequest::Method;

struct CallV2 {
  Method method = Method::get;
  std::string path;  ///< escaped
  std::string form{};
  Effect effect = Effect::none;
};

bool has_condition(const PutV2& request) {
  return request.prev_exist || request.prev_value || request.prev_index;
}

}  // namespace

class KeysV2::Impl {
 public:
  Impl(const Options& options, std::unique_ptr<Transport> transport)
      : transport_(std::move(transport)),
        authorization_(basic_authorization(options)),
        endpoints_(options.endpoints) {}

  struct Answer {
    Result<NodeV2> node;
    bool perhaps_before = false;  ///< a try before may have been carried out, too
  };
  [[nodiscard]] Answer call(const CallV2& call, Deadline deadline);

 private:
  const std::unique_ptr<Transport> transport_;
  const Secret authorization_;
  Endpoints endpoints_;
};

KeysV2::Impl::Answer KeysV2::Impl::call(const CallV2& call, Deadline deadline) {
  Answer answer{NodeV2{}};
  Result<void> taken =
      retry(endpoints_, call.effect, deadline, [&](std::size_t member) -> std::optional<Failure> {
        const std::string& url = endpoints_.url(member);
        Result<HttpReply> reply = transport_->exchange({.method = call.method,
                                                        .url = url + call.path,
                                                        .body = call.form,
                                                        .content_type = "application/x-www-form-urlencoded",
                                                        .authorization = authorization_},
                                                       deadline);
        Tried<NodeV2> node = reply ? read_v2_node(*reply, url) : transport_failure(std::move(reply).error());
        if (auto* failure = std::get_if<Failure>(&node)) {
          answer.perhaps_before = answer.perhaps_before || !failure->outcome_known;
          return std::move(*failure);
        }
        answer.node = std::get<NodeV2>(std::move(node));
        return std::nullopt;
      });
  if (!taken) answer.node = std::move(taken).error();
  return answer;
}

Result<std::unique_ptr<KeysV2>> KeysV2::make(const Options& options) {
  if (Result<void> checked = check_endpoints(options); !checked) return std::move(checked).error();
  if (Result<void> checked = check_user(options); !checked) return std::move(checked).error();
  Result<std::unique_ptr<Transport>> transport = Transport::make(options);
  if (!transport) return std::move(transport).error();
  return std::unique_ptr<KeysV2>(new KeysV2(std::make_unique<Impl>(options, *std::move(transport))));
}

KeysV2::KeysV2(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

KeysV2::~KeysV2() = default;

Result<std::optional<NodeV2>> KeysV2::get(std::string_view key, bool recursive, Deadline deadline) {
  Result<std::string> path = v2_path(key);
  if (!path) return std::move(path).error();
  // Without `quorum` a member may answer from a past of its own.
  *path += recursive ? "?quorum=true&sorted=true&recursive=true" : "?quorum=true&sorted=true";
  Impl::Answer answer = impl_->call({.path = *std::move(path)}, deadline);
  if (answer.node) return std::optional(*std::move(answer.node));
  if (answer.node.error().kind == ErrorKind::not_found) return std::optional<NodeV2>();
  return std::move(answer.node).error();
}

Result<NodeV2> KeysV2::put(const PutV2& request, Deadline deadline) {
  Result<std::string> path = v2_path(request.key);
  if (!path) return std::move(path).error();
  return impl_
      ->call({.method = Method::put,
              .path = *std::move(path),
              .form = v2_form(request),
              .effect = has_condition(request) ? Effect::once : Effect::repeatable},
             deadline)
      .node;
}

Result<bool> KeysV2::remove(std::string_view key, bool recursive, Deadline deadline) {
  Result<std::string> path = v2_path(key);
  if (!path) return std::move(path).error();
  if (recursive) *path += "?recursive=true";
  Impl::Answer answer = impl_->call(
      {.method = Method::remove, .path = *std::move(path), .effect = Effect::repeatable}, deadline);
  if (answer.node) return true;
  if (answer.node.error().kind == ErrorKind::not_found) return answer.perhaps_before;
  return std::move(answer.node).error();
}

}  // namespace rest_fcgi::etcd
