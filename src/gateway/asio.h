// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <type_traits>
#include <utility>  // The coroutine headers of Asio in Boost 1.74 need <utility>, but do not include it.

#include <boost/version.hpp>
#if defined(__clang__) && BOOST_VERSION < 107700  // Boost 1.74 does not detect that clang has coroutines.
#ifndef BOOST_ASIO_HAS_CO_AWAIT
#define BOOST_ASIO_HAS_CO_AWAIT
#endif
#ifndef BOOST_ASIO_HAS_STD_COROUTINE
#define BOOST_ASIO_HAS_STD_COROUTINE
#endif
#endif

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

/// Types of Boost.Asio that use io_context's executor, because any_io_executor is slower.
namespace rest_fcgi::gateway {

namespace asio = boost::asio;

using Executor = asio::io_context::executor_type;

template <class T = void>
using Task = asio::awaitable<T, Executor>;

/// A connected TCP or unix socket.
using Socket = asio::basic_stream_socket<asio::generic::stream_protocol, Executor>;

using Timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                         asio::wait_traits<std::chrono::steady_clock>, Executor>;

/// The completion token for `co_await`. If the operation fails, `co_await` throws
/// boost::system::system_error.
inline constexpr asio::use_awaitable_t<Executor> use_task{};

/// Returns a completion token for `co_await` that stores an operation's error in `error`.
inline auto use_task_with(boost::system::error_code& error) {
  return asio::redirect_error(use_task, error);
}

template <class Token>
using ByteCount = typename asio::async_result<std::decay_t<Token>,
                                              void(boost::system::error_code, std::size_t)>::return_type;

}  // namespace rest_fcgi::gateway
