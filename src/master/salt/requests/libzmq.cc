// SPDX-License-Identifier: MIT
#include <zmq.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "master/salt/requests/request_pool.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/library.h"

namespace rest_fcgi::salt {
namespace {

/// What zmq.hpp calls of zmq.h, for what is used of it: a macro, since each of them is a pointer that is
/// looked up by its name, and a function of that name and type. One that is not here is missed by the linker.
#define FUNCTIONS(F)                                                                                       \
  F(int, zmq_close, (void* socket), (socket))                                                              \
  F(int, zmq_connect, (void* socket, const char* address), (socket, address))                              \
  F(void*, zmq_ctx_new, (), ())                                                                            \
  F(int, zmq_ctx_set, (void* context, int option, int value), (context, option, value))                    \
  F(int, zmq_ctx_shutdown, (void* context), (context))                                                     \
  F(int, zmq_ctx_term, (void* context), (context))                                                         \
  F(int, zmq_errno, (), ())                                                                                \
  F(int, zmq_msg_close, (zmq_msg_t * message), (message))                                                  \
  F(void*, zmq_msg_data, (zmq_msg_t * message), (message))                                                 \
  F(int, zmq_msg_init, (zmq_msg_t * message), (message))                                                   \
  F(int, zmq_msg_init_data, (zmq_msg_t * message, void* data, size_t size, zmq_free_fn* free, void* hint), \
    (message, data, size, free, hint))                                                                     \
  F(int, zmq_msg_more, (const zmq_msg_t* message), (message))                                              \
  F(int, zmq_msg_recv, (zmq_msg_t * message, void* socket, int flags), (message, socket, flags))           \
  F(int, zmq_msg_send, (zmq_msg_t * message, void* socket, int flags), (message, socket, flags))           \
  F(size_t, zmq_msg_size, (const zmq_msg_t* message), (message))                                           \
  F(int, zmq_poll, (zmq_pollitem_t * items, int count, long timeout), (items, count, timeout))             \
  F(int, zmq_setsockopt, (void* socket, int option, const void* value, size_t size),                       \
    (socket, option, value, size))                                                                         \
  F(void*, zmq_socket, (void* context, int type), (context, type))                                         \
  F(int, zmq_socket_monitor, (void* socket, const char* address, int events), (socket, address, events))   \
  F(const char*, zmq_strerror, (int number), (number))

struct Zmq {
  Library library;
#define POINTER(result, name, parameters, arguments) decltype(&::name) name = library[#name];
  FUNCTIONS(POINTER)
#undef POINTER
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

extern "C" {
#define FORWARDER(result, name, parameters, arguments) \
  result name parameters {                             \
    return libzmq().name arguments;                    \
  }
FUNCTIONS(FORWARDER)
#undef FORWARDER
}  // extern "C"
#undef FUNCTIONS

}  // namespace rest_fcgi::salt
