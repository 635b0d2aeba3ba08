// SPDX-License-Identifier: MIT
#include "auth/token_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::auth {
namespace {

double to_seconds(WallTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

/// Absent where it is no number of seconds that a WallTime can hold.
std::optional<WallTime> read_time(std::optional<JsonValue> value) {
  constexpr double kLatest = 1e11;
  const std::optional<double> since_epoch = value ? value->number() : std::nullopt;
  if (!since_epoch || !(*since_epoch >= 0 && *since_epoch <= kLatest)) return std::nullopt;
  return WallTime(
      std::chrono::duration_cast<WallTime::duration>(std::chrono::duration<double>(*since_epoch)));
}

std::optional<std::string> read_name(std::optional<JsonValue> value) {
  if (!value || !value->is(JsonValue::Kind::string) || value->text().empty()) return std::nullopt;
  return std::string(value->text());
}

std::optional<std::vector<std::string>> read_names(std::optional<JsonValue> value) {
  if (!value || !value->is(JsonValue::Kind::array)) return std::nullopt;
  std::vector<std::string> names;
  for (const JsonValue element : value->elements()) {
    auto name = read_name(element);
    if (!name) return std::nullopt;
    names.push_back(*std::move(name));
  }
  return names;
}

Error malformed(std::string what) {
  return {ErrorKind::malformed, std::move(what)};
}

constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kMinDigits = 40;
constexpr std::size_t kMaxDigits = 128;
constexpr std::size_t kFileNameDigits = 64;
constexpr std::size_t kMaxTokenFile = std::size_t{64} << 10;
constexpr std::chrono::minutes kPurgeInterval{1};
constexpr std::chrono::seconds kMaxLife = std::chrono::years(100);

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

bool has_form_of_own_token(std::string_view text) {
  return text.size() >= kMinDigits && text.size() <= kMaxDigits && is_hex(text);
}

Error refused_token(std::string cause) {
  return {ErrorKind::authentication, std::move(cause)};
}

}  // namespace

std::string to_json(const TokenRecord& record) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  writer.key("start").number(to_seconds(record.start));
  writer.key("expire").number(to_seconds(record.expire));
  writer.key("name").string(record.name);
  writer.key("eauth").string(record.eauth);
  writer.key("groups").begin_array();
  for (const std::string& group : record.groups) writer.string(group);
  writer.end_array().end_object();
  return text;
}

Result<TokenRecord> read_token_record(std::string_view json) {
  JsonDocument document;
  if (auto parsed = document.parse(json); !parsed) return std::move(parsed).error();
  const JsonValue root = document.root();
  auto name = read_name(root.find("name"));
  auto eauth = read_name(root.find("eauth"));
  auto groups = read_names(root.find("groups"));
  const auto start = read_time(root.find("start"));
  const auto expire = read_time(root.find("expire"));
  if (!name || !eauth || !groups || !start || !expire)
    return malformed("a token's data is missing or of a wrong type");
  if (*expire < *start) return malformed("the token expires before it starts");
  return TokenRecord{*std::move(name), *std::move(eauth), *std::move(groups), *start, *expire};
}

Result<std::unique_ptr<TokenStore>> TokenStore::make(const std::string& directory, std::chrono::seconds life,
                                                     const Clock& clock) {
  if (life.count() <= 0 || life > kMaxLife) {
    return Error{ErrorKind::configuration, format("token_expire: {} found, a number from 1 to {} expected",
                                                  life.count(), kMaxLife.count())};
  }
  auto opened = open_private_folder(directory);
  if (!opened) {
    return Error{ErrorKind::configuration, format("token_dir: {} {}", directory, opened.error().message)};
  }
  auto sha256 = DigestAlgorithm::fetch("SHA256");
  if (!sha256) return std::move(sha256).error();
  return std::make_unique<TokenStore>(*std::move(opened), *std::move(sha256), life, clock);
}

TokenStore::TokenStore(UniqueFd directory, DigestAlgorithm sha256, std::chrono::seconds life,
                       const Clock& clock)
    : directory_(std::move(directory)),
      sha256_(std::move(sha256)),
      life_(life),
      clock_(clock),
      next_purge_(clock.steady()) {}

