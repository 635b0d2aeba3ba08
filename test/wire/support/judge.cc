// SPDX-License-Identifier: MIT

/// Prints whether the embedded engine permits calls.
/// An input line is {"master": text of a master file, "calls": [{"groups": names, "low": chunk}, ...]}.
/// An output line has "yes", "no" or an error for each call, or one error of the master file.

#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../../support/temp_dir.h"
#include "auth/tokens.h"
#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/engine/engine.h"

namespace {

using namespace rest_fcgi;

constexpr std::string_view kSettings =
    R"("netapi_enable_clients": ["local", "runner", "wheel"], "master_job_cache": "memory", "rest_fcgi": )"
    R"({"listen": "fd:0", "allow_auto_eauth": true, "login_guard": {"tries": 0}, "embedded": )";

/// Makes a token for each combination of a user and groups, because only a token can give groups to a user
/// here.
class Tokens {
 public:
  explicit Tokens(const std::shared_ptr<store::Store>& store)
      : made_(auth::tokens_in_store(store, system_clock()), std::chrono::hours(1), system_clock()) {}

  SecretView of(const std::string& name, const std::vector<std::string>& groups) {
    auto& token = tokens_[{name, groups}];
    if (!token) token = *made_.add(name, "auto", groups);
    return *token;
  }

 private:
  auth::Tokens made_;
  std::map<std::pair<std::string, std::vector<std::string>>, std::optional<Secret>> tokens_;
};

class Judge {
 public:
  std::string answer(const std::string& line) {
    JsonDocument document;
    if (!document.parse(line)) return "\"no JSON\"";
    auto settings = settings_of(*document.root().find("master"));
    if (!settings) return Json::string(settings.error().message).text();
    settings->embedded.modules.python = "/nosuch";  // The program `judge` runs no functions, so it needs no
                                                    // Python.
    if (!runtime_) {
      runtime_ = *engine::make_runtime(*settings);
      tokens_.emplace(runtime_->store);
    }
    const auto master = engine::make_master(*settings, *runtime_);
    if (!master) return Json::string(master.error().message).text();
    return written_array([&](JsonWriter& writer) {
             for (const JsonValue call : document.root().find("calls")->elements())
               writer.string(judge(**master, call));
           })
        .text();
  }

 private:
  Result<config::Settings> settings_of(JsonValue master) {
    std::string text = "{\"cachedir\": " + Json::string(folder_ / "cache").text() + ", ";
    text += "\"external_auth\": " + master.find("external_auth")->json().text() + ", ";
    text += std::string(kSettings) + "{\"minions\": " + master.find("minions")->json().text() + "}}}";
    return config::load({.config = folder_.write("master", text), .listen = {}, .log_level = {}});
  }

  std::string judge(master::Master& master, JsonValue call) {
    auto chunks = lowstate::read(*call.find("low"), {}, {.has_credentials = true});
    if (!chunks) return chunks.error().message;
    std::vector<std::string> groups;
    for (const JsonValue group : call.find("groups")->elements()) groups.emplace_back(group.text());
    lowstate::Chunk& chunk = chunks->front();
    const std::string user(call.find("user")->text());
    chunk.credentials = {auth::Credentials::Kind::token, {}, {}, {}, tokens_->of(user, groups)};
    const auto permit = master.admit(chunk, SteadyTime::max());
    if (permit) return "yes";
    return permit.error().kind == ErrorKind::authorization ? "no" : permit.error().message;
  }

  const test::TempDir folder_;
  std::optional<engine::Runtime> runtime_;
  std::optional<Tokens> tokens_;
};

}  // namespace

int main() {
  Judge judge;
  for (std::string line; std::getline(std::cin, line);) std::cout << judge.answer(line) << std::endl;
}
