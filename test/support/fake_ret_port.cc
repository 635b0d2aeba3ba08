// SPDX-License-Identifier: MIT
#include "fake_ret_port.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include <doctest/doctest.h>
#include <zmq.hpp>

#include "master/salt/requests/request_pool.h"

namespace rest_fcgi::test {
namespace {

using Frames = FakeRetPort::Frames;

constexpr const char* kAnswers = "inproc://answers";

Frames receive(zmq::socket_t& socket) {
  Frames frames;
  zmq::message_t frame;
  do {
    static_cast<void>(socket.recv(frame));
    frames.push_back(frame.to_string());
  } while (frame.more());
  return frames;
}

void send(zmq::socket_t& socket, const Frames& frames) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto flags = i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none;
    socket.send(zmq::buffer(frames[i]), flags);
  }
}

FakeRetPort::FramesHandler with_frames(FakeRetPort::Handler handler) {
  return [handler = std::move(handler)](Frames frames) -> Frames {
    if (frames.size() != 2 || !frames[0].empty()) return {};
    auto answer = handler(std::move(frames[1]));
    if (!answer) return {};
    return {"", *std::move(answer)};
  };
}

}  // namespace

/// The sockets and threads of a started FakeRetPort. The first frame of a message is the ZeroMQ identity of
/// the client's connection.
class FakeRetPort::Running {
 public:
  explicit Running(FakeRetPort& port)
      : port_(port), router_(context_, zmq::socket_type::router), answers_(context_, zmq::socket_type::pull) {
    router_.set(zmq::sockopt::linger, 0);
    router_.bind(port.uri_);
    port.uri_ = router_.get(zmq::sockopt::last_endpoint);
    answers_.bind(kAnswers);
    threads_.emplace_back([this] { route(); });
    for (std::size_t i = 0; i < port.workers_; ++i) {
      threads_.emplace_back([this, answers = worker_socket()]() mutable { work(std::move(answers)); });
    }
  }

  ~Running() {
    zmq::socket_t answers(context_, zmq::socket_type::push);
    answers.connect(kAnswers);
    send(answers, {""});
    for (auto& thread : threads_) thread.join();
  }

 private:
  void route() {
    for (;;) {
      zmq::pollitem_t items[] = {{router_.handle(), 0, ZMQ_POLLIN, 0}, {answers_.handle(), 0, ZMQ_POLLIN, 0}};
      zmq::poll(items, 2, std::chrono::milliseconds(-1));
      if (items[0].revents != 0) put(receive(router_));
      if (items[1].revents == 0) continue;
      const Frames answer = receive(answers_);
      if (answer.size() == 1) break;
      send(router_, answer);
    }
    router_.close();
    end();
  }

  /// The socket exists before its thread starts, because a test may lower the limit of open files later.
  zmq::socket_t worker_socket() {
    zmq::socket_t answers(context_, zmq::socket_type::push);
    answers.set(zmq::sockopt::linger, 0);
    answers.connect(kAnswers);
    return answers;
  }

  void work(zmq::socket_t answers) {
    for (Frames message = take(); !message.empty(); message = take()) {
      const std::string connection = message.front();
      message.erase(message.begin());
      Frames answer = port_.handler_(std::move(message));
      if (answer.empty()) continue;
      answer.insert(answer.begin(), connection);
      send(answers, answer);
    }
  }

  void put(Frames message) {
    const std::scoped_lock lock(mutex_);
    ++port_.messages_;
    if (names_.insert(message.front()).second) ++port_.connections_;
    queue_.push_back(std::move(message));
    arrived_.notify_one();
  }

  void end() {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    arrived_.notify_all();
  }

  Frames take() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return ended_ || !queue_.empty(); });
    if (ended_) return {};
    Frames message = std::move(queue_.front());
    queue_.pop_front();
    return message;
  }

  FakeRetPort& port_;
  zmq::context_t context_;
  zmq::socket_t router_;
  zmq::socket_t answers_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Frames> queue_;
  std::set<std::string> names_;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

FakeRetPort::FakeRetPort(Handler handler, std::size_t workers)
    : FakeRetPort(with_frames(std::move(handler)), workers) {}

FakeRetPort::FakeRetPort(FramesHandler handler, std::size_t workers)
    : handler_(std::move(handler)), workers_(workers) {
  start();
}

FakeRetPort::~FakeRetPort() = default;

void FakeRetPort::start() {
  REQUIRE(running_ == nullptr);
  running_ = std::make_unique<Running>(*this);
}

void FakeRetPort::stop() {
  running_.reset();
}

}  // namespace rest_fcgi::test
