// SPDX-License-Identifier: MIT
#include "auth/token_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/limit.h"
#include "../support/manual_clock.h"
#include "../support/temp_dir.h"
#include "auth/digest.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::auth {
namespace {

WallTime at(double since_epoch) {
  return WallTime(std::chrono::duration_cast<WallTime::duration>(std::chrono::duration<double>(since_epoch)));
}

using test::TempDir;

using std::chrono::seconds;
namespace fs = std::filesystem;

/// A store with tokens of 60 seconds, and its directory.
class StoreFixture {
 public:
  StoreFixture() : store_(make()) {}

  TokenStore& store() { return *store_; }
  test::ManualClock& clock() { return clock_; }
  const test::TempDir& dir() const { return dir_; }

  std::string add(std::string name = "fred") {
    auto token = store_->add(std::move(name), "file", {"ops"});
    REQUIRE(token);
    return std::string(token->reveal().text);
  }

  /// Puts `content` where the data of `token` is looked for.
  void plant(std::string_view token, std::string_view content) const { dir_.write(file_of(token), content); }

  static std::string file_of(std::string_view token) {
    const WipedBytes digits = to_hex(DigestAlgorithm::fetch("SHA256")->of({token}).view());
    return {digits.begin(), digits.end()};
  }

  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(dir_.path())) names.insert(entry.path().filename());
    return names;
  }

  WallTime time_of(const std::string& name) const {
    struct stat status {};
    REQUIRE(::stat((dir_ / name).c_str(), &status) == 0);
    return WallTime(seconds(status.st_mtim.tv_sec));
  }

  void set_time(const std::string& name, WallTime time) const {
    const timespec when{std::chrono::system_clock::to_time_t(time), 0};
    const timespec times[] = {when, when};
    REQUIRE(::utimensat(AT_FDCWD, (dir_ / name).c_str(), times, 0) == 0);
  }

  /// Another one over the same files.
  std::unique_ptr<TokenStore> make() const {
    auto files = token_files(dir_.path());
    REQUIRE(files);
    auto store = TokenStore::make(*std::move(files), seconds(60), clock_);
    REQUIRE(store);
    return *std::move(store);
  }

  /// Why a token is refused, or whose it is.
  std::string find(std::string_view token) const {
    const auto record = store_->find(SecretView(token));
    if (record) return "of " + record->name;
    CHECK((record.error().kind == ErrorKind::not_found) ==
          record.error().message.starts_with("it has expired"));
    return record.error().message;
  }

 private:
  test::TempDir dir_;
  test::ManualClock clock_;
  std::unique_ptr<TokenStore> store_;
};

constexpr std::chrono::hours kDay{24};
const std::string kForeign(64, 'a');
const std::string kExpired = R"({"start": 1, "expire": 2, "name": "x", "eauth": "file", "groups": []})";

}  // namespace

TEST_CASE("a token's data is one JSON object with Salt's names") {
  const TokenRecord record{"fr\"ed", "file", {"ops", "dev"}, at(1700000000.5), at(1700043200.5)};
  CHECK(
      to_json(record) ==
      R"({"start": 1700000000.5, "expire": 1700043200.5, "name": "fr\"ed", "eauth": "file", "groups": ["ops", "dev"]})");
}

TEST_CASE("a token's data reads back as it was written") {
  const auto read = read_token_record(to_json({"fred", "file", {"ops"}, at(1), at(2)}));
  REQUIRE(read);
  CHECK(read->name == "fred");
  CHECK(read->eauth == "file");
  CHECK(read->groups == std::vector<std::string>{"ops"});
  CHECK(read->start == at(1));
  CHECK(read->expire == at(2));
}

