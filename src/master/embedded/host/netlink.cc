// SPDX-License-Identifier: MIT
#include "master/embedded/host/netlink.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

constexpr std::size_t kAlignment = 4;
constexpr std::size_t kLargestAnswer = 65536;  // the kernel sends no more at a time

std::size_t aligned(std::size_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

/// The struct of type T at the beginning. REQUIRES: as many bytes.
template <class T>
T read(std::string_view bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

Error failed(const char* what) {
  return {ErrorKind::internal, format("netlink: {}: {}", what, std::strerror(errno))};
}

Result<void> ask(int socket, std::uint16_t request) {
  struct {
    nlmsghdr header{};
    rtgenmsg family{};
  } message;
  message.header.nlmsg_len = sizeof message;
  message.header.nlmsg_type = request;
  message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  message.family.rtgen_family = AF_UNSPEC;
  if (::send(socket, &message, sizeof message, 0) < 0) return failed("send");
  return {};
}

enum class Progress { more, done, refused };

/// Calls `each` for all entries in one answer.
Progress walk(std::string_view answer, std::size_t fixed,
              const std::function<void(const NetlinkEntry&)>& each) {
  while (answer.size() >= sizeof(nlmsghdr)) {
    const auto header = read<nlmsghdr>(answer);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > answer.size()) return Progress::refused;
    if (header.nlmsg_type == NLMSG_DONE) return Progress::done;
    if (header.nlmsg_type == NLMSG_ERROR) return Progress::refused;
    each(NetlinkEntry(answer.substr(sizeof header, header.nlmsg_len - sizeof header), fixed));
    answer.remove_prefix(std::min(aligned(header.nlmsg_len), answer.size()));
  }
  return Progress::more;
}

Result<void> listen(int socket, std::size_t fixed, const std::function<void(const NetlinkEntry&)>& each) {
  std::vector<char> buffer(kLargestAnswer);
  Progress progress = Progress::more;
  while (progress == Progress::more) {
    const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return failed("recv");
    progress = walk({buffer.data(), static_cast<std::size_t>(got)}, fixed, each);
  }
  if (progress == Progress::refused) return Error{ErrorKind::internal, "netlink: the kernel refused"};
  return {};
}

}  // namespace

NetlinkEntry::NetlinkEntry(std::string_view bytes, std::size_t fixed) : head_(bytes.substr(0, fixed)) {
  bytes.remove_prefix(std::min(aligned(fixed), bytes.size()));
  while (bytes.size() >= sizeof(rtattr)) {
    const auto attribute = read<rtattr>(bytes);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > bytes.size()) return;
    attributes_.emplace(attribute.rta_type,
                        bytes.substr(sizeof attribute, attribute.rta_len - sizeof attribute));
    bytes.remove_prefix(std::min(aligned(attribute.rta_len), bytes.size()));
  }
}

std::string_view NetlinkEntry::attribute(std::uint16_t type) const {
  const auto found = attributes_.find(type);
  return found == attributes_.end() ? std::string_view() : found->second;
}

std::string_view NetlinkEntry::text(std::uint16_t type) const {
  const std::string_view bytes = attribute(type);
  return bytes.substr(0, bytes.find('\0'));
}

std::uint32_t NetlinkEntry::number(std::uint16_t type) const {
  const std::string_view bytes = attribute(type);
  return bytes.size() == sizeof(std::uint32_t) ? read<std::uint32_t>(bytes) : 0;
}

Result<void> dump_kernel_table(std::uint16_t request, std::size_t fixed,
                               const std::function<void(const NetlinkEntry&)>& each) {
  const int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (socket < 0) return failed("socket");
  Result<void> result = ask(socket, request);
  if (result) result = listen(socket, fixed, each);
  ::close(socket);
  return result;
}

}  // namespace rest_fcgi::embedded
