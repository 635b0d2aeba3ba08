// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <linux/openat2.h>

#include "netapi/handlers.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::netapi {
namespace {

using http::Response;
using http::Status;

constexpr std::size_t kPartSize = std::size_t{64} << 10;

class FileStream final : public http::Stream {
 public:
  FileStream(UniqueFd file, std::uint64_t size) : file_(std::move(file)), left_(size) {}

  Result<std::string_view> next() override {
    const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left_, kPartSize));
    if (wanted == 0) return std::string_view();
    part_.resize(wanted);
    const ssize_t got = ::pread(file_.get(), part_.data(), wanted, static_cast<off_t>(at_));
    if (got < 0) return Error{ErrorKind::internal, "a file cannot be read: " + errno_text()};
    if (got == 0) return Error{ErrorKind::internal, "a file became shorter while it was sent"};
    at_ += static_cast<std::uint64_t>(got);
    left_ -= static_cast<std::uint64_t>(got);
    return std::string_view(part_.data(), static_cast<std::size_t>(got));
  }

 private:
  UniqueFd file_;
  std::uint64_t at_ = 0;
  std::uint64_t left_;
  std::string part_;
};

struct Type {
  std::string_view extension;
  std::string_view type;
};

constexpr std::array kTypes{Type{".html", "text/html;charset=utf-8"},
                            Type{".htm", "text/html;charset=utf-8"},
                            Type{".css", "text/css;charset=utf-8"},
                            Type{".js", "text/javascript;charset=utf-8"},
                            Type{".mjs", "text/javascript;charset=utf-8"},
                            Type{".txt", "text/plain;charset=utf-8"},
                            Type{".md", "text/markdown;charset=utf-8"},
                            Type{".json", "application/json"},
                            Type{".map", "application/json"},
                            Type{".xml", "application/xml"},
                            Type{".svg", "image/svg+xml"},
                            Type{".png", "image/png"},
                            Type{".jpg", "image/jpeg"},
                            Type{".jpeg", "image/jpeg"},
                            Type{".gif", "image/gif"},
                            Type{".webp", "image/webp"},
                            Type{".ico", "image/x-icon"},
                            Type{".woff", "font/woff"},
                            Type{".woff2", "font/woff2"},
                            Type{".ttf", "font/ttf"},
                            Type{".wasm", "application/wasm"},
                            Type{".pdf", "application/pdf"}};

UniqueFd open_folder(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/// Opens a file. Because of O_NONBLOCK, open(2) does not wait for the writer of a FIFO.
UniqueFd open_file(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

/// Opens a file in a folder. Refuses symbolic links to places outside the folder.
UniqueFd open_below(const UniqueFd& folder, const std::string& path) {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  UniqueFd file(static_cast<int>(::syscall(SYS_openat2, folder.get(), path.c_str(), &how, sizeof how)));
  if (file || (errno != ENOSYS && errno != EPERM)) return file;
  // Old kernels lack openat2(2), and some sandboxes refuse it. The code below then follows no symbolic link.
  UniqueFd at(::openat(folder.get(), ".", O_PATH | O_CLOEXEC | O_DIRECTORY));
  const std::vector<std::string> parts = parts_of(path);
  for (std::size_t i = 0; at && i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    const int flags = last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY;
    at.reset(::openat(at.get(), parts[i].c_str(), flags | O_CLOEXEC | O_NOFOLLOW));
  }
  return at;
}

struct Found {
  UniqueFd file;
  struct stat status {};
  std::string name;
};

std::optional<Found> opened_file(UniqueFd file, std::string name) {
  Found found{std::move(file), {}, std::move(name)};
  if (!found.file || ::fstat(found.file.get(), &found.status) != 0) return std::nullopt;
  return found;
}

std::optional<std::time_t> time_in(std::string_view header) {
  std::tm parts{};
  const std::string text(header);
  const char* const end = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return ::timegm(&parts);
}

/// Sets the response's body: a text for a small file, and a stream for a larger file. Errors: the errors of
/// `FileStream::next`.
Result<void> set_body(UniqueFd file, std::uint64_t size, Response& response) {
  FileStream stream(std::move(file), size);
  if (size <= kPartSize) {
    std::string text;
    auto part = stream.next();
    for (; part && !part->empty(); part = stream.next()) text += *part;
    if (!part) return std::move(part).error();
    response.body = std::move(text);
    return {};
  }
  response.stream_size = size;
  response.body = std::make_unique<FileStream>(std::move(stream));
  return {};
}

Response file_reply(const RequestContext& context, Found found) {
  const auto size = static_cast<std::uint64_t>(found.status.st_size);
  const std::string changed = http::http_date(std::chrono::system_clock::from_time_t(found.status.st_mtime));
  Response response{Status::ok, {{"Last-Modified", changed}}, std::string()};
  const auto since = time_in(context.environ.get("HTTP_IF_MODIFIED_SINCE"));
  if (since && found.status.st_mtime <= *since) {
    response.status = Status::not_modified;
    return response;
  }
  const auto type = std::find_if(kTypes.begin(), kTypes.end(),
                                 [&](const Type& one) { return found.name.ends_with(one.extension); });
  response.headers.emplace_back("Content-Type",
                                type == kTypes.end() ? "application/octet-stream" : type->type);
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  if (auto set = set_body(std::move(found.file), size, response); !set) return fail(context, set.error());
  return response;
}

Response named_file(const RequestContext& context, const std::string& path) {
  auto found = opened_file(open_file(path), path);
  if (!found || !S_ISREG(found->status.st_mode)) return nothing_matches(context);
  return file_reply(context, *std::move(found));
}

}  // namespace

Response serve_static(RequestContext& context) {
  const auto& parts = context.below;
  if (std::find(parts.begin(), parts.end(), "..") != parts.end()) {
    return refuse(context, Status::forbidden, "The path must not contain '..'.");
  }
  const UniqueFd root = open_folder(context.app.options.static_root);
  if (!root) return nothing_matches(context);
  std::string path = ".";
  for (const std::string& part : parts) path.append("/").append(part);
  auto found = opened_file(open_below(root, path), path);
  if (found && S_ISDIR(found->status.st_mode)) {
    path += "/index.html";
    found = opened_file(open_below(root, path), path);
    if (found && context.target.path.back() != '/') {
      // Redirects to a URL with a slash at its end, which relative links of the page need. Builds the URL
      // from `parts`, because a URL that begins with two slashes would name another host.
      std::string place = context.base + path_text(*context.route);
      for (const std::string& part : parts) place.append("/").append(part);
      return {Status::moved_permanently, {{"Location", percent_encoded(place, "/") + "/"}}, std::string()};
    }
  }
  if (!found || !S_ISREG(found->status.st_mode)) return nothing_matches(context);
  return file_reply(context, *std::move(found));
}

Response serve_app(RequestContext& context) {
  return named_file(context, context.app.options.app);
}

Response serve_favicon(RequestContext& context) {
  return named_file(context, context.app.options.favicon);
}

void warn_of_missing_files(const RestCherrypyOptions& options) {
  const auto warn = [](std::string_view option, const std::string& path, const UniqueFd& opened) {
    if (path.empty() || opened) return;
    log::warning(format("rest_cherrypy: {}: {} cannot be opened, so requests for it get 404: {}", option,
                        path, errno_text()));
  };
  warn("static", options.static_root, open_folder(options.static_root));
  warn("app", options.app, open_file(options.app));
  warn("favicon", options.favicon, open_file(options.favicon));
}

}  // namespace rest_fcgi::netapi
