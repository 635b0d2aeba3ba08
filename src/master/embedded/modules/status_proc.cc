// SPDX-License-Identifier: MIT
#include <array>

#include "master/embedded/host/host_text.h"
#include "master/embedded/modules/replies.h"
#include "master/embedded/modules/status_module.h"
#include "master/embedded/modules/status_parts.h"

namespace rest_fcgi::embedded::status_module {
namespace {

/// An empty text where the kernel has no such file, of which the writers make an empty object, as Salt does.
Reply of_file(const char* path, void (*write)(JsonWriter&, std::string_view)) {
  const std::string text = read_text(path).value_or("");
  return written([&](JsonWriter& writer) { write(writer, text); });
}

struct Part {
  std::string_view name;
  Reply (*run)(const Call&);
};

constexpr std::array<Part, 10> kParts = {{{"cpuinfo", cpuinfo},
                                          {"cpustats", cpustats},
                                          {"diskstats", diskstats},
                                          {"diskusage", diskusage},
                                          {"loadavg", loadavg},
                                          {"meminfo", meminfo},
                                          {"netdev", netdev},
                                          {"netstats", netstats},
                                          {"uptime", uptime},
                                          {"vmstats", vmstats}}};

}  // namespace

Reply cpuinfo(const Call&) {
  return of_file("/proc/cpuinfo", status_parts::write_cpuinfo);
}

Reply cpustats(const Call&) {
  return of_file("/proc/stat", status_parts::write_cpustats);
}

Reply diskstats(const Call&) {
  return of_file("/proc/diskstats", status_parts::write_diskstats);
}

Reply meminfo(const Call&) {
  return of_file("/proc/meminfo", status_parts::write_meminfo);
}

Reply netdev(const Call&) {
  return of_file("/proc/net/dev", status_parts::write_netdev);
}

Reply netstats(const Call&) {
  return of_file("/proc/net/netstat", status_parts::write_netstats);
}

Reply vmstats(const Call&) {
  return of_file("/proc/vmstat", status_parts::write_vmstats);
}

Reply version(const Call&) {
  return Returned{Json::string(stripped(read_text("/proc/version").value_or("")))};
}

Reply all_status(const Call& call) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const Part& part : kParts) {
    Reply reply = part.run(call);
    if (auto* raised = std::get_if<Raised>(&reply)) return std::move(*raised);
    writer.key(part.name).json(std::get<Returned>(reply).value);
  }
  writer.end_object();
  return Returned{Json::trusted(std::move(text))};
}

}  // namespace rest_fcgi::embedded::status_module
