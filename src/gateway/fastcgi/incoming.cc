// SPDX-License-Identifier: MIT
#include "gateway/fastcgi/incoming.h"

#include <fastcgi.h>
#include <fcgios.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "gateway/sys.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::gateway {
namespace {

using std::chrono::milliseconds;

thread_local Incoming* reads_of_this_thread = nullptr;

// The text for a late body says so.
static_assert(Incoming::kBodyRate == 4096);

// The rules' texts say so.
static_assert(RecordFilter::kMaxVariables == 1000 && RecordFilter::kMaxVariablesSize == 262144);

/// Cuts up to `most` bytes off the front.
std::string_view take(std::string_view& bytes, std::size_t most) noexcept {
  const std::string_view front = bytes.substr(0, most);
  bytes.remove_prefix(front.size());
  return front;
}

}  // namespace

std::string RecordFilter::problem() const {
  return found_ ? format("{}; found {}", rule_, *found_) : std::string(rule_);
}

void RecordFilter::refuse(std::string_view rule, std::optional<std::size_t> found) noexcept {
  stage_ = Stage::refused;
  rule_ = rule;
  found_ = found;
}

bool RecordFilter::pass(std::string_view bytes) noexcept {
  while (!bytes.empty() && stage_ != Stage::complete && stage_ != Stage::refused) {
    if (content_left_ != 0) {
      const std::string_view content = take(bytes, content_left_);
      content_left_ -= content.size();
      take_content(content);
    } else if (padding_left_ != 0) {
      padding_left_ -= take(bytes, padding_left_).size();
    } else {
      take_header(bytes);
    }
  }
  return stage_ != Stage::refused;
}

void RecordFilter::take_header(std::string_view& bytes) noexcept {
  const std::string_view part = take(bytes, header_.size() - header_size_);
  std::copy(part.begin(), part.end(), header_.begin() + static_cast<std::ptrdiff_t>(header_size_));
  header_size_ += part.size();
  if (header_size_ < header_.size()) return;
  header_size_ = 0;
  open(header());
}

RecordFilter::Header RecordFilter::header() const noexcept {
  const auto number = [this](std::size_t at) { return (std::size_t{header_[at]} << 8) + header_[at + 1]; };
  return {header_[0], header_[1], number(2), number(4), header_[6]};
}

void RecordFilter::open(const Header& record) noexcept {
  if (record.version != FCGI_VERSION_1) return refuse("the version of a record has to be 1", record.version);
  if (record.id == FCGI_NULL_REQUEST_ID) {
    return refuse("management records such as FCGI_GET_VALUES are not answered", record.type);
  }
  content_left_ = record.content;
  padding_left_ = record.padding;
  if (stage_ == Stage::begin) return open_begin(record);
  open_stream(record);
}

void RecordFilter::open_begin(const Header& record) noexcept {
  if (record.type != FCGI_BEGIN_REQUEST) {
    return refuse("a request has to begin with a record of type 1, FCGI_BEGIN_REQUEST", record.type);
  }
  if (record.content != sizeof(FCGI_BeginRequestBody)) {
    return refuse("FCGI_BEGIN_REQUEST has to have 8 bytes", record.content);
  }
  // libfcgi takes it for the next header.
  if (record.padding != 0) return refuse("FCGI_BEGIN_REQUEST must not be padded", record.padding);
  id_ = record.id;
}

void RecordFilter::open_stream(const Header& record) noexcept {
  if (record.id != id_) return refuse("a connection carries one request at a time", record.id);
  const bool params = stage_ == Stage::params;
  if (params && record.type != FCGI_PARAMS) {
    return refuse("variables have to come in records of type 4, FCGI_PARAMS", record.type);
  }
  if (!params && record.type != FCGI_STDIN) {
    return refuse("a body has to come in records of type 5, FCGI_STDIN", record.type);
  }
  if (record.content != 0) return;
  if (params) return end_params(record.padding);
  stage_ = Stage::complete;
}

void RecordFilter::end_params(std::size_t padding) noexcept {
  const bool inside = text_left_ != 0 || name_length_known_ || length_bytes_left_ != 0;
  if (inside) return refuse("FCGI_PARAMS must not end inside a variable");
  // libfcgi takes it for the next header.
  if (padding != 0) return refuse("the end of FCGI_PARAMS must not be padded", padding);
  stage_ = Stage::body;
}

void RecordFilter::take_content(std::string_view content) noexcept {
  if (stage_ == Stage::params) {
    take_params(content);
  } else if (stage_ == Stage::body) {
    body_size_ += content.size();
  } else if (content_left_ == 0) {
    stage_ = Stage::params;
  }
}

void RecordFilter::take_params(std::string_view content) noexcept {
  while (!content.empty() && stage_ == Stage::params) {
    if (text_left_ != 0) {
      text_left_ -= take(content, text_left_).size();
    } else {
      take_length_byte(static_cast<unsigned char>(take(content, 1).front()));
    }
  }
}

