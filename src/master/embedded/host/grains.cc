// SPDX-License-Identifier: MIT
#include "master/embedded/host/grains.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "master/embedded/host/salt_version.h"
#include "master/embedded/text.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/users.h"

namespace rest_fcgi::embedded {
namespace {

using OsRelease = std::map<std::string, std::string, std::less<>>;

struct Os {
  std::string_view id;  ///< `ID` of os-release
  std::string_view os;  ///< Salt's grain; empty: the distribution's own name will do
  std::string_view family;
};

/// Where Salt's names differ from the distribution's own ones.
constexpr std::array<Os, 22> kOs = {{
    {"debian", "Debian", "Debian"},
    {"ubuntu", "Ubuntu", "Debian"},
    {"raspbian", "Raspbian", "Debian"},
    {"devuan", "Devuan", "Debian"},
    {"kali", "Kali", "Debian"},
    {"linuxmint", "Mint", "Debian"},
    {"pop", "Pop", "Debian"},
    {"fedora", "Fedora", "RedHat"},
    {"rhel", "RedHat", "RedHat"},
    {"centos", "CentOS", "RedHat"},
    {"almalinux", "AlmaLinux", "RedHat"},
    {"rocky", "Rocky", "RedHat"},
    {"ol", "OEL", "RedHat"},
    {"amzn", "Amazon", "RedHat"},
    {"cloudlinux", "CloudLinux", "RedHat"},
    {"sles", "SUSE", "Suse"},
    {"suse", "SUSE", "Suse"},
    {"opensuse", "", "Suse"},
    {"opensuse-leap", "", "Suse"},
    {"opensuse-tumbleweed", "", "Suse"},
    {"arch", "Arch", "Arch"},
    {"manjaro", "Manjaro", "Arch"},
}};

const Os* known_os(std::string_view id) {
  for (const Os& os : kOs) {
    if (os.id == id) return &os;
  }
  return nullptr;
}

OsRelease parse_os_release(std::string_view text) {
  OsRelease values;
  for (const std::string_view line : lines_of(text)) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || line[0] == '#') continue;
    std::string_view value = line.substr(equals + 1);
    if (value.size() >= 2 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0]) {
      value = value.substr(1, value.size() - 2);
    }
    values[std::string(line.substr(0, equals))] = value;
  }
  return values;
}

std::string value_of(const OsRelease& values, std::string_view key) {
  const auto found = values.find(key);
  return found == values.end() ? std::string() : found->second;
}

/// `NAME` without the words that say "Linux", as Salt shortens it.
std::string short_name(std::string name) {
  for (const std::string_view words : {" GNU/Linux", " Linux"}) {
    if (const std::size_t at = name.find(words); at != std::string::npos) name.erase(at, words.size());
  }
  return name;
}

/// The family of the distribution itself, or of the first one known that it says it is like.
std::string family_of(const OsRelease& values, std::string_view os) {
  const std::string ids = value_of(values, "ID") + " " + value_of(values, "ID_LIKE");
  for (const std::string_view id : split_words(ids)) {
    if (const Os* known = known_os(id)) return std::string(known->family);
  }
  return std::string(os);
}

/// What stands in parentheses in `VERSION`, where there is no `VERSION_CODENAME`.
std::string codename_of(const OsRelease& values) {
  std::string name = value_of(values, "VERSION_CODENAME");
  if (!name.empty()) return name;
  const std::string version = value_of(values, "VERSION");
  const std::size_t open = version.find('(');
  const std::size_t close = version.find(')', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return {};
  return version.substr(open + 1, close - open - 1);
}

void write_release(JsonWriter& writer, std::string_view os, std::string_view full_name,
                   std::string_view release) {
  const std::string_view major = release.substr(0, release.find('.'));
  writer.key("osrelease").string(release);
  if (const auto number = parse_number<std::int64_t>(major)) writer.key("osmajorrelease").integer(*number);
  writer.key("osrelease_info").begin_array();
  for (const std::string_view part : split(release, ".")) {
    const auto number = parse_number<std::int64_t>(part);
    number ? writer.integer(*number) : writer.string(part);
  }
  writer.end_array();
  const bool named_by_os = os == "Debian" || os == "Raspbian";
  const bool with_minor = os == "Ubuntu" || os == "Pop";
  writer.key("osfinger").string(format("{}-{}", named_by_os ? os : full_name, with_minor ? release : major));
}

struct Cpu {
  std::int64_t count = 0;
  std::string_view model = "Unknown";
  std::vector<std::string_view> flags;
};

Cpu parse_cpu(std::string_view cpuinfo) {
  Cpu cpu;
  for (const std::string_view line : lines_of(cpuinfo)) {
    const auto entry = entry_of(line);
    if (!entry) continue;
    const auto& [key, value] = *entry;
    if (key == "processor") ++cpu.count;
    if (key == "# processors") cpu.count = parse_number<std::int64_t>(value).value_or(cpu.count);  // s390
    if (key == "vendor_id" || key == "model name" || key == "cpu") cpu.model = value;
    if (key == "flags" || key == "Features") cpu.flags = split_words(value);
  }
  return cpu;
}

/// Grains, and the files of the firmware that hold them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kFirmware = {
    {{"biosversion", "bios_version"},
     {"biosvendor", "bios_vendor"},
     {"boardname", "board_name"},
     {"productname", "product_name"},
     {"manufacturer", "sys_vendor"},
     {"biosreleasedate", "bios_date"},
     {"uuid", "product_uuid"},
     {"serialnumber", "product_serial"}}};

