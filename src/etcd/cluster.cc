// SPDX-License-Identifier: MIT
#include "etcd/cluster.h"

#include <utility>
#include <variant>

#include "etcd/messages.h"
#include "etcd/v2.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/waiting.h"

namespace rest_fcgi::etcd {
namespace {

Token no_token() {
  return std::make_shared<const Secret>();
}

Failure malformed_reply(const std::string& url, std::string_view what) {
  return {
      {ErrorKind::internal, format("etcd: {}: malformed reply: {}", url, what)}, RetryAction::none, false};
}

}  // namespace

Result<std::unique_ptr<Cluster>> Cluster::make(Options options) {
  if (Result<void> checked = check_options(options); !checked) return std::move(checked).error();
  Result<std::unique_ptr<Transport>> transport = Transport::make(options);
  if (!transport) return std::move(transport).error();
  return std::unique_ptr<Cluster>(new Cluster(std::move(options), *std::move(transport)));
}

Cluster::Cluster(Options options, std::unique_ptr<Transport> transport)
    : options_(std::move(options)),
      basic_authorization_(basic_authorization(options_)),
      transport_(std::move(transport)),
      members_(options_.endpoints) {}

Result<JsonDocument> Cluster::call(std::string_view path, std::string_view body, Effect effect,
                                   Deadline deadline) {
  JsonDocument answer;
  Result<void> done = retry(members_, effect, deadline,
                            [&](std::size_t member) { return ask(member, path, body, deadline, answer); });
  if (!done) return std::move(done).error();
  return answer;
}

Result<NodeV2> Cluster::call_v2(HttpRequest request, Effect effect, Deadline deadline) {
  const std::string path = std::exchange(request.url, {});
  request.content_type = "application/x-www-form-urlencoded";
  request.authorization = basic_authorization_;
  NodeV2 answer;
  Result<void> done = retry(members_, effect, deadline, [&](std::size_t member) -> std::optional<Failure> {
    request.url = members_.url(member) + path;
    Result<HttpReply> reply = transport_->exchange(request, deadline);
    if (!reply) return transport_failure(std::move(reply).error());
    Tried<NodeV2> node = read_v2_node(*reply, members_.url(member));
    if (auto* failure = std::get_if<Failure>(&node)) return std::move(*failure);
    answer = std::get<NodeV2>(std::move(node));
    return std::nullopt;
  });
  if (!done) return std::move(done).error();
  return answer;
}

Result<Cluster::Stream> Cluster::open(std::string_view path, std::string_view body, Deadline deadline) {
  Stream stream;
  Result<void> opened =
      retry(members_, Effect::reads, deadline, [&](std::size_t member) -> std::optional<Failure> {
        Tried<Ready> ready = prepare(member, deadline);
        if (Failure* failure = std::get_if<Failure>(&ready)) return std::move(*failure);
        Ready& at = std::get<Ready>(ready);
        auto bytes =
            transport_->open({.url = at.url + std::string(path), .body = body, .authorization = *at.token});
        stream = {std::move(bytes), member, std::move(at.url), std::move(at.token)};
        return std::nullopt;
      });
  if (!opened) return std::move(opened).error();
  return stream;
}

std::optional<Failure> Cluster::check(const Stream& stream, Deadline deadline) {
  JsonDocument answer;
  std::optional<Failure> failure =
      post(stream.member, {stream.url, stream.token}, "/maintenance/status", "{}", deadline, answer);
  if (failure) return failure;
  const Result<Status> status = read_reply(answer, read_status);
  if (status && status->leader != 0) return std::nullopt;
  return Failure{{ErrorKind::unavailable, format("etcd: {}: no leader", members_.url(stream.member))},
                 RetryAction::next_member};
}

void Cluster::note_failure(const Stream& stream, RetryAction action) {
  if (action == RetryAction::authenticate) forget(stream.token);
  if (action == RetryAction::next_member || action == RetryAction::other_prefix) {
    members_.note_failure(stream.member, std::chrono::steady_clock::now());
  }
}

std::optional<Failure> Cluster::ask(std::size_t member, std::string_view path, std::string_view body,
                                    Deadline deadline, JsonDocument& answer) {
  bool may_log_in = !options_.username.empty();
  bool may_find_prefix = true;
  while (true) {
    Tried<Ready> ready = prepare(member, deadline);
    const Ready* const at = std::get_if<Ready>(&ready);
    std::optional<Failure> failure =
        at != nullptr ? post(member, *at, path, body, deadline, answer) : std::get<Failure>(std::move(ready));
    if (!failure) return std::nullopt;
    if (failure->action == RetryAction::authenticate && at != nullptr && may_log_in) {
      forget(at->token);
      may_log_in = false;
    } else if (failure->action == RetryAction::other_prefix && may_find_prefix) {
      members_.set_prefix(member, {});
      may_find_prefix = false;
    } else {
      return failure;
    }
  }
}

std::optional<Failure> Cluster::post(std::size_t member, const Ready& ready, std::string_view path,
                                     std::string_view body, Deadline deadline, JsonDocument& answer) {
  const std::string& url = members_.url(member);
  Result<HttpReply> reply = transport_->exchange(
      {.url = ready.url + std::string(path), .body = body, .authorization = *ready.token}, deadline);
  if (!reply) return transport_failure(std::move(reply).error());
  if (reply->status != 200) return gateway_failure(*reply, url);
  if (const Result<void> parsed = answer.parse(reply->body, JsonLimits::none()); !parsed) {
    return malformed_reply(url, parsed.error().message);
  }
  if (const std::optional<JsonValue> error = answer.root().find("error")) return stream_failure(*error, url);
  std::string mistake;
  const Header header = read_header(MessageFields(answer.root(), mistake));
  if (!mistake.empty()) return malformed_reply(url, mistake);
  if (header.cluster_id == 0) return malformed_reply(url, "found no cluster_id");
  return note_cluster(member, header.cluster_id);
}

Tried<Cluster::Ready> Cluster::prepare(std::size_t member, Deadline deadline) {
  Tried<std::string> prefix = find_prefix(member, deadline);
  if (Failure* failure = std::get_if<Failure>(&prefix)) return std::move(*failure);
  std::string url = members_.url(member) + std::get<std::string>(prefix);
  if (options_.username.empty()) return Ready{std::move(url), no_token()};
  Tried<Token> token = this->token(url, deadline);
  if (Failure* failure = std::get_if<Failure>(&token)) return std::move(*failure);
  return Ready{std::move(url), std::get<Token>(std::move(token))};
}

Tried<std::string> Cluster::find_prefix(std::size_t member, Deadline deadline) {
  if (std::string known = members_.prefix(member); !known.empty()) return known;
  Tried<Probed> probed = probe(*transport_, members_.url(member), deadline);
  if (Failure* failure = std::get_if<Failure>(&probed)) {
    // The caller's request is sent only after a successful probe, so etcd surely did not execute it.
    failure->is_outcome_known = true;
    return std::move(*failure);
  }
  const Probed& found = std::get<Probed>(probed);
  if (std::optional<Failure> failure = note_cluster(member, found.cluster_id)) return *std::move(failure);
  members_.set_prefix(member, found.prefix);
  return found.prefix;
}

std::optional<Failure> Cluster::note_cluster(std::size_t member, std::uint64_t cluster_id) {
  Result<bool> is_replaced = members_.set_cluster(member, cluster_id);
  if (!is_replaced) {
    members_.note_failure(member, std::chrono::steady_clock::now());
    return Failure{std::move(is_replaced).error()};
  }
  const MutexLock lock(mutex_);
  if (*is_replaced) token_.reset();
  return std::nullopt;
}

Tried<Token> Cluster::token(const std::string& url, Deadline deadline) {
  MutexLock lock(mutex_);
  if (token_) return token_;
  if (login_.valid()) {
    const std::shared_future<Tried<Token>> login = login_;
    lock.unlock();
    const Waiting waiting;
    if (login.wait_until(deadline) == std::future_status::ready) return login.get();
    return Failure{{ErrorKind::unavailable, format("etcd: {}: the login got no answer in time", url)},
                   RetryAction::next_member};
  }
  std::packaged_task<Tried<Token>()> task([&] { return log_in(url, deadline); });
  const std::shared_future<Tried<Token>> login = login_ = task.get_future().share();
  lock.unlock();
  task();
  lock.lock();
  login_ = {};
  const Tried<Token>& tried = login.get();
  if (const Token* token = std::get_if<Token>(&tried)) token_ = *token;
  return tried;
}

Tried<Token> Cluster::log_in(const std::string& url, Deadline deadline) {
  std::string body;
  JsonWriter(body)
      .begin_object()
      .key("name")
      .string(options_.username)
      .key("password")
      .string(options_.password->reveal().text)
      .end_object();
  Result<HttpReply> reply = transport_->exchange({.url = url + "/auth/authenticate", .body = body}, deadline);
  Failure failure;
  if (!reply) {
    failure = transport_failure(std::move(reply).error());
  } else if (reply->status != 200) {
    failure = gateway_failure(*reply, url);
    if (failure.action == RetryAction::without_token) return no_token();
  } else {
    JsonDocument document;
    const Result<void> parsed = document.parse(reply->body, JsonLimits::none());
    const std::optional<JsonValue> token = document.root().find("token");
    if (parsed && token && token->is(JsonValue::Kind::string)) {
      return std::make_shared<const Secret>(token->text());
    }
    failure = malformed_reply(url, "found no token");
  }
  // The caller's request is sent only after a successful login, so etcd surely did not execute it.
  failure.is_outcome_known = true;
  return failure;
}

void Cluster::forget(const Token& token) {
  const MutexLock lock(mutex_);
  if (token_ == token) token_.reset();
}

}  // namespace rest_fcgi::etcd
