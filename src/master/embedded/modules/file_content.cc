// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "master/embedded/modules/file_hash.h"
#include "master/embedded/modules/file_module.h"
#include "master/embedded/modules/file_support.h"
#include "master/embedded/modules/replies.h"
#include "master/embedded/modules/search.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/auth/hasher.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::embedded {
namespace {

constexpr std::size_t kLargestRead = 16 << 20;

/// Opens a file for reading, but none of the job cache's. Absent where errno has the cause.
UniqueFd open_for_reading(const std::string& path, const Jobs& jobs) {
  // Such a descriptor is no use of the file: it may be closed without harm.
  const UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  if (!place || ::fstat(place.get(), &status) != 0) return UniqueFd();
  if (jobs.returners().work_on(status)) {
    errno = EPERM;
    return UniqueFd();
  }
  const std::string same = format("/proc/self/fd/{}", place.get());
  return UniqueFd(::open(same.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

/// Calls `take` with the content of a regular file, piece by piece, until it returns false. What is no
/// regular file could give bytes without end, or change by being read.
std::optional<Raised> read_pieces(const std::string& path, const Jobs& jobs,
                                  const std::function<bool(std::string_view)>& take) {
  const UniqueFd file = open_for_reading(path, jobs);
  if (!file) return os_error(errno, path);
  struct stat status {};
  std::optional<Raised> raised;
  if (::fstat(file.get(), &status) != 0 || S_ISDIR(status.st_mode)) {
    raised = os_error(EISDIR, path);
  } else if (!S_ISREG(status.st_mode)) {
    raised = command_error(format("{} is no regular file, and no other is read", path));
  }
  std::string buffer(65536, '\0');
  while (!raised) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) raised = os_error(errno, path);
    if (got <= 0 || !take(std::string_view(buffer).substr(0, static_cast<std::size_t>(got)))) break;
  }
  return raised;
}

/// The content of a file of bounded size.
std::variant<std::string, Raised> content_of(const std::string& path, const Jobs& jobs) {
  std::string content;
  auto raised = read_pieces(path, jobs, [&content](std::string_view piece) {
    content.append(piece);
    return content.size() <= kLargestRead;
  });
  if (raised) return *std::move(raised);
  if (content.size() > kLargestRead) {
    return command_error(format("{} is too large to be read: more than {} bytes", path, kLargestRead));
  }
  return content;
}

struct HashLength {
  std::size_t digits;
  std::string_view name;
};
constexpr std::array<HashLength, 6> kHashes = {
    {{32, "md5"}, {40, "sha1"}, {56, "sha224"}, {64, "sha256"}, {96, "sha384"}, {128, "sha512"}}};

/// `sha256:abc...`, `sha256=abc...`, or digits whose number tells the hash.
std::variant<HashLength, Raised> hash_named_by(std::string_view& hash) {
  const std::size_t border = hash.find(hash.find(':') != std::string_view::npos ? ':' : '=');
  if (border != std::string_view::npos) {
    const HashLength named{0, hash.substr(0, border)};
    hash.remove_prefix(border + 1);
    return named;
  }
  std::string known;
  for (const HashLength& one : kHashes) {
    if (one.digits == hash.size()) return one;
    known += format("{}{} ({})", known.empty() ? "" : ", ", one.name, one.digits);
  }
  return invocation_error(
      format("Hash {} (length: {}) could not be matched to a supported hash type. The supported hash types "
             "and lengths are: {}",
             hash, hash.size(), known));
}

bool any_line_matches(std::string_view content, const Regex& pattern, std::string_view stripped_in_front,
                      const std::stop_token& stop) {
  while (!content.empty() && !stop.stop_requested()) {
    const std::size_t end = std::min(content.find('\n'), content.size() - 1) + 1;
    std::string_view line = content.substr(0, end);
    content.remove_prefix(end);
    const std::size_t begin = line.find_first_not_of(stripped_in_front);
    if (!stripped_in_front.empty()) line.remove_prefix(std::min(begin, line.size()));
    if (pattern.match_start(line)) return true;
  }
  return false;
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n\v\f";
  const std::size_t begin = std::min(text.find_first_not_of(blanks), text.size());
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

bool is_there(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

}  // namespace

Reply hash_of_file(const std::string& path, std::string_view name, const Context& context) {
  const std::stop_token& stop = context.stop;
  const Jobs& jobs = context.engine.jobs;
  auto hasher = auth::Hasher::make(name);
  if (!hasher) return Raised::value_error(format("Invalid hash type: {}", name));
  auto raised = read_pieces(path, jobs, [&](std::string_view piece) {
    hasher->update(piece);
    return !stop.stop_requested();
  });
  if (raised) return *std::move(raised);
  if (stop.stop_requested()) return terminated();
  return Returned{Json::string(hasher->finish())};
}

namespace file_module {

Reply read(const Call& call) {
  auto path = path_of(call.arguments[0]);
  if (auto* raised = std::get_if<Raised>(&path)) return std::move(*raised);
  auto content = content_of(std::get<std::string>(path), call.context.engine.jobs);
  if (auto* raised = std::get_if<Raised>(&content)) return std::move(*raised);
  return Returned{Json::string(std::get<std::string>(content))};
}

Reply get_hash(const Call& call) {
  auto path = path_of(call.arguments[0]);
  if (auto* raised = std::get_if<Raised>(&path)) return std::move(*raised);
  return hash_of_file(std::get<std::string>(path), call.arguments[1].python_str(), call.context);
}

Reply get_sum(const Call& call) {
  auto path = path_of(call.arguments[0]);
  if (auto* raised = std::get_if<Raised>(&path)) return std::move(*raised);
  struct stat status {};
  if (::stat(std::get<std::string>(path).c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return Returned{Json::string("File not found")};
  }
  return hash_of_file(std::get<std::string>(path), call.arguments[1].python_str(), call.context);
}

Reply check_hash(const Call& call) {
  auto path = path_of(call.arguments[0]);
  if (auto* raised = std::get_if<Raised>(&path)) return std::move(*raised);
  if (!call.arguments[1].is(JsonValue::Kind::string)) return invocation_error("hash must be a string");
  std::string_view expected = call.arguments[1].text();
  auto named = hash_named_by(expected);
  if (auto* raised = std::get_if<Raised>(&named)) return std::move(*raised);
  Reply found = hash_of_file(std::get<std::string>(path), std::get<HashLength>(named).name, call.context);
  const auto* returned = std::get_if<Returned>(&found);
  if (returned == nullptr) return found;
  return Returned{Json::boolean(returned->value == Json::string(expected))};
}

Reply contains(const Call& call) {
  auto path = path_of(call.arguments[0]);
  if (auto* raised = std::get_if<Raised>(&path)) return std::move(*raised);
  if (!is_there(std::get<std::string>(path))) return Returned{Json::boolean(false)};
  auto content = content_of(std::get<std::string>(path), call.context.engine.jobs);
  if (auto* raised = std::get_if<Raised>(&content)) return std::move(*raised);
  const std::string text = call.arguments[1].python_str();
  const bool found = std::get<std::string>(content).find(without_blanks(text)) != std::string::npos;
  return Returned{Json::boolean(found)};
}

Reply contains_regex(const Call& call) {
  auto path = path_of(call.arguments[0]);
  if (auto* raised = std::get_if<Raised>(&path)) return std::move(*raised);
  if (!is_there(std::get<std::string>(path))) return Returned{Json::boolean(false)};
  const Result<Regex> pattern = search_pattern(call.arguments[1].python_str());
  if (!pattern) return Raised{Raised::Kind::exception, "error", pattern.error().message};
  auto content = content_of(std::get<std::string>(path), call.context.engine.jobs);
  if (auto* raised = std::get_if<Raised>(&content)) return std::move(*raised);
  const bool found =
      any_line_matches(std::get<std::string>(content), *pattern, call.arguments[2].text(), call.context.stop);
  if (call.context.stop.stop_requested()) return terminated();
  return Returned{Json::boolean(found)};
}

}  // namespace file_module
}  // namespace rest_fcgi::embedded
