// SPDX-License-Identifier: MIT
#include "master/embedded/events/peers.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/captured_log.h"
#include "../../../support/embedded_engine.h"
#include "../../../support/fork_alone.h"
#include "../../../support/limit.h"
#include "../../../support/manual_clock.h"
#include "../../../support/temp_dir.h"
#include "read_events.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/unique_fd.h"

using namespace rest_fcgi;
using namespace rest_fcgi::embedded;
using test::EmbeddedEngine;

namespace {

using test::kAll;
using test::read;

/// One process's end, as far as others can tell.
struct Process {
  explicit Process(const std::string& folder, const Clock& clock = system_clock(),
                   std::size_t most_pending = std::size_t{16} << 20)
      : log(std::make_shared<master::EventLog>(clock)) {
    auto opened = Peers::open(folder, log, most_pending);
    REQUIRE(opened);
    peers = *std::move(opened);
  }

  [[nodiscard]] std::unique_ptr<master::EventReader> listen() const {
    auto reader = peers->reader(kAll, {});
    REQUIRE(reader);
    return *std::move(reader);
  }

  void tell(const std::string& tag, const std::string& data = "{}", const std::string& user = "") const {
    if (peers->wanted()) peers->publish(tag, data, user);
  }

  std::shared_ptr<master::EventLog> log;
  std::unique_ptr<Peers> peers;
};

/// Why the reader ends, after that many events.
std::string end_of(master::EventReader& reader, std::size_t* count = nullptr) {
  std::vector<master::EventPtr> events;
  std::string why;
  CHECK(EmbeddedEngine::eventually([&] {
    const auto done = reader.read(events, 1 << 20, nullptr);
    if (!done) why = done.error().message;
    return !done;
  }));
  if (count != nullptr) *count = events.size();
  return why;
}

constexpr const char* kLostWords = "Events of another process of this host were lost.";

std::vector<std::string> names_of_sockets_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_socket()) names.push_back(entry.path().filename());
  }
  return names;
}

std::size_t sockets_in(const std::string& folder) {
  return names_of_sockets_in(folder).size();
}

UniqueFd opened(const std::string& folder) {
  return UniqueFd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

UniqueFd new_socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

/// Listens as another process does, in a folder that is made for it.
UniqueFd listening_in(const std::string& folder, int backlog) {
  std::filesystem::create_directory(folder);
  const UniqueFd open_folder = opened(folder);
  UniqueFd socket = new_socket();
  const sockaddr_un address = socket_in(open_folder.get(), "1-1.sock");
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(socket.get(), backlog) == 0);
  return socket;
}

/// Connects as another process does.
UniqueFd connected_to_one_in(const std::string& folder) {
  const UniqueFd open_folder = opened(folder);
  const std::string name = names_of_sockets_in(folder).at(0);
  const sockaddr_un address = socket_in(open_folder.get(), name);
  UniqueFd socket = new_socket();
  REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return socket;
}

void write_to(const UniqueFd& socket, std::string_view bytes) {
  REQUIRE(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(bytes.size()));
}

}  // namespace

TEST_CASE("who listens hears the others, in order, and nobody hears what nobody listens to") {
  const test::TempDir dir;
  Process one(dir / "events");
  Process two(dir / "events");
  Process three(dir / "events");
  CHECK_FALSE(two.peers->wanted());
  two.tell("before");
  const auto first = one.listen();
  const auto second = three.listen();
  CHECK(two.peers->wanted());
  CHECK(one.peers->wanted());  // three listens
  constexpr int kMany = 2000;
  for (int i = 0; i < kMany; ++i) two.tell(format("t/{}", i), format(R"({{"i": {}}})", i), "fred");
  for (master::EventReader* reader : {first.get(), second.get()}) {
    const auto events = read(*reader, kMany);
    for (int i = 0; i < kMany; ++i) REQUIRE(events[static_cast<std::size_t>(i)]->tag() == format("t/{}", i));
    CHECK(events.back()->data() == R"({"i": 1999})");
    CHECK(events.back()->user() == "fred");
  }
}

