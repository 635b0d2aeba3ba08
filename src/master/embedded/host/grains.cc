// SPDX-License-Identifier: MIT
#include "master/embedded/host/grains.h"

#include <sys/utsname.h>

#include <array>
#include <string>

#include "master/embedded/host/grains_parts.h"
#include "master/embedded/host/host_text.h"
#include "master/embedded/host/merged.h"

namespace rest_fcgi::embedded {

namespace {

/// Debian's names of processor architectures, where they differ from the kernel's.
std::string_view debian_architecture(std::string_view machine) {
  struct Architecture {
    std::string_view machine;
    std::string_view name;
  };
  constexpr std::array<Architecture, 6> names = {{{"x86_64", "amd64"},
                                                  {"aarch64", "arm64"},
                                                  {"i586", "i386"},
                                                  {"i686", "i386"},
                                                  {"armv7l", "armhf"},
                                                  {"ppc64le", "ppc64el"}}};
  for (const Architecture& one : names) {
    if (one.machine == machine) return one.name;
  }
  return machine;
}

std::string resolv_conf() {
  // systemd's own file names the servers behind its local one.
  const auto behind = read_text("/run/systemd/resolve/resolv.conf");
  return behind ? *behind : read_text("/etc/resolv.conf").value_or("");
}

void write_kernel_grains(JsonWriter& writer, const utsname& system) {
  writer.key("kernel").string(system.sysname);
  writer.key("nodename").string(system.nodename);
  writer.key("localhost").string(system.nodename);
  writer.key("kernelrelease").string(system.release);
  writer.key("kernelversion").string(system.version);
  writer.key("cpuarch").string(system.machine);
}

}  // namespace

Json host_grains() {
  JsonDocument os;
  // Written just now, so it parses.
  (void)os.parse(os_grains(read_text("/etc/os-release").value_or("")).text());
  utsname system = {};
  ::uname(&system);
  const std::string cpuinfo = read_text("/proc/cpuinfo").value_or("");
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const JsonMember grain : os.root().members()) {
    writer.key(grain.key);
    grain.value.write(writer);
  }
  const bool debian = os.root().find("os_family").value_or(JsonValue()).text() == "Debian";
  writer.key("osarch").string(debian ? debian_architecture(system.machine) : system.machine);
  write_kernel_grains(writer, system);
  write_cpu_grains(writer, cpuinfo);
  write_memory_grains(writer, read_text("/proc/meminfo").value_or(""));
  write_firmware_grains(writer, "/sys/class/dmi/id");
  write_virtual_grains(writer, virtual_signs(cpuinfo));
  write_name_grains(writer, host_names());
  write_address_grains(writer, host_interfaces());
  write_gateway_grains(writer, host_routes());
  write_dns_grain(writer, resolv_conf());
  write_init_grains(writer);
  write_process_grains(writer);
  writer.end_object();
  return Json::trusted(std::move(text));
}

Json merge_objects(JsonValue base, JsonValue over) {
  std::string text;
  JsonWriter writer(text);
  write_merged(writer, base, over, false);
  return Json::trusted(std::move(text));
}

}  // namespace rest_fcgi::embedded