Result<Secret> TokenStore::add(std::string name, std::string eauth, std::vector<std::string> groups) {
  purge_now_and_then();
  WipedBytes random(kTokenBytes);
  if (auto drawn = fill_random(random); !drawn) return std::move(drawn).error();
  const WipedBytes digits = to_hex({random.data(), random.size()});
  Secret token(std::string_view(digits.data(), digits.size()));
  const WallTime now = clock_.wall();
  const TokenRecord record{std::move(name), std::move(eauth), std::move(groups), now, now + life_};
  if (auto written = write(file_of(token), to_json(record)); !written) return std::move(written).error();
  return token;
}

Result<TokenRecord> TokenStore::find(SecretView token) const {
  if (!has_form_of_own_token(token.reveal())) return refused_token("it is not 40 to 128 hexadecimal digits");
  const std::string file = file_of(token);
  auto record = read(file);
  if (record && record->expire <= clock_.wall()) {
    remove(file);
    return Error{ErrorKind::not_found, format("it has expired (user {})", record->name)};
  }
  return record;
}

Result<void> TokenStore::remove(SecretView token) const {
  const std::string file = file_of(token);
  if (::unlinkat(directory_.get(), file.c_str(), 0) == 0 || errno == ENOENT) return {};
  return Error{ErrorKind::internal, format("its file {} cannot be removed: {}", file, errno_text())};
}

std::string TokenStore::file_of(SecretView token) const {
  const WipedBytes digits = to_hex(sha256_.of({token.reveal()}).view());
  return {digits.begin(), digits.end()};
}

Result<TokenRecord> TokenStore::read(const std::string& file) const {
  const auto bytes = read_regular_file(directory_.get(), file, Links::refuse, kMaxTokenFile);
  if (!bytes && bytes.error().kind == ErrorKind::not_found) return refused_token("there is no such token");
  if (!bytes) return refused_token(format("its file {} {}", file, bytes.error().message));
  auto record = read_token_record({bytes->data(), bytes->size()});
  if (!record) return refused_token(format("its file {} is malformed: {}", file, record.error().message));
  return record;
}

Result<void> TokenStore::write(const std::string& file, std::string_view content) const {
  const std::string temporary = file + ".tmp";
  const UniqueFd fd(::openat(directory_.get(), temporary.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.is_open()) {
    return Error{ErrorKind::internal, format("its file cannot be created: {}", errno_text())};
  }
  auto written = write_all(fd.get(), content);
  if (written && ::fsync(fd.get()) == 0 &&
      ::renameat(directory_.get(), temporary.c_str(), directory_.get(), file.c_str()) == 0) {
    return {};
  }
  const std::string cause = written ? format("cannot be stored: {}", errno_text()) : written.error().message;
  remove(temporary);
  return Error{ErrorKind::internal, format("its file {}", cause)};
}

void TokenStore::remove(const std::string& file) const {
  ::unlinkat(directory_.get(), file.c_str(), 0);
}

void TokenStore::purge_now_and_then() {
  const SteadyTime now = clock_.steady();
  SteadyTime next = next_purge_.load();
  if (now >= next && next_purge_.compare_exchange_strong(next, now + kPurgeInterval)) purge();
}

/// Removes what is certainly an expired token of this store; a Salt master may keep its own in the same
/// directory.
void TokenStore::purge() const {
  struct Close {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  UniqueFd copy(::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, Close> stream(copy.is_open() ? ::fdopendir(copy.get()) : nullptr);
  if (!stream) {
    return log::warning(format("token_dir: expired tokens stay, as it cannot be listed: {}", errno_text()));
  }
  static_cast<void>(copy.release());
  while (const dirent* found = ::readdir(stream.get())) {
    const std::string file = found->d_name;
    if (file.size() != kFileNameDigits || !is_hex(file)) continue;
    const auto record = read(file);
    if (record && record->expire <= clock_.wall()) remove(file);
  }
}

}  // namespace rest_fcgi::auth
