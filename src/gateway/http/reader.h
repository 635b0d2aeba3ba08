// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway {

/// Why a request is not answered: a sentence of ours, without a word of what came.
struct Refusal {
  http::Status status = http::Status::bad_request;
  std::string_view sentence;
};

struct ReaderLimits {
  std::size_t max_head_size = 65536;    ///< bytes of request line and headers, to within one `take`
  std::size_t max_body_size = 1048576;  ///< bytes
  static constexpr std::size_t kMaxHeaders = 256;
  static constexpr std::size_t kMaxVariables = 262144;  ///< bytes of what is made of a head, as for FastCGI:
                                                        ///< a header that comes again is a longer list
  static constexpr std::size_t kMaxChunkLine =
      4096;  ///< bytes of a chunk's size and extensions, or of all trailers
};

/// Reads the head and body of one HTTP/1.1 or HTTP/1.0 request (RFC 9112) after the other, from bytes as they
/// come, into an `Environ`. What two readers of a request could take for two different ones is refused: a
/// length beside `Transfer-Encoding`, two lengths, an encoding other than `chunked`, a header that goes on in
/// the next line. Owns what it read, and wipes it. Not synchronized.
class RequestReader {
 public:
  enum class Stage {
    idle,      ///< no byte of a request came
    head,      ///< its head is coming
    body,      ///< its head is there, and its body is coming
    complete,  ///< it is there
    refused,   ///< it will never be, and nothing that comes on the connection has a meaning
  };

  explicit RequestReader(ReaderLimits limits);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  /// Reads `bytes`, the next ones of the connection, up to the request's end. Returns how many those were;
  /// what is left belongs to the next request. REQUIRES: the stage is idle, head or body. May throw
  /// std::bad_alloc.
  std::size_t take(std::string_view bytes);

  [[nodiscard]] Stage stage() const noexcept { return stage_; }

  /// REQUIRES: the stage is refused.
  [[nodiscard]] Refusal refusal() const noexcept { return refusal_; }

  /// Does the peer wait for `100 Continue` before it sends the body? Once its head is there.
  [[nodiscard]] bool expects_continue() const noexcept;

  /// May another request follow on the connection? Once its head is there.
  [[nodiscard]] bool keeps_connection() const noexcept;

  [[nodiscard]] bool is_http_1_0() const noexcept;

  /// Bytes of the body that came.
  [[nodiscard]] std::size_t body_size() const noexcept { return body_.size(); }

  /// The request's variables, those that its connection tells left out, and its body, which is lent until
  /// `reset`. REQUIRES: the stage is complete.
  [[nodiscard]] http::Environ& environ() noexcept { return environ_; }

  /// Forgets and wipes the request, and gives all memory back. What comes next is another one.
  void reset() noexcept;

 private:
  class Parser;

  void refuse(Refusal refusal) noexcept;
  std::size_t parse(std::string_view bytes);
  void finish();

  const ReaderLimits limits_;
  Stage stage_ = Stage::idle;
  Refusal refusal_;
  std::unique_ptr<Parser> parser_;
  WipedBytes pending_;         ///< what came and makes sense only with what comes next
  std::size_t head_size_ = 0;  ///< bytes of the head that were understood
  WipedBytes body_;
  http::Environ environ_;
};

}  // namespace rest_fcgi::gateway