struct Virtual {
  std::string_view sign;
  std::string_view name;
  std::string_view subtype = {};
};

/// As systemd-detect-virt calls containers, and what Salt makes of it.
constexpr std::array<Virtual, 4> kContainers = {{{"lxc", "container", "LXC"},
                                                 {"podman", "container", "Podman"},
                                                 {"docker", "container", "Docker"},
                                                 {"systemd-nspawn", "systemd-nspawn"}}};

constexpr std::array<Virtual, 9> kMachines = {{{"amazon ec2", "Nitro", "Amazon EC2"},
                                               {"vmware", "VMware"},
                                               {"virtualbox", "oracle"},
                                               {"innotek", "oracle"},
                                               {"microsoft", "VirtualPC"},
                                               {"xen", "xen"},
                                               {"bochs", "bochs"},
                                               {"kvm", "kvm"},
                                               {"qemu", "kvm"}}};

template <std::size_t N>
std::optional<Virtual> recognized(std::string_view text, const std::array<Virtual, N>& known) {
  const std::string lower_case = lower(text);
  const auto found = std::find_if(known.begin(), known.end(), [&lower_case](const Virtual& one) {
    return lower_case.find(one.sign) != std::string::npos;
  });
  if (found == known.end()) return std::nullopt;
  return *found;
}

std::string_view environment(const char* name, std::string_view otherwise) {
  const char* value = ::getenv(name);
  return value == nullptr ? otherwise : value;
}

/// What is process 1? Salt looks into the program's file where this does not tell.
std::string_view init_system() {
  struct stat status {};
  if (::stat("/run/systemd/system", &status) == 0) return "systemd";
  std::string command = read_text("/proc/1/cmdline", 4096).value_or("");
  std::replace(command.begin(), command.end(), '\0', ' ');
  for (const std::string_view word : split_words(command)) {
    const std::string_view program = word.substr(word.rfind('/') + 1);
    for (const std::string_view known : {"supervisord", "dumb-init", "tini", "runit"}) {
      if (program == known) return known;
    }
    if (word == "/sbin/my_init") return "runit";
  }
  return "unknown";
}

/// Debian's names of processor architectures, where they differ from the kernel's.
std::string_view debian_architecture(std::string_view machine) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> names = {{{"x86_64", "amd64"},
                                                                                   {"aarch64", "arm64"},
                                                                                   {"i586", "i386"},
                                                                                   {"i686", "i386"},
                                                                                   {"armv7l", "armhf"},
                                                                                   {"ppc64le", "ppc64el"}}};
  for (const auto& [kernels, debians] : names) {
    if (kernels == machine) return debians;
  }
  return machine;
}

void write_kernel_grains(JsonWriter& writer, const utsname& system) {
  writer.key("kernel").string(system.sysname);
  writer.key("nodename").string(system.nodename);
  writer.key("localhost").string(system.nodename);
  writer.key("kernelrelease").string(system.release);
  writer.key("kernelversion").string(system.version);
  writer.key("cpuarch").string(system.machine);
}

/// The signs on this host. `cpuinfo`: the text of /proc/cpuinfo.
VirtualSigns virtual_signs(std::string_view cpuinfo) {
  VirtualSigns signs;
  signs.container = stripped(read_text("/run/systemd/container", 4096).value_or(""));
  if (signs.container.empty() && ::access("/run/.containerenv", F_OK) == 0) signs.container = "podman";
  if (signs.container.empty() && ::access("/.dockerenv", F_OK) == 0) signs.container = "docker";
  for (const char* file : {"sys_vendor", "product_name", "bios_vendor"}) {
    signs.dmi += read_text(std::string("/sys/class/dmi/id/") + file, 4096).value_or("");
  }
  const auto flags = parse_cpu(cpuinfo).flags;
  signs.hypervisor = std::find(flags.begin(), flags.end(), "hypervisor") != flags.end();
  return signs;
}