TEST_CASE("who begins to listen misses nothing from then on, however often that is") {
  const test::TempDir dir;
  Process teller(dir / "events");
  for (int i = 0; i < 20; ++i) {
    Process listener(dir / "events");
    const auto reader = listener.listen();
    teller.tell(format("t/{}", i));
    CHECK(read(*reader, 1).front()->tag() == format("t/{}", i));
  }
  CHECK(sockets_in(dir / "events") == 0);
  CHECK(EmbeddedEngine::eventually([&] { return !teller.peers->wanted(); }));
}

TEST_CASE("where nobody listens any more, the socket goes, and comes again") {
  const test::TempDir dir;
  test::ManualClock clock;
  const Process one(dir / "events", clock);
  const Process two(dir / "events");
  { const auto reader = one.listen(); }
  CHECK(two.peers->wanted());  // the listener may come back
  clock.advance(std::chrono::minutes(2));
  CHECK(EmbeddedEngine::eventually([&] { return sockets_in(dir / "events") == 0; }));
  const auto reader = one.listen();
  two.tell("t");
  CHECK(read(*reader, 1).front()->tag() == "t");
}

TEST_CASE("large events come whole") {
  const test::TempDir dir;
  Process one(dir / "events");
  Process two(dir / "events");
  const auto reader = one.listen();
  const std::string data = Json::string(std::string(5'000'000, 'x')).text();
  two.tell("large", data);
  two.tell("small");
  const auto events = read(*reader, 2);
  CHECK(events[0]->data() == data);
  CHECK(events[1]->tag() == "small");
}