void RecordFilter::take_length_byte(unsigned char byte) noexcept {
  constexpr unsigned kLong = 0x80;  // a length of four bytes and not of one
  if (length_bytes_left_ != 0) {
    length_ = (length_ << 8) + byte;
    --length_bytes_left_;
  } else if ((byte & kLong) != 0) {
    length_ = byte & ~kLong;
    length_bytes_left_ = 3;
  } else {
    length_ = byte;
  }
  if (length_bytes_left_ == 0) take_length();
}

void RecordFilter::take_length() noexcept {
  variables_size_ += length_;
  if (variables_size_ > kMaxVariablesSize) {
    return refuse("the variables of a request may have 262144 bytes", variables_size_);
  }
  name_length_known_ = !name_length_known_;
  if (name_length_known_) {
    if (++variables_ > kMaxVariables) return refuse("a request may have 1000 variables", variables_);
    name_length_ = length_;
  } else {
    text_left_ = name_length_ + length_;
  }
}

Incoming::Incoming(int connection, milliseconds receive_timeout, const Clock& clock) noexcept
    : connection_(connection),
      receive_timeout_(receive_timeout),
      clock_(clock),
      outer_(reads_of_this_thread) {
  reads_of_this_thread = this;
}

Incoming::~Incoming() {
  reads_of_this_thread = outer_;
}

Incoming* Incoming::of_this_thread() noexcept {
  return reads_of_this_thread;
}

void Incoming::begin_request() noexcept {
  buffer_ = {};
  filter_ = RecordFilter();
  begun_.reset();
  body_begun_.reset();
  late_ = false;
}

std::string Incoming::problem() const {
  if (!late_) return filter_.problem();
  return body_begun_ ? "a body has to come within receive_timeout and a second for each 4096 bytes"
                     : "the variables of a request have to come within receive_timeout";
}

/// When the request, as far as it came, is late. None: nothing of it came.
std::optional<SteadyTime> Incoming::deadline() const noexcept {
  if (!body_begun_) return begun_ ? std::optional(*begun_ + receive_timeout_) : std::nullopt;
  const std::chrono::seconds earned(filter_.body_size() / kBodyRate);
  return *body_begun_ + receive_timeout_ + earned;
}

void Incoming::wipe_buffer() noexcept {
  wipe(buffer_.data(), buffer_.size());
  buffer_ = {};
}

int Incoming::read(char* buffer, std::size_t size) noexcept {
  if (buffer != buffer_.data()) buffer_ = {buffer, 0};
  const int got = receive(buffer, size);
  // libfcgi has read what was in its buffer, and may free it now.
  if (got <= 0) wipe_buffer();
  return got;
}

int Incoming::receive(char* buffer, std::size_t size) noexcept {
  std::optional<SteadyTime> until;
  for (;;) {
    // Most often all is there: one system call, and no look at the clock.
    const ssize_t got = ::recv(connection_, buffer, size, MSG_DONTWAIT);
    if (got > 0) {
      const auto came = static_cast<std::size_t>(got);
      buffer_ = {buffer, std::max(buffer_.size(), came)};
      if (let_pass({buffer, came})) return static_cast<int>(got);
      return -1;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) return static_cast<int>(got);
    if (!until) {
      until = clock_.steady() + receive_timeout_;
      if (const auto late = deadline()) until = std::min(*until, *late);
    }
    if (!await_bytes(*until)) {
      give_up();
      return -1;
    }
  }
}

/// False: it is `until`, and nothing came.
bool Incoming::await_bytes(SteadyTime until) const noexcept {
  const auto left = std::chrono::ceil<milliseconds>(until - clock_.steady());
  if (left <= milliseconds(0)) return false;
  pollfd event = {connection_, POLLIN, 0};
  ::poll(&event, 1, poll_timeout(left));
  return true;
}

void Incoming::give_up() noexcept {
  late_ = begun_.has_value();  // a connection that was opened for later is no misdeed
  errno = ETIMEDOUT;
}

/// False: libfcgi must not have `bytes`; errno says why.
bool Incoming::let_pass(std::string_view bytes) noexcept {
  if (!filter_.pass(bytes)) {
    errno = EPROTO;
    return false;
  }
  if (filter_.stage() == RecordFilter::Stage::complete) return true;
  const SteadyTime now = clock_.steady();
  // Where bytes are always there nobody waits, and yet time goes by.
  if (const auto late = deadline(); late && now > *late) {
    give_up();
    return false;
  }
  if (!begun_) begun_ = now;
  if (!body_begun_ && filter_.stage() == RecordFilter::Stage::body) body_begun_ = now;
  return true;
}

}  // namespace rest_fcgi::gateway

/// libfcgi calls this by its name for every read from a connection, and a program that defines it takes the
/// place of libfcgi's own, which is read(2). It is the one place where what a peer sent can be looked at, and
/// where a whole request can be given a time, before libfcgi stores and believes it. `init_libfcgi` checks
/// that reads do come this way.
extern "C" int OS_Read(int fd, char* buf, size_t len) {
  using rest_fcgi::gateway::Incoming;
  if (Incoming* incoming = Incoming::of_this_thread()) return incoming->read(buf, len);
  return static_cast<int>(::read(fd, buf, len));
}
