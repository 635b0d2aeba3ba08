// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

#include "admitted.h"

namespace rest_fcgi::test {

/// A NetapiClient in front of a FakeMaster.
class Clients {
 public:
  using What = FakeMaster::What;
  /// A function that returns the return of a minion, or std::nullopt for a silent minion.
  using Answer = std::function<std::optional<master::Return>(const std::string& minion, What what)>;

  /// The function `change` may change the options `quick_options()`.
  explicit Clients(const std::function<void(client::Options&)>& change = [](client::Options&) {})
      : master_(std::make_shared<FakeMaster>()), client_(changed(change), master_) {}

  [[nodiscard]] FakeMaster& master() const { return *master_; }
  [[nodiscard]] const client::NetapiClient& client() const { return client_; }

  void on_minion(Answer answer) const {
    master_->on_minion = [answer = std::move(answer)](
                             const std::string& minion, const master::Publication& publication,
                             const std::string&, const FakeMaster::Returns& returns) {
      if (auto ret = answer(minion, publication.what)) returns->put(*std::move(ret));
    };
  }

  [[nodiscard]] Result<client::Reply> run(std::string_view keys) const {
    const Admitted admitted(*master_, keys, client_.deadline());
    return client_.run(admitted.permit());
  }

  /// Runs a chunk and returns the items of its reply as JSON lines, or the message of an error.
  [[nodiscard]] std::string text(std::string_view keys) const {
    const auto reply = run(keys);
    if (!reply) return reply.error().message;
    std::string text;
    for (const Json& item : reply->items) text += (text.empty() ? "" : "\n") + item.text();
    return text;
  }

  [[nodiscard]] Error error(std::string_view keys, std::uint64_t job = 1) const {
    const auto reply = run(keys);
    REQUIRE_FALSE(reply);
    CHECK(reply.error().jid == fake_jid(job));
    return reply.error();
  }

  [[nodiscard]] client::Reply partial(std::string_view keys) const {
    auto reply = run(keys);
    REQUIRE(reply);
    REQUIRE(reply->failure);
    REQUIRE(reply->items.size() == 1);
    return *std::move(reply);
  }

 private:
  static client::Options changed(const std::function<void(client::Options&)>& change) {
    client::Options options = quick_options();
    change(options);
    return options;
  }

  std::shared_ptr<FakeMaster> master_;
  client::NetapiClient client_;
};

struct WithClients {
  const Clients clients;
};

}  // namespace rest_fcgi::test