TEST_CASE("anything else is no token's data") {
  const std::string_view wrong[] = {
      "",
      "{",
      "null",
      "[]",
      "{}",
      R"({"start": 1, "expire": 2, "name": "fred", "eauth": "file"})",
      R"({"start": 1, "expire": 2, "name": "fred", "groups": []})",
      R"({"start": 1, "expire": 2, "eauth": "file", "groups": []})",
      R"({"start": 1, "name": "fred", "eauth": "file", "groups": []})",
      R"({"expire": 2, "name": "fred", "eauth": "file", "groups": []})",
      R"({"start": 1, "expire": 2, "name": "", "eauth": "file", "groups": []})",
      R"({"start": 1, "expire": 2, "name": 7, "eauth": "file", "groups": []})",
      R"({"start": 1, "expire": 2, "name": "fred", "eauth": "file", "groups": "ops"})",
      R"({"start": 1, "expire": 2, "name": "fred", "eauth": "file", "groups": [1]})",
      R"({"start": 1, "expire": "2", "name": "fred", "eauth": "file", "groups": []})",
      R"({"start": -1, "expire": 2, "name": "fred", "eauth": "file", "groups": []})",
      R"({"start": 1, "expire": 1e300, "name": "fred", "eauth": "file", "groups": []})",
  };
  for (const std::string_view json : wrong) {
    CAPTURE(json);
    const auto read = read_token_record(json);
    REQUIRE_FALSE(read);
    CHECK(read.error().kind == ErrorKind::malformed);
  }
}

TEST_CASE("CVE-2021-3144: a token of negative life is refused") {
  const auto read =
      read_token_record(R"({"start": 3, "expire": 2, "name": "fred", "eauth": "file", "groups": []})");
  REQUIRE_FALSE(read);
  CHECK(read.error().message == "the token expires before it starts");
}

TEST_CASE("a token leads to whom it was made for") {
  StoreFixture fixture;
  const auto record = fixture.store().find(SecretView(fixture.add()));
  REQUIRE(record);
  CHECK(record->name == "fred");
  CHECK(record->eauth == "file");
  CHECK(record->groups == std::vector<std::string>{"ops"});
  CHECK(record->start == fixture.clock().wall());
  CHECK(record->expire == fixture.clock().wall() + seconds(60));
}

