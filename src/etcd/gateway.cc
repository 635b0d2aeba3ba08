// SPDX-License-Identifier: MIT
#include "etcd/gateway.h"

#include <chrono>
#include <optional>
#include <utility>

#include "etcd/kv.h"
#include "etcd/members.h"
#include "rest_fcgi/core/json.h"

namespace rest_fcgi::etcd {
namespace {

Token nobody() {
  return std::make_shared<const Secret>();
}

Failure no_answer(const std::string& url, std::string_view what) {
  return {{ErrorKind::internal, "etcd: " + url + ": " + std::string(what)}, Remedy::none, false};
}

}  // namespace

Tried<Token> Login::token(const Fetch& fetch, Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (token_) return token_;
  if (pending_.valid()) {
    const std::shared_future<Tried<Token>> pending = pending_;
    lock.unlock();
    if (pending.wait_until(deadline) == std::future_status::ready) return pending.get();
    return Failure{{ErrorKind::unavailable, "etcd: a login under way did not come back in time"},
                   Remedy::next_member};
  }
  std::packaged_task<Tried<Token>()> task(fetch);
  const std::shared_future<Tried<Token>> own = task.get_future().share();
  pending_ = own;
  lock.unlock();
  task();
  lock.lock();
  pending_ = {};
  const Tried<Token>& fetched = own.get();
  if (const Token* token = std::get_if<Token>(&fetched)) token_ = *token;
  return fetched;
}

void Login::refused(const Token& token) {
  const std::lock_guard lock(mutex_);
  if (token_ == token) token_.reset();
}

void Login::forget() {
  const std::lock_guard lock(mutex_);
  token_.reset();
}

Result<std::unique_ptr<Gateway>> Gateway::make(Options options) {
  if (Result<void> checked = check_options(options); !checked) return std::move(checked).error();
  Result<std::unique_ptr<Transport>> transport = Transport::make(options);
  if (!transport) return std::move(transport).error();
  return std::unique_ptr<Gateway>(new Gateway(std::move(options), *std::move(transport)));
}

Gateway::Gateway(Options options, std::unique_ptr<Transport> transport)
    : options_(std::move(options)), transport_(std::move(transport)), endpoints_(options_.endpoints) {}

Result<JsonDocument> Gateway::call(std::string_view path, std::string_view body, Effect effect,
                                   Deadline deadline) {
  JsonDocument answer;
  Result<void> taken = retry(endpoints_, effect, deadline,
                             [&](std::size_t member) { return ask(member, path, body, deadline, answer); });
  if (!taken) return std::move(taken).error();
  return answer;
}

Result<Gateway::Stream> Gateway::open(std::string_view path, std::string_view body, Deadline deadline) {
  Stream stream;
  Result<void> opened =
      retry(endpoints_, Effect::none, deadline, [&](std::size_t member) -> std::optional<Failure> {
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

std::optional<Failure> Gateway::check(const Stream& stream, Deadline deadline) {
  const Ready at{stream.url, stream.token};
  JsonDocument answer;
  std::optional<Failure> failure = post(stream.member, at, "/maintenance/status", "{}", deadline, answer);
  if (failure) return failure;
  const Result<Status> status = read_reply(answer, read_status);
  if (status && status->leader != 0) return std::nullopt;
  return Failure{{ErrorKind::unavailable, "etcd: " + endpoints_.url(stream.member) + ": it sees no leader"},
                 Remedy::next_member};
}

void Gateway::failed(const Stream& stream) {
  endpoints_.failed(stream.member, std::chrono::steady_clock::now());
}

void Gateway::refused(const Stream& stream) {
  login_.refused(stream.token);
}

std::optional<Failure> Gateway::ask(std::size_t member, std::string_view path, std::string_view body,
                                    Deadline deadline, JsonDocument& answer) {
  bool may_log_in_anew = !options_.username.empty();
  bool may_find_out_anew = true;
  while (true) {
    Tried<Ready> ready = prepare(member, deadline);
    const Ready* const at = std::get_if<Ready>(&ready);
    std::optional<Failure> failure =
        at != nullptr ? post(member, *at, path, body, deadline, answer) : std::get<Failure>(std::move(ready));
    if (!failure) return std::nullopt;
    if (failure->remedy == Remedy::authenticate && at != nullptr && may_log_in_anew) {
      login_.refused(at->token);
      may_log_in_anew = false;
    } else if (failure->remedy == Remedy::other_prefix && may_find_out_anew) {
      endpoints_.set_prefix(member, {});
      may_find_out_anew = false;
    } else {
      return failure;
    }
  }
}

std::optional<Failure> Gateway::post(std::size_t member, const Ready& ready, std::string_view path,
                                     std::string_view body, Deadline deadline, JsonDocument& answer) {
  const std::string& url = endpoints_.url(member);
  Result<HttpReply> reply = transport_->exchange(
      {.url = ready.url + std::string(path), .body = body, .authorization = *ready.token}, deadline);
  if (!reply) return transport_failure(std::move(reply).error());
  if (reply->status != 200) return gateway_failure(*reply, url);
  if (const Result<void> parsed = answer.parse(reply->body, JsonLimits::none()); !parsed) {
    return no_answer(url, "its answer is no JSON: " + parsed.error().message);
  }
  if (const std::optional<JsonValue> error = answer.root().find("error")) return stream_failure(*error, url);
  const std::optional<JsonValue> result = answer.root().find("result");
  std::string mistake;
  const Header header = read_header(Fields(result.value_or(answer.root()), mistake));
  if (!mistake.empty()) return no_answer(url, "its answer is none: " + mistake);
  if (header.cluster_id == 0) return no_answer(url, "its answer does not say of which cluster it is");
  return learn_cluster(member, header.cluster_id);
}

Tried<Gateway::Ready> Gateway::prepare(std::size_t member, Deadline deadline) {
  Tried<std::string> prefix = prefix_of(member, deadline);
  if (Failure* failure = std::get_if<Failure>(&prefix)) return std::move(*failure);
  std::string url = endpoints_.url(member) + std::get<std::string>(prefix);
  if (options_.username.empty()) return Ready{std::move(url), nobody()};
  Tried<Token> token = login_.token([&] { return authenticate(url, deadline); }, deadline);
  if (Failure* failure = std::get_if<Failure>(&token)) return std::move(*failure);
  return Ready{std::move(url), std::get<Token>(std::move(token))};
}

Tried<std::string> Gateway::prefix_of(std::size_t member, Deadline deadline) {
  if (std::string known = endpoints_.prefix(member); !known.empty()) return known;
  Tried<Probed> probed = probe(*transport_, endpoints_.url(member), deadline);
  if (Failure* failure = std::get_if<Failure>(&probed)) {
    failure->outcome_known = true;  // nothing was asked of the store so far
    return std::move(*failure);
  }
  const Probed& told = std::get<Probed>(probed);
  if (std::optional<Failure> mixed = learn_cluster(member, told.cluster_id)) return *std::move(mixed);
  endpoints_.set_prefix(member, told.prefix);
  return told.prefix;
}

std::optional<Failure> Gateway::learn_cluster(std::size_t member, std::uint64_t cluster_id) {
  Result<bool> made_anew = endpoints_.set_cluster(member, cluster_id);
  if (!made_anew) {
    endpoints_.failed(member, std::chrono::steady_clock::now());
    return Failure{std::move(made_anew).error()};
  }
  if (*made_anew) login_.forget();
  return std::nullopt;
}

Tried<Token> Gateway::authenticate(const std::string& url, Deadline deadline) {
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
    if (says_auth_is_off(failure)) return nobody();
  } else {
    JsonDocument document;
    const Result<void> parsed = document.parse(reply->body, JsonLimits::none());
    const std::optional<JsonValue> token = document.root().find("token");
    if (parsed && token && token->is(JsonValue::Kind::string)) {
      return std::make_shared<const Secret>(token->text());
    }
    failure = no_answer(url, "its answer to a login has no token");
  }
  failure.outcome_known = true;  // a login changes nothing
  return failure;
}

}  // namespace rest_fcgi::etcd
