// SPDX-License-Identifier: MIT
// Minimal loops, with which the benchmark compares the engine `salt`. Each loop publishes `test.ping` with a
// token to a Salt master, as the engine does for a request, and does nothing else.
//
// Usage:
// - bare_salt publish URI TARGET CONNECTIONS SECONDS: publishes jobs over permanent connections and prints
//   the number of jobs a second.
// - bare_salt wait URI TARGET EVENT_SOCKET SECONDS: publishes one job at a time, waits for its return, and
//   prints the median time in ms.
#define MSGPACK_NO_BOOST  // With MSGPACK_NO_BOOST, msgpack-cxx needs no Boost.

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <msgpack.hpp>
#include <zmq.hpp>

namespace {

using Clock = std::chrono::steady_clock;
using Packer = msgpack::packer<msgpack::sbuffer>;
using std::chrono::seconds;

constexpr std::string_view kEauth = "auto";
constexpr std::string_view kUser = "saltdev";
constexpr std::chrono::milliseconds kPatience{10'000};

/// Returns the message `{"enc": "clear", "load": {...}, "version": 3}` as msgpack. `pack_load` packs the
/// load.
template <class PackLoad>
std::string message_of(const PackLoad& pack_load) {
  msgpack::sbuffer buffer;
  Packer packer(buffer);
  packer.pack_map(3);
  packer.pack("enc");
  packer.pack("clear");
  packer.pack("load");
  pack_load(packer);
  packer.pack("version");
  packer.pack(3);
  return {buffer.data(), buffer.size()};
}

std::string mk_token() {
  return message_of([](Packer& packer) {
    packer.pack_map(4);
    packer.pack("cmd");
    packer.pack("mk_token");
    packer.pack("eauth");
    packer.pack(kEauth);
    packer.pack("username");
    packer.pack(kUser);
    packer.pack("password");
    packer.pack(kUser);
  });
}

std::string publish(std::string_view target, std::string_view token) {
  return message_of([&](Packer& packer) {
    packer.pack_map(8);
    for (const std::string_view text : {"cmd", "publish", "tgt"}) packer.pack(text);
    packer.pack(target);
    for (const std::string_view text : {"fun", "test.ping", "arg"}) packer.pack(text);
    packer.pack_array(0);
    for (const std::string_view text : {"tgt_type", "glob", "ret", "", "user"}) packer.pack(text);
    packer.pack(kUser);
    packer.pack("kwargs");
    packer.pack_map(1);
    packer.pack("token");
    packer.pack(token);
  });
}

const msgpack::object& field(const msgpack::object& map, std::string_view name) {
  if (map.type == msgpack::type::MAP) {
    for (const auto& [key, value] : map.via.map) {
      if (key.type == msgpack::type::STR && key.as<std::string_view>() == name) return value;
    }
  }
  throw std::runtime_error("the master's answer has no " + std::string(name));
}

/// A connection to the master's `ret_port`. It handles one request at a time.
class Connection {
 public:
  Connection(zmq::context_t& context, const std::string& uri) : socket_(context, zmq::socket_type::req) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::rcvtimeo, static_cast<int>(kPatience.count()));
    socket_.connect(uri);
  }

  msgpack::object_handle ask(const std::string& message) {
    socket_.send(zmq::buffer(message), zmq::send_flags::none);
    zmq::message_t reply;
    if (!socket_.recv(reply)) throw std::runtime_error("the master does not answer");
    return msgpack::unpack(reply.data<char>(), reply.size());
  }

  std::string token() {
    const auto reply = ask(mk_token());
    return field(*reply, "token").as<std::string>();
  }

  std::string publish(const std::string& message) {
    const auto reply = ask(message);
    return field(field(*reply, "load"), "jid").as<std::string>();
  }

 private:
  zmq::socket_t socket_;
};

/// A connection to the master's event bus. The class searches the bytes for a text and does not parse events.
class EventBus {
 public:
  explicit EventBus(const std::string& path) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    if (path.size() >= sizeof(address.sun_path)) throw std::runtime_error(path + " is too long");
    path.copy(address.sun_path, path.size());
    const void* untyped = &address;
    if (::connect(socket_, static_cast<const sockaddr*>(untyped), sizeof(address)) != 0) {
      throw std::runtime_error("cannot connect to " + path);
    }
  }
  EventBus(const EventBus&) = delete;
  EventBus& operator=(const EventBus&) = delete;
  ~EventBus() { ::close(socket_); }

  void wait_for(std::string_view text) {
    std::size_t at = 0;
    while ((at = seen_.find(text)) == std::string::npos) {
      char bytes[65536];
      const auto count = ::recv(socket_, bytes, sizeof(bytes), 0);
      if (count <= 0) throw std::runtime_error("the event bus has ended");
      seen_.append(bytes, static_cast<std::size_t>(count));
    }
    seen_.erase(0, at + text.size());
  }

 private:
  int socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string seen_;
};

double count_jobs(const std::string& uri, std::string_view target, int connections, seconds time) {
  zmq::context_t context;
  const std::string message = publish(target, Connection(context, uri).token());
  std::atomic<int> jobs = 0;
  const auto begin = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < connections; ++i) {
      threads.emplace_back([&] {
        Connection connection(context, uri);
        for (; Clock::now() - begin < time; ++jobs) connection.publish(message);
      });
    }
  }
  return jobs / std::chrono::duration<double>(Clock::now() - begin).count();
}

double median_wait(const std::string& uri, const std::string& target, const std::string& event_socket,
                   seconds time) {
  zmq::context_t context;
  Connection connection(context, uri);
  const std::string message = publish(target, connection.token());
  EventBus bus(event_socket);
  std::vector<double> milliseconds;
  for (const auto begin = Clock::now(); Clock::now() - begin < time;) {
    const auto sent = Clock::now();
    bus.wait_for("salt/job/" + connection.publish(message) + "/ret/" + target + "\n\n");
    milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - sent).count());
  }
  const auto middle = milliseconds.begin() + static_cast<std::ptrdiff_t>(milliseconds.size() / 2);
  std::nth_element(milliseconds.begin(), middle, milliseconds.end());
  return *middle;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() != 5 || (args[0] != "publish" && args[0] != "wait")) {
    std::cerr << "usage: bare_salt publish URI TARGET CONNECTIONS SECONDS\n"
                 "       bare_salt wait URI TARGET EVENT_SOCKET SECONDS\n";
    return EXIT_FAILURE;
  }
  try {
    const seconds time(std::stoi(args[4]));
    std::cout << (args[0] == "publish" ? count_jobs(args[1], args[2], std::stoi(args[3]), time)
                                       : median_wait(args[1], args[2], args[3], time))
              << '\n';
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    std::cerr << "bare_salt: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