TEST_CASE("tokens are 64 hexadecimal digits, and never the same") {
  StoreFixture fixture;
  const std::string token = fixture.add();
  CHECK(token.size() == 64);
  CHECK(token.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(fixture.add() != token);
}

TEST_CASE("no token stands on the disk; its file is its owner's alone") {
  StoreFixture fixture;
  const std::string token = fixture.add();
  CHECK(fixture.files() == std::set<std::string>{StoreFixture::file_of(token)});
  CHECK(fixture.dir().read(StoreFixture::file_of(token)).find(token) == std::string::npos);
  CHECK(fs::status(fixture.dir() / StoreFixture::file_of(token)).permissions() ==
        (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("a token that has expired is refused, and known for a day as one that was good") {
  StoreFixture fixture;
  const std::string token = fixture.add();
  fixture.clock().advance(seconds(59));
  CHECK(fixture.find(token) == "of fred");
  fixture.clock().advance(seconds(1));
  for (int i = 0; i < 3; ++i) CHECK(fixture.find(token) == "it has expired (user fred)");
  fixture.clock().advance(kDay - seconds(60));
  fixture.add();
  CHECK(fixture.find(token) == "it has expired (user fred)");
  fixture.clock().advance(seconds(60));
  fixture.add();
  CHECK(fixture.find(token) == "there is no such token");
}

TEST_CASE("nothing is left of a token that was ended alone, and once more is no failure") {
  StoreFixture fixture;
  const std::string token = fixture.add();
  for (int i = 0; i < 2; ++i) {
    REQUIRE(fixture.store().end(SecretView(token)));
    CHECK(fixture.find(token) == "there is no such token");
  }
  CHECK(fixture.make()->find(SecretView(token)).error().kind == ErrorKind::authentication);
  REQUIRE(fixture.store().end(SecretView(kForeign)));
}

TEST_CASE("of all tokens of a user, one that cannot be kept as an ended one is removed") {
  StoreFixture fixture;
  const std::string token = fixture.add();
  fixture.dir().write(StoreFixture::file_of(token) + ".tmp", "in the way");
  CHECK(*fixture.store().end_all("", "fred") == 1);
  CHECK(fixture.find(token) == "there is no such token");
}

TEST_CASE("all tokens of a user end at once, those of one back end or of all, and nobody else's") {
  StoreFixture fixture;
  std::vector<std::string> freds;
  for (int i = 0; i < 5; ++i) freds.push_back(fixture.add());
  const std::string anns = fixture.add("ann");
  const auto from_pam = fixture.store().add("fred", "pam", {});
  REQUIRE(from_pam);
  fixture.dir().write("README", "{}");
  fixture.plant(kForeign, "{");
  REQUIRE(fixture.store().end(SecretView(freds[0])));

  CHECK(*fixture.make()->end_all("file", "fred") == 4);
  CHECK(fixture.find(freds[0]) == "there is no such token");
  for (std::size_t i = 1; i < freds.size(); ++i)
    CHECK(fixture.find(freds[i]) == "it has expired (user fred)");
  CHECK(fixture.find(anns) == "of ann");
  CHECK(fixture.store().find(*from_pam));
  CHECK(*fixture.store().end_all("", "fred") == 1);
  CHECK(*fixture.store().end_all("", "fred") == 0);
  CHECK(*fixture.store().end_all("", "Ann") == 0);
  CHECK(fixture.find(anns) == "of ann");
  CHECK(fixture.find(fixture.add()) == "of fred");
}

TEST_CASE("all tokens of a user end by whatever clock, also those that a clock that is ahead finds over") {
  StoreFixture fixture;
  const std::string before = fixture.add();
  for (const auto ahead : {std::chrono::hours(24 * 3650), std::chrono::hours(0), std::chrono::hours(-1)}) {
    fixture.clock().set_back(-ahead);
    static_cast<void>(*fixture.store().end_all("", "fred"));
    fixture.clock().set_back(ahead);
    CHECK(fixture.find(before) == "it has expired (user fred)");
  }
  const std::string later = fixture.add();
  CHECK(fixture.find(later) == "of fred");
  fixture.clock().set_back(std::chrono::hours(1));
  CHECK(*fixture.store().end_all("", "fred") == 1);
  fixture.clock().set_back(std::chrono::hours(-1));
  CHECK(fixture.find(later) == "it has expired (user fred)");
  fixture.clock().set_back(std::chrono::hours(20));
  CHECK(fixture.find(later) == "it has expired (user fred)");
}

TEST_CASE("tokens that cannot be looked through are an error") {
  StoreFixture fixture;
  fixture.add();
  const test::Limit no_files(RLIMIT_NOFILE, 0);
  const auto ended = fixture.store().end_all("", "fred");
  REQUIRE_FALSE(ended);
  CHECK(ended.error().kind == ErrorKind::unavailable);
  CHECK(ended.error().message == "token_dir cannot be listed: Too many open files");
}

TEST_CASE("only 40 to 128 hexadecimal digits are looked up") {
  const StoreFixture fixture;
  const std::string json = R"({"start": 1, "expire": 9e9, "name": "x", "eauth": "file", "groups": []})";
  const std::string form = "it is not 40 to 128 hexadecimal digits";
  for (const std::string& token :
       {std::string(), std::string(39, 'a'), std::string(129, 'a'), std::string(63, 'a') + "g",
        std::string(63, 'a') + '\0', "../" + std::string(61, 'a'), "/" + std::string(63, 'a')}) {
    fixture.plant(token, json);
    CHECK(fixture.find(token) == form);
  }
  for (const std::string& token : {std::string(40, 'a'), std::string(128, 'F')}) {
    fixture.plant(token, json);
    CHECK(fixture.find(token) == "of x");
  }
}

TEST_CASE("a token is looked up just as it was sent") {
  StoreFixture fixture;
  fixture.plant(kForeign, R"({"start": 1, "expire": 9e9, "name": "x", "eauth": "file", "groups": []})");
  CHECK(fixture.find(kForeign) == "of x");
  CHECK(fixture.find(std::string(64, 'A')) == "there is no such token");
}

TEST_CASE("the name of a token's file is no token") {
  StoreFixture fixture;
  CHECK(fixture.find(StoreFixture::file_of(fixture.add())) == "there is no such token");
}

TEST_CASE("a malformed, empty or oversized file is refused") {
  const StoreFixture fixture;
  for (const std::string& content : {std::string(), std::string("{"), std::string("\x84\xa5start", 7)}) {
    fixture.plant(kForeign, content);
    CHECK(fixture.find(kForeign).find("is malformed") != std::string::npos);
  }
  fixture.plant(kForeign, std::string((64 << 10) + 1, ' '));
  CHECK(fixture.find(kForeign).find("is larger than 65536 bytes") != std::string::npos);
}

TEST_CASE("CVE-2025-22242: links and pipes in the place of a token's file are refused") {
  const StoreFixture fixture;
  const std::string place = fixture.dir() / StoreFixture::file_of(kForeign);
  fs::create_symlink(fixture.dir().write("elsewhere", "{}"), place);
  CHECK(fixture.find(kForeign).find("cannot be opened: Too many levels of symbolic links") !=
        std::string::npos);
  fs::remove(place);
  REQUIRE(::mkfifo(place.c_str(), 0600) == 0);
  CHECK(fixture.find(kForeign).find("is no regular file") != std::string::npos);
}

TEST_CASE("a new token sweeps away what has expired, at most once a minute, and nothing else") {
  StoreFixture fixture;
  const std::string old = StoreFixture::file_of(fixture.add());
  fixture.plant("foreign", "\x84\xa5start");
  fixture.dir().write("README", "{}");
  fixture.clock().advance(kDay);
  const std::string stays = StoreFixture::file_of(fixture.add());
  fixture.clock().advance(seconds(59));
  const std::string young = StoreFixture::file_of(fixture.add());
  fixture.clock().advance(seconds(1));
  const std::string last = StoreFixture::file_of(fixture.add());
  CHECK(fixture.files() ==
        std::set<std::string>{stays, young, last, "README", StoreFixture::file_of("foreign")});
  fixture.clock().advance(seconds(59));
  const std::string unswept = StoreFixture::file_of(fixture.add());
  CHECK(fixture.files().contains(young));
  CHECK(fixture.files().contains(unswept));
  CHECK_FALSE(fixture.files().contains(old));
}

TEST_CASE("a clock that jumps years ahead sweeps nothing away for a day, and is believed then") {
  StoreFixture fixture;
  const std::string kept = StoreFixture::file_of(fixture.add());
  fixture.clock().set_back(-std::chrono::hours(24 * 3650));
  fixture.clock().advance(kDay - seconds(1));
  static_cast<void>(fixture.add());
  fixture.clock().advance(kDay - seconds(1));
  static_cast<void>(fixture.add());
  CHECK(fixture.files().contains(kept));
  fixture.clock().advance(seconds(1));
  static_cast<void>(fixture.add());
  CHECK_FALSE(fixture.files().contains(kept));
}

TEST_CASE("a token's file is not read before the time that its own time says") {
  StoreFixture fixture;
  const std::string file = StoreFixture::file_of(fixture.add());
  CHECK(fixture.time_of(file) == fixture.clock().wall() + seconds(60) + kDay);
  fixture.dir().write(file, kExpired);
  fixture.set_time(file, fixture.clock().wall() + seconds(70));
  fixture.clock().advance(seconds(60));
  fixture.add();
  CHECK(fixture.files().contains(file));
  fixture.clock().advance(seconds(60));
  fixture.add();
  CHECK_FALSE(fixture.files().contains(file));
}

TEST_CASE("a file of an older version, whose time is its start, goes a day after its token has expired") {
  StoreFixture fixture;
  const std::string old = StoreFixture::file_of(fixture.add());
  fixture.set_time(old, fixture.clock().wall());
  fixture.plant(kForeign, kExpired);
  fixture.set_time(StoreFixture::file_of(kForeign), fixture.clock().wall());
  fixture.clock().advance(seconds(59) + std::chrono::milliseconds(999));
  const auto store = fixture.make();
  REQUIRE(store->add("fred", "file", {}));
  CHECK(fixture.time_of(old) == fixture.clock().wall() + std::chrono::milliseconds(1) + kDay);
  CHECK_FALSE(fixture.files().contains(StoreFixture::file_of(kForeign)));
}

TEST_CASE("what a crash left half written goes after a minute") {
  StoreFixture fixture;
  const std::string tmp = kForeign + ".tmp";
  for (const std::string& name : {tmp, std::string("README.tmp")}) {
    fixture.dir().write(name, "{");
    fixture.set_time(name, fixture.clock().wall());
  }
  fixture.add();
  CHECK(fixture.files().contains(tmp));
  fixture.clock().advance(seconds(60));
  fixture.add();
  CHECK_FALSE(fixture.files().contains(tmp));
  CHECK(fixture.files().contains("README.tmp"));
}

TEST_CASE("a new token waits for the sweeping of some, and the next ones sweep on") {
  StoreFixture fixture;
  for (int i = 0; i < 250; ++i) {
    const std::string name = format("{:064x}", i);
    fixture.dir().write(name, kExpired);
    fixture.set_time(name, at(2));
  }
  fixture.add();
  CHECK(fixture.files().size() > 150);
  fixture.add();
  CHECK(fixture.files().size() > 50);
  fixture.add();
  CHECK(fixture.files().size() == 3);
}

TEST_CASE("a token that cannot be stored is not given out") {
  StoreFixture fixture;
  fs::remove(fixture.dir().path());
  const auto token = fixture.store().add("fred", "file", {});
  REQUIRE_FALSE(token);
  CHECK(token.error().kind == ErrorKind::internal);
  CHECK(token.error().message == "its file cannot be created: No such file or directory");
}

TEST_CASE("a token that cannot be written leaves no file behind") {
  StoreFixture fixture;
  const auto previous = ::signal(SIGXFSZ, SIG_IGN);
  std::optional<Result<Secret>> token;
  {
    const test::Limit no_bytes(RLIMIT_FSIZE, 0);
    token = fixture.store().add("fred", "file", {});
  }
  ::signal(SIGXFSZ, previous);
  REQUIRE_FALSE(token->ok());
  CHECK(token->error().message == "its file cannot be written: File too large");
  CHECK(fixture.files().empty());
}

TEST_CASE("a folder in the place of a token's file keeps it from being stored, and cannot be removed") {
  const test::TempDir dir;
  const auto shelf = token_files(dir.path());
  REQUIRE(shelf);
  fs::create_directory(dir / kForeign);
  CHECK((*shelf)->put(kForeign, "{}", seconds(1), at(1)).error().message ==
        "its file cannot be stored: Is a directory");
  CHECK((*shelf)->remove(kForeign).error().message ==
        "its file " + kForeign + " cannot be removed: Is a directory");
  CHECK_FALSE(fs::exists(dir / (kForeign + ".tmp")));
}

TEST_CASE("a directory that cannot be listed keeps its expired tokens, and the log says so") {
  StoreFixture fixture;
  const test::CapturedLog log;
  {
    const test::Limit no_files(RLIMIT_NOFILE, 0);
    CHECK_FALSE(fixture.store().add("fred", "file", {}));
  }
  CHECK(log.has("token_dir: expired tokens stay, as it cannot be listed: Too many open files"));
}

TEST_CASE("tokens that never live, or for ever, are an error of the configuration") {
  const test::TempDir dir;
  for (const char* life : {"0", "-1", "3155695201"}) {
    const auto store = TokenStore::make(*token_files(dir.path()), seconds(std::stoll(life)), system_clock());
    REQUIRE_FALSE(store);
    CHECK(store.error().kind == ErrorKind::configuration);
    CHECK(store.error().message ==
          "token_expire: " + std::string(life) + " found, a number from 1 to 3155695200 expected");
  }
  CHECK_FALSE(token_files(dir.write("file", "")));
}

TEST_CASE("many threads may make and use tokens at once") {
  StoreFixture fixture;
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const auto token = fixture.store().add("fred", "file", {});
        if (!token || !fixture.store().find(*token)) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failed == 0);
  CHECK(fixture.files().size() == 80);
}

TEST_CASE("a token's file is read once, and what becomes of it counts at once") {
  StoreFixture fixture;
  const std::string token = fixture.add();
  const auto await_stamp = [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
  const auto find_unread = [&] {
    const test::Limit no_files(RLIMIT_NOFILE, 0);
    return fixture.find(token);
  };
  const auto of = [](std::string_view name) {
    return R"({"start": 1, "expire": 9e9, "name": ")" + std::string(name) +
           R"(", "eauth": "file", "groups": []})";
  };
  await_stamp();
  REQUIRE(fixture.find(token) == "of fred");
  CHECK(find_unread() == "of fred");
  fixture.plant(token, of("anne"));
  CHECK(fixture.find(token) == "of anne");
  fixture.plant(token, of("mary"));
  CHECK(fixture.find(token) == "of mary");
  await_stamp();
  REQUIRE(fixture.find(token) == "of mary");
  CHECK(find_unread() == "of mary");
  fixture.dir().write("other", of("john"));
  await_stamp();
  fs::rename(fixture.dir() / "other", fixture.dir() / StoreFixture::file_of(token));
  CHECK(fixture.find(token) == "of john");
  await_stamp();
  REQUIRE(fixture.find(token) == "of john");
  SUBCASE("removed") {
    fs::remove(fixture.dir() / StoreFixture::file_of(token));
  }
  SUBCASE("a link in its place") {
    fs::rename(fixture.dir() / StoreFixture::file_of(token), fixture.dir() / "other");
    fs::create_symlink("other", fixture.dir() / StoreFixture::file_of(token));
  }
  CHECK_FALSE(fixture.find(token).starts_with("of "));
}

TEST_CASE("the data of some tokens is kept in mind, however many come, and none that is long") {
  StoreFixture fixture;
  const auto find_unread = [&](std::string_view token) {
    const test::Limit no_files(RLIMIT_NOFILE, 0);
    return fixture.store().find(SecretView(token)).ok();
  };
  const std::string first = fixture.add();
  const std::string long_one = fixture.add(std::string(2000, 'n'));
  std::vector<std::string> others;
  for (int number = 0; number < 1000; ++number) {
    others.push_back(format("{:064x}", number));
    fixture.plant(others.back(),
                  R"({"start": 1, "expire": 9e9, "name": "x", "eauth": "file", "groups": []})");
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  for (const std::string& token : {first, long_one}) REQUIRE(fixture.find(token).starts_with("of "));
  CHECK(find_unread(first));
  CHECK_FALSE(find_unread(long_one));
  for (const std::string& token : others) REQUIRE(fixture.find(token) == "of x");
  CHECK(find_unread(others.back()));
  CHECK_FALSE(find_unread(first));
}

TEST_CASE("while files cannot be opened a good token is out of reach, and not refused") {
  StoreFixture fixture;
  const std::string token = fixture.add();
  const Result<TokenRecord> found = [&] {
    const test::Limit no_files(RLIMIT_NOFILE, 0);
    return fixture.store().find(SecretView(token));
  }();
  REQUIRE_FALSE(found);
  CHECK(found.error().kind == ErrorKind::unavailable);
  CHECK(found.error().message.ends_with("cannot be opened: Too many open files"));
  CHECK(fixture.find(token) == "of fred");
}

}  // namespace rest_fcgi::auth
