// SPDX-License-Identifier: MIT
// A minimal HTTP server, with which the benchmark compares the HTTP port of rest_fcgi. It uses Boost.Beast
// with one thread and sends the constant reply BODY. Usage: bare_http PORT BODY
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(asio::ip::tcp::socket socket, const std::string& body)
      : stream_(std::move(socket)), body_(body) {
    stream_.socket().set_option(asio::ip::tcp::no_delay(true));
  }

  void read() {
    request_ = {};
    http::async_read(stream_, buffer_, request_,
                     [self = shared_from_this()](beast::error_code error, std::size_t) {
                       if (!error) self->answer();
                     });
  }

 private:
  void answer() {
    reply_ = {http::status::ok, request_.version()};
    reply_.set(http::field::server, "bare");
    reply_.set(http::field::date, "Sun, 22 Nov 2026 12:00:00 GMT");
    reply_.set(http::field::content_type, "application/json");
    reply_.keep_alive(request_.keep_alive());
    reply_.body() = body_;
    reply_.prepare_payload();
    http::async_write(stream_, reply_, [self = shared_from_this()](beast::error_code error, std::size_t) {
      if (!error) self->read();
    });
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  http::request<http::string_body> request_;
  http::response<http::string_body> reply_;
  const std::string& body_;
};

void accept(asio::ip::tcp::acceptor& acceptor, const std::string& body) {
  acceptor.async_accept([&](beast::error_code error, asio::ip::tcp::socket socket) {
    if (!error) std::make_shared<Connection>(std::move(socket), body)->read();
    accept(acceptor, body);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: bare_http PORT BODY\n";
    return EXIT_FAILURE;
  }
  const std::string body = argv[2];
  asio::io_context context(1);
  const auto port = static_cast<unsigned short>(std::atoi(argv[1]));
  const asio::ip::tcp::endpoint endpoint(asio::ip::address_v4::loopback(), port);
  asio::ip::tcp::acceptor acceptor(context, endpoint);
  accept(acceptor, body);
  context.run();
}
