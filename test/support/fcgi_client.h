// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// A FastCGI client for tests (FastCGI Specification 1.0). It can also send malformed records.
namespace rest_fcgi::test {

inline constexpr int kBeginRequest = 1;
inline constexpr int kAbortRequest = 2;
inline constexpr int kEndRequest = 3;
inline constexpr int kParams = 4;
inline constexpr int kStdin = 5;
inline constexpr int kStdout = 6;
inline constexpr int kData = 8;

using Variables = std::vector<std::pair<std::string, std::string>>;

struct FcgiReply {
  std::string head;  ///< The header lines, without the blank line after them.
  std::string body;
  bool ended = false;   ///< `ended` says whether FCGI_END_REQUEST arrived.
  bool closed = false;  ///< `closed` says whether the connection ended before FCGI_END_REQUEST arrived.

  [[nodiscard]] int status() const;
  [[nodiscard]] std::string header(std::string_view name) const;
};

/// The functions below return the bytes of FastCGI records. `id` is the request id of the records.
std::string record(int type, std::string_view content, int id = 1);
std::string begin_request(bool keep, int role = 1, int id = 1);
std::string params(const Variables& variables, int id = 1);
std::string name_values(const Variables& variables);
std::string stdin_stream(std::string_view body, int id = 1);

/// Returns all records of a POST request with `body`. Besides the variables in `more`, the request has
/// CONTENT_LENGTH.
std::string post(std::string_view body, const Variables& more = {}, bool keep = false);

/// A client with one connection, which its destructor closes. Not synchronized.
class FcgiClient {
 public:
  static FcgiClient unix_socket(const std::string& path);
  static FcgiClient tcp(int port, const std::string& host = "127.0.0.1");
  FcgiClient(FcgiClient&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FcgiClient& operator=(FcgiClient&&) = delete;
  ~FcgiClient() { close(); }

  [[nodiscard]] bool connected() const noexcept { return fd_ >= 0; }

  bool send(std::string_view bytes);

  /// Reads a reply until FCGI_END_REQUEST or the end of the connection. Waits at most 20 s.
  FcgiReply reply();

  FcgiReply request(std::string_view bytes);

  /// Ignores bytes that the server sends. Returns false if the connection is still open after `time`.
  bool closed_within(std::chrono::milliseconds time);

  std::string read_some(std::size_t size);

  void close();

 private:
  explicit FcgiClient(int fd);
  bool read_exactly(std::string& out, std::size_t size);

  int fd_ = -1;
};

}  // namespace rest_fcgi::test
