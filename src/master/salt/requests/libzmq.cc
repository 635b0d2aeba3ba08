// SPDX-License-Identifier: MIT
#include "master/salt/requests/libzmq.h"

#include <zmq.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/library.h"

namespace rest_fcgi::salt {
namespace {

/// The functions that zmq.hpp calls for what is used of it.
struct Zmq {
  Library library;
  decltype(&::zmq_close) close = library["zmq_close"];
  decltype(&::zmq_connect) connect = library["zmq_connect"];
  decltype(&::zmq_ctx_new) ctx_new = library["zmq_ctx_new"];
  decltype(&::zmq_ctx_set) ctx_set = library["zmq_ctx_set"];
  decltype(&::zmq_ctx_shutdown) ctx_shutdown = library["zmq_ctx_shutdown"];
  decltype(&::zmq_ctx_term) ctx_term = library["zmq_ctx_term"];
  decltype(&::zmq_errno) error_number = library["zmq_errno"];
  decltype(&::zmq_msg_close) msg_close = library["zmq_msg_close"];
  decltype(&::zmq_msg_data) msg_data = library["zmq_msg_data"];
  decltype(&::zmq_msg_init) msg_init = library["zmq_msg_init"];
  decltype(&::zmq_msg_init_data) msg_init_data = library["zmq_msg_init_data"];
  decltype(&::zmq_msg_more) msg_more = library["zmq_msg_more"];
  decltype(&::zmq_msg_recv) msg_recv = library["zmq_msg_recv"];
  decltype(&::zmq_msg_send) msg_send = library["zmq_msg_send"];
  decltype(&::zmq_msg_size) msg_size = library["zmq_msg_size"];
  decltype(&::zmq_poll) poll = library["zmq_poll"];
  decltype(&::zmq_setsockopt) setsockopt = library["zmq_setsockopt"];
  decltype(&::zmq_socket) socket = library["zmq_socket"];
  decltype(&::zmq_socket_monitor) socket_monitor = library["zmq_socket_monitor"];
  decltype(&::zmq_strerror) strerror = library["zmq_strerror"];
};

std::atomic<const Zmq*> the_zmq = nullptr;  // for as long as the process lives

/// REQUIRES: load_zmq() succeeded.
const Zmq& libzmq() noexcept {
  return *the_zmq.load(std::memory_order_acquire);
}

}  // namespace

Result<void> load_zmq(const char* name) {
  auto found = std::make_unique<const Zmq>(Zmq{Library(name)});
  if (const std::string& problem = found->library.problem(); !problem.empty()) {
    return Error{
        ErrorKind::configuration,
        format(
            "a Salt master is spoken to with libzmq (Debian's package libzmq5), which cannot be loaded: {}",
            problem)};
  }
  const Zmq* none = nullptr;
  if (the_zmq.compare_exchange_strong(none, found.get())) static_cast<void>(found.release());
  return {};
}

// What zmq.h declares. A function that zmq.hpp calls and that is not here is missed by the linker.
extern "C" {
int zmq_close(void* socket) {
  return libzmq().close(socket);
}
int zmq_connect(void* socket, const char* address) {
  return libzmq().connect(socket, address);
}
void* zmq_ctx_new() {
  return libzmq().ctx_new();
}
int zmq_ctx_set(void* context, int option, int value) {
  return libzmq().ctx_set(context, option, value);
}
int zmq_ctx_shutdown(void* context) {
  return libzmq().ctx_shutdown(context);
}
int zmq_ctx_term(void* context) {
  return libzmq().ctx_term(context);
}
int zmq_errno() {
  return libzmq().error_number();
}
int zmq_msg_close(zmq_msg_t* message) {
  return libzmq().msg_close(message);
}
void* zmq_msg_data(zmq_msg_t* message) {
  return libzmq().msg_data(message);
}
int zmq_msg_init(zmq_msg_t* message) {
  return libzmq().msg_init(message);
}
int zmq_msg_init_data(zmq_msg_t* message, void* data, size_t size, zmq_free_fn* free, void* hint) {
  return libzmq().msg_init_data(message, data, size, free, hint);
}
int zmq_msg_more(const zmq_msg_t* message) {
  return libzmq().msg_more(message);
}
int zmq_msg_recv(zmq_msg_t* message, void* socket, int flags) {
  return libzmq().msg_recv(message, socket, flags);
}
int zmq_msg_send(zmq_msg_t* message, void* socket, int flags) {
  return libzmq().msg_send(message, socket, flags);
}
size_t zmq_msg_size(const zmq_msg_t* message) {
  return libzmq().msg_size(message);
}
int zmq_poll(zmq_pollitem_t* items, int count, long timeout) {
  return libzmq().poll(items, count, timeout);
}
int zmq_setsockopt(void* socket, int option, const void* value, size_t size) {
  return libzmq().setsockopt(socket, option, value, size);
}
void* zmq_socket(void* context, int type) {
  return libzmq().socket(context, type);
}
int zmq_socket_monitor(void* socket, const char* address, int events) {
  return libzmq().socket_monitor(socket, address, events);
}
const char* zmq_strerror(int number) {
  return libzmq().strerror(number);
}
}  // extern "C"

}  // namespace rest_fcgi::salt