/// Of the process that we are: uid, gid, username, groupname, pid, path, systempath, shell.
void write_process_grains(JsonWriter& writer) {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  writer.key("uid").integer(uid);
  writer.key("gid").integer(gid);
  writer.key("username").string(user_name(uid).value_or(""));
  writer.key("groupname").string(group_name(gid).value_or(""));
  writer.key("pid").integer(::getpid());
  const std::string_view path = stripped(environment("PATH", ""));
  write_strings(writer.key("path").string(path).key("systempath"), split(path, ":"));
  writer.key("shell").string(environment("SHELL", "/bin/sh"));
}

/// init, machine_id.
void write_init_grains(JsonWriter& writer) {
  writer.key("init").string(init_system());
  for (const char* file : {"/etc/machine-id", "/var/lib/dbus/machine-id"}) {
    const auto id = read_text(file, 4096);
    if (!id) continue;
    writer.key("machine_id").string(stripped(*id));
    return;
  }
}

}  // namespace

Json os_grains(std::string_view os_release) {
  const OsRelease values = parse_os_release(os_release);
  const std::string full_name = value_of(values, "NAME").empty() ? "Linux" : value_of(values, "NAME");
  const Os* known = known_os(value_of(values, "ID"));
  const std::string os =
      known != nullptr && !known->os.empty() ? std::string(known->os) : short_name(full_name);
  return written_object([&](JsonWriter& writer) {
    writer.key("os").string(os);
    writer.key("os_family").string(family_of(values, os));
    writer.key("osfullname").string(full_name);
    const std::string codename = codename_of(values);
    if (!codename.empty()) writer.key("oscodename").string(codename);
    const std::string release = value_of(values, "VERSION_ID");
    if (!release.empty()) write_release(writer, os, full_name, release);
  });
}

void write_cpu_grains(JsonWriter& writer, std::string_view cpuinfo) {
  const Cpu cpu = parse_cpu(cpuinfo);
  writer.key("num_cpus").integer(cpu.count);
  writer.key("cpu_model").string(cpu.model);
  write_strings(writer.key("cpu_flags"), cpu.flags);
}

void write_memory_grains(JsonWriter& writer, std::string_view meminfo) {
  std::int64_t memory = 0;
  std::int64_t swap = 0;
  for (const std::string_view line : lines_of(meminfo)) {
    const auto entry = entry_of(line);
    if (!entry || split_words(entry->value).empty()) continue;
    const std::int64_t kib = parse_number<std::int64_t>(split_words(entry->value)[0]).value_or(0);
    if (entry->key == "MemTotal") memory = kib / 1024;
    if (entry->key == "SwapTotal") swap = kib / 1024;
  }
  writer.key("mem_total").integer(memory);
  writer.key("swap_total").integer(swap);
}

void write_firmware_grains(JsonWriter& writer, const std::string& folder) {
  for (const auto& [grain, file] : kFirmware) {
    const auto text = read_text(folder + "/" + std::string(file), 4096);
    if (!text) continue;
    const std::string_view value = stripped(*text);
    writer.key(grain).string(grain == "uuid" ? lower(value) : value);
  }
}

void write_virtual_grains(JsonWriter& writer, const VirtualSigns& signs) {
  auto found = recognized(signs.container, kContainers);
  if (!found) found = recognized(signs.dmi, kMachines);
  // A machine that hides whose it is.
  if (!found && signs.hypervisor) found = Virtual{"", "kvm"};
  writer.key("virtual").string(found ? found->name : "physical");
  if (found && !found->subtype.empty()) writer.key("virtual_subtype").string(found->subtype);
}

/// saltversion, saltversioninfo: `"3006.28"` and `[3006, 28]`.
static void write_salt_grains(JsonWriter& writer) {
  writer.key("saltversion").string(kSaltVersion).key("saltversioninfo").begin_array();
  for (const std::string_view number : split(kSaltVersion, ".")) writer.raw(number);
  writer.end_array();
}

Json host_grains() {
  const JsonDocument os = own_document(os_grains(read_text("/etc/os-release").value_or("")));
  utsname system = {};
  ::uname(&system);
  const std::string cpuinfo = read_text("/proc/cpuinfo").value_or("");
  return written_object([&](JsonWriter& writer) {
    for (const auto& [grain, value] : os.root().members()) value.write(writer.key(grain));
    const bool debian = member_of(os.root(), "os_family").text() == "Debian";
    writer.key("osarch").string(debian ? debian_architecture(system.machine) : system.machine);
    write_kernel_grains(writer, system);
    write_cpu_grains(writer, cpuinfo);
    write_memory_grains(writer, read_text("/proc/meminfo").value_or(""));
    write_firmware_grains(writer, "/sys/class/dmi/id");
    write_virtual_grains(writer, virtual_signs(cpuinfo));
    write_host_network_grains(writer);
    write_init_grains(writer);
    write_process_grains(writer);
    write_salt_grains(writer);
  });
}

}  // namespace rest_fcgi::embedded