TEST_CASE("what a process told before it ended is heard, and its end is no loss") {
  const test::TempDir dir;
  Process one(dir / "events");
  const auto reader = one.listen();
  {
    const Process two(dir / "events");
    for (int i = 0; i < 100; ++i) two.tell("t", Json::string(std::string(20'000, 'x')).text());
  }
  (void)read(*reader, 100);
  const Process three(dir / "events");
  three.tell("last");
  CHECK(read(*reader, 1).front()->tag() == "last");
}

TEST_CASE("a process that was killed takes nothing with it but its own") {
  const test::TempDir dir;
  const std::string folder = dir / "events";
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = test::fork_alone();
  if (child == 0) {
    const auto log = std::make_shared<master::EventLog>(system_clock());
    auto peers = Peers::open(folder, log);
    const auto reader = (*peers)->reader(kAll, {});
    const bool listens = reader.ok();
    char byte = 'x';
    (void)!::write(ready[1], &byte, 1);
    for (int i = 0; listens && i < 20'000; ++i) {  // until the other process listens
      if ((*peers)->wanted()) {
        (*peers)->publish("child", "{}", "ann");
        ::pause();
      }
      ::usleep(1000);
    }
    ::_exit(1);
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  Process one(folder);
  const auto reader = one.listen();
  CHECK(read(*reader, 1).front()->tag() == "child");
  CHECK(sockets_in(folder) == 2);
  ::kill(child, SIGKILL);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  Process two(folder);
  two.tell("after");
  CHECK(read(*reader, 1).front()->tag() == "after");
  CHECK(sockets_in(folder) == 1);  // the dead one's is removed
  for (const int fd : ready) ::close(fd);
}

TEST_CASE("a listener that does not keep up is told so, and hears what comes then") {
  const test::TempDir dir;
  const std::string folder = dir / "events";
  const UniqueFd listening = listening_in(folder, 1);
  const Process teller(folder, system_clock(), 100'000);
  REQUIRE(teller.peers->wanted());
  const UniqueFd socket(::accept(listening.get(), nullptr, nullptr));
  const std::string data = Json::string(std::string(50'000, 'x')).text();
  for (int i = 0; i < 50; ++i) teller.peers->publish("t", data, "");
  teller.peers->publish("last", "{}", "");
  std::string bytes;
  std::string heard;
  char chunk[65536];
  while (!heard.ends_with("last ")) {
    const ssize_t got = ::recv(socket.get(), chunk, sizeof chunk, 0);
    REQUIRE(got > 0);
    bytes.append(chunk, static_cast<std::size_t>(got));
    while (const auto frame = first_frame(bytes)) {
      REQUIRE(frame->kind != PeerFrame::Kind::broken);
      heard += frame->kind == PeerFrame::Kind::lost ? "lost " : std::string(frame->event.tag) + " ";
      bytes.erase(0, frame->size);
    }
  }
  CHECK(heard.find("lost ") != std::string::npos);
}

TEST_CASE("a listener that could not be reached at first is tried again, though its folder is as it was") {
  const test::CapturedLog log;
  const test::TempDir dir;
  const std::string folder = dir / "events";
  const UniqueFd listening = listening_in(folder, 0);
  const UniqueFd first = connected_to_one_in(folder);           // there is no place for a second one
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the folder's time can be relied on now
  const Process teller(folder);
  for (int i = 0; i < 100; ++i) CHECK_FALSE(teller.peers->wanted());
  const std::string said = log.text();
  CHECK(said.find("do not hear this one") != std::string::npos);
  CHECK(said.find("do not hear this one") == said.rfind("do not hear this one"));  // once
  const UniqueFd accepted(::accept(listening.get(), nullptr, nullptr));
  REQUIRE(accepted);
  CHECK(EmbeddedEngine::eventually([&] { return teller.peers->wanted(); }));
}

TEST_CASE("where more processes tell than are heard, readers end once, and go on with the others") {
  const test::CapturedLog log;
  const test::TempDir dir;
  Process one(dir / "events");
  const auto reader = one.listen();
  std::vector<UniqueFd> sockets;
  while (sockets.size() <= kMaxPeers) sockets.push_back(connected_to_one_in(dir / "events"));
  CHECK(end_of(*reader) == kLostWords);
  const auto next = one.listen();
  sockets.back() = connected_to_one_in(dir / "events");
  char byte = 0;
  CHECK(::recv(sockets.back().get(), &byte, 1, 0) == 0);  // refused
  std::string bytes;
  append_frame(bytes, {"ann", "a", "{}"});
  write_to(sockets.front(), bytes);
  CHECK(read(*next, 1).front()->tag() == "a");
}

TEST_CASE(
    "readers end where events of another process were lost, and where it speaks in parts or in tongues") {
  const test::TempDir dir;
  Process one(dir / "events");
  const auto reader = one.listen();
  UniqueFd socket = connected_to_one_in(dir / "events");
  std::string bytes;
  append_frame(bytes, {"ann", "a", "{}"});
  std::string more;
  SUBCASE("lost") {
    append_lost_frame(more);
  }
  SUBCASE("cut") {
    append_frame(more, {"ann", "b", R"({"c": 1})"});
    more.pop_back();
  }
  SUBCASE("no frame") {
    more = "GET / HTTP/1.1\r\n\r\n";
  }
  SUBCASE("too large") {
    append_frame(more, {"ann", "b", "{}"});
    more[15] = '\x7f';  // the upper byte of the size of the data
  }
  write_to(socket, bytes + more);
  socket.reset();
  std::size_t count = 0;
  CHECK(end_of(*reader, &count) == kLostWords);
  CHECK(count == 1);
  const auto next = one.listen();
  Process two(dir / "events");
  two.tell("b");
  CHECK(read(*next, 1).front()->tag() == "b");
}

TEST_CASE("while no descriptor is left for one who connects, the thread waits, and hears that one later") {
  const test::TempDir dir;
  const Process one(dir / "events");
  const auto reader = one.listen();
  const UniqueFd socket = new_socket();
  const std::string name = names_of_sockets_in(dir / "events").at(0);
  const UniqueFd folder = opened(dir / "events");
  const sockaddr_un address = socket_in(folder.get(), name);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const auto next = static_cast<rlim_t>(UniqueFd(::dup(folder.get())).get());
  const rlimit no_more{next, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &no_more) == 0);
  const int connected = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const auto begin = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const auto end = std::clock();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE(connected == 0);
  CHECK(static_cast<double>(end - begin) / CLOCKS_PER_SEC < 0.25);
  std::string bytes;
  append_frame(bytes, {"ann", "a", "{}"});
  write_to(socket, bytes);
  CHECK(read(*reader, 1).front()->tag() == "a");
}

TEST_CASE("two engines with one proc directory hear each other's jobs, each event once") {
  const test::TempDir dir;
  Options options;
  options.proc_dir = dir / "proc";
  options.minions = {{.id = "ms-0"}};
  EmbeddedEngine one(options);
  EmbeddedEngine two(options);
  const auto reader = one.master->events(kAll, {});
  REQUIRE(reader);
  const auto [job, returns] = two.publish(R"("client": "local", "tgt": "*", "fun": "test.ping")");
  const auto [own, own_returns] = one.publish(R"("client": "local", "tgt": "*", "fun": "test.ping")");
  std::string tags;
  for (const auto& event : read(**reader, 4)) tags += event->tag() + "\n";
  for (const std::string& jid : {job.jid, own.jid}) {
    const std::string first = format("salt/job/{}/new\n", jid);
    const std::string second = format("salt/job/{}/ret/ms-0\n", jid);
    CHECK(tags.find(first) != std::string::npos);
    CHECK(tags.find(second) > tags.find(first));
  }
  const EmbeddedEngine three(options);
  CHECK(read(**reader, 3).back()->tag() == "salt/minion/ms-0/start");
  struct stat status = {};
  REQUIRE(::stat((dir / "proc/events").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0700U);
}

TEST_CASE("a folder whose processes cannot share how often they began to listen is not used") {
  const test::TempDir dir;
  const std::string name = format("listened-{}", ::geteuid());
  std::filesystem::create_directories(dir / "events/" + name);
  const auto opened = Peers::open(dir / "events", std::make_shared<master::EventLog>(system_clock()));
  REQUIRE_FALSE(opened);
  CHECK(opened.error().kind == ErrorKind::configuration);
  CHECK(opened.error().message == "cannot be used: " + name + ": Is a directory");
}

TEST_CASE("a folder that others could write into is not used, and the log says so") {
  const test::CapturedLog log;
  const test::TempDir dir;
  std::filesystem::create_directory(dir / "events");
  std::filesystem::permissions(dir / "events", std::filesystem::perms::all);
  const auto opened = Peers::open(dir / "events", std::make_shared<master::EventLog>(system_clock()));
  REQUIRE_FALSE(opened);
  CHECK(opened.error().kind == ErrorKind::configuration);
}

TEST_CASE("who has no descriptor to hear others with reads so") {
  const test::TempDir dir;
  const Process one(dir.path());
  const test::Limit no_files(RLIMIT_NOFILE, 0);
  const auto reader = one.peers->reader(kAll, {});
  REQUIRE_FALSE(reader);
  CHECK(reader.error().kind == ErrorKind::unavailable);
  CHECK(reader.error().message == "The events of other processes cannot be heard: Too many open files");
}

TEST_CASE("no more processes are told at a time than may be, and the log says so") {
  const test::TempDir dir;
  std::vector<UniqueFd> others;
  for (std::size_t i = 0; i <= kMaxPeers; ++i) {
    sockaddr_un address{AF_UNIX, {}};
    (dir / format("{}-1.sock", i)).copy(address.sun_path, sizeof address.sun_path - 1);
    const UniqueFd& other = others.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(other.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(other.get(), 1) == 0);
  }
  const Process one(dir.path());
  const test::CapturedLog log;
  CHECK(one.peers->wanted());
  CHECK(log.has("listeners of another process do not hear this one: there are more than 256 of them"));
}
