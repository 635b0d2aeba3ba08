// SPDX-License-Identifier: MIT
#include <numeric>

#include "netapi/handlers.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::netapi {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kRecord = 20 * kBlock;

std::string head_of(const TarMember& member) {
  std::string head(kBlock, '\0');
  const auto put = [&head](std::size_t at, std::string_view text) { head.replace(at, text.size(), text); };
  put(0, member.name);
  put(100, format("{:07o}", member.mode));
  put(108, "0000000");  // user and group
  put(116, "0000000");
  put(124, format("{:011o}", member.content.size()));
  put(136, "00000000000");  // when it was changed
  put(148, "        ");     // the checksum, which is counted as blanks
  put(156, "0");            // a file
  put(257, std::string_view("ustar\00000", 8));
  const unsigned sum = std::accumulate(head.begin(), head.end(), 0U, [](unsigned total, char c) {
    return total + static_cast<unsigned char>(c);
  });
  put(148, format("{:06o}", sum));
  head[154] = '\0';
  return head;
}

void pad(std::string& text, std::size_t unit) {
  text.resize((text.size() + unit - 1) / unit * unit);
}

}  // namespace

std::string tar_of(const std::vector<TarMember>& members) {
  std::string archive;
  for (const TarMember& member : members) {
    archive += head_of(member);
    archive += member.content;
    pad(archive, kBlock);
  }
  archive.resize(archive.size() + 2 * kBlock);
  pad(archive, kRecord);
  return archive;
}

}  // namespace rest_fcgi::netapi
