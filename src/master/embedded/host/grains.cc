// SPDX-License-Identifier: MIT
#include "master/embedded/host/grains.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "master/embedded/text.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/users.h"

namespace rest_fcgi::embedded {
namespace {

using OsRelease = std::map<std::string, std::string, std::less<>>;

struct Os {
  std::string_view id;  ///< `id` is the value of `ID` in /etc/os-release.
  std::string_view os;  ///< `os` is Salt's grain `os`; empty means the distribution's own name.
  std::string_view family;
};

/// Salt's names of distributions and of their families. For any other distribution, Salt uses the
/// distribution's own name.
constexpr Os kOs[] = {
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
};

const Os* known_os(std::string_view id) {
  const Os* found = std::find_if(std::begin(kOs), std::end(kOs), [id](const Os& os) { return os.id == id; });
  return found == std::end(kOs) ? nullptr : found;
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

/// Returns the distribution's `NAME` without ` GNU/Linux` and ` Linux`, as Salt does.
std::string short_name(std::string name) {
  for (const std::string_view words : {" GNU/Linux", " Linux"}) {
    if (const std::size_t at = name.find(words); at != std::string::npos) name.erase(at, words.size());
  }
  return name;
}

std::string_view family_of(const std::string& id, const std::string& id_like, std::string_view os) {
  if (const Os* known = known_os(id)) return known->family;
  for (const std::string_view like : split_words(id_like)) {
    if (const Os* known = known_os(like)) return known->family;
  }
  return os;
}

std::string_view in_parentheses(std::string_view version) {
  const std::size_t open = version.find('(');
  const std::size_t close = version.find(')', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) return {};
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
    const auto [key, value] = key_and_value(line);
    if (key == "processor") ++cpu.count;
    if (key == "# processors")
      cpu.count = parse_number<std::int64_t>(value).value_or(cpu.count);  // s390 has this line.
    if (key == "vendor_id" || key == "model name" || key == "cpu") cpu.model = value;
    if (key == "flags" || key == "Features") cpu.flags = split_words(value);
  }
  return cpu;
}

using Pair = std::pair<std::string_view, std::string_view>;

constexpr Pair kFirmware[] = {{"biosversion", "bios_version"}, {"biosvendor", "bios_vendor"},
                              {"boardname", "board_name"},     {"productname", "product_name"},
                              {"manufacturer", "sys_vendor"},  {"biosreleasedate", "bios_date"},
                              {"uuid", "product_uuid"},        {"serialnumber", "product_serial"}};

constexpr Pair kDebianArchitectures[] = {{"x86_64", "amd64"}, {"aarch64", "arm64"}, {"i586", "i386"},
                                         {"i686", "i386"},    {"armv7l", "armhf"},  {"ppc64le", "ppc64el"}};

struct Virtual {
  /// A text in lower case that identifies a container manager or the product name of a virtual machine.
  std::string_view sign;
  std::string_view name;
  std::string_view subtype = {};
};

constexpr Virtual kContainers[] = {{"lxc", "container", "LXC"},
                                   {"podman", "container", "Podman"},
                                   {"docker", "container", "Docker"},
                                   {"systemd-nspawn", "systemd-nspawn"}};

constexpr Virtual kMachines[] = {{"amazon ec2", "Nitro", "Amazon EC2"},
                                 {"vmware", "VMware"},
                                 {"virtualbox", "oracle"},
                                 {"innotek", "oracle"},
                                 {"microsoft", "VirtualPC"},
                                 {"xen", "xen"},
                                 {"bochs", "bochs"},
                                 {"kvm", "kvm"},
                                 {"qemu", "kvm"}};

template <std::size_t N>
const Virtual* recognized(std::string_view text, const Virtual (&known)[N]) {
  const std::string lower_case = lower(text);
  const Virtual* found = std::find_if(known, known + N, [&lower_case](const Virtual& one) {
    return lower_case.find(one.sign) != std::string::npos;
  });
  return found == known + N ? nullptr : found;
}

std::string_view environment(const char* name, std::string_view otherwise) {
  const char* value = ::getenv(name);
  return value == nullptr ? otherwise : value;
}

std::string_view init_system() {
  if (::access("/run/systemd/system", F_OK) == 0) return "systemd";
  std::string command = read_text("/proc/1/cmdline").value_or("");
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

void write_kernel_grains(JsonWriter& writer, bool is_debian) {
  utsname system = {};
  ::uname(&system);
  const std::string_view machine = system.machine;
  const Pair* found = std::find_if(std::begin(kDebianArchitectures), std::end(kDebianArchitectures),
                                   [machine](const Pair& names) { return names.first == machine; });
  const bool is_renamed = is_debian && found != std::end(kDebianArchitectures);
  writer.key("osarch").string(is_renamed ? found->second : machine);
  writer.key("kernel").string(system.sysname);
  writer.key("nodename").string(system.nodename).key("localhost").string(system.nodename);
  writer.key("kernelrelease").string(system.release).key("kernelversion").string(system.version);
  writer.key("cpuarch").string(machine);
}

VirtualSigns virtual_signs(std::string_view cpuinfo) {
  VirtualSigns signs;
  signs.container = stripped(read_text("/run/systemd/container").value_or(""));
  if (signs.container.empty() && ::access("/run/.containerenv", F_OK) == 0) signs.container = "podman";
  if (signs.container.empty() && ::access("/.dockerenv", F_OK) == 0) signs.container = "docker";
  for (const char* file : {"sys_vendor", "product_name", "bios_vendor"}) {
    signs.dmi += read_text(std::string("/sys/class/dmi/id/") + file).value_or("");
  }
  const auto flags = parse_cpu(cpuinfo).flags;
  signs.hypervisor = std::find(flags.begin(), flags.end(), "hypervisor") != flags.end();
  return signs;
}

void write_machine_id_grain(JsonWriter& writer) {
  for (const char* file : {"/etc/machine-id", "/var/lib/dbus/machine-id"}) {
    const auto id = read_text(file);
    if (!id) continue;
    writer.key("machine_id").string(stripped(*id));
    return;
  }
}

/// Writes the sizes of memory in MiB from the text of /proc/meminfo.
void write_memory_grains(JsonWriter& writer, std::string_view meminfo) {
  std::int64_t memory = 0;
  std::int64_t swap = 0;
  for (const std::string_view line : lines_of(meminfo)) {
    const auto [key, value] = key_and_value(line);
    const std::int64_t mib = parse_number<std::int64_t>(value.substr(0, value.find(' '))).value_or(0) / 1024;
    if (key == "MemTotal") memory = mib;
    if (key == "SwapTotal") swap = mib;
  }
  writer.key("mem_total").integer(memory).key("swap_total").integer(swap);
}

}  // namespace

Json os_grains(std::string_view os_release) {
  OsRelease values = parse_os_release(os_release);
  const std::string full_name = values["NAME"].empty() ? "Linux" : values["NAME"];
  const Os* known = known_os(values["ID"]);
  const std::string os =
      known != nullptr && !known->os.empty() ? std::string(known->os) : short_name(full_name);
  const std::string_view codename =
      values["VERSION_CODENAME"].empty() ? in_parentheses(values["VERSION"]) : values["VERSION_CODENAME"];
  return written_object([&](JsonWriter& writer) {
    writer.key("os").string(os).key("os_family").string(family_of(values["ID"], values["ID_LIKE"], os));
    writer.key("osfullname").string(full_name);
    if (!codename.empty()) writer.key("oscodename").string(codename);
    if (!values["VERSION_ID"].empty()) write_release(writer, os, full_name, values["VERSION_ID"]);
  });
}

void write_cpu_grains(JsonWriter& writer, std::string_view cpuinfo) {
  const Cpu cpu = parse_cpu(cpuinfo);
  writer.key("num_cpus").integer(cpu.count).key("cpu_model").string(cpu.model);
  write_strings(writer.key("cpu_flags"), cpu.flags);
}

void write_virtual_grains(JsonWriter& writer, const VirtualSigns& signs) {
  const Virtual* found = recognized(signs.container, kContainers);
  if (found == nullptr) found = recognized(signs.dmi, kMachines);
  const std::string_view unrecognized = signs.hypervisor ? "kvm" : "physical";
  writer.key("virtual").string(found == nullptr ? unrecognized : found->name);
  if (found != nullptr && !found->subtype.empty()) writer.key("virtual_subtype").string(found->subtype);
}

Json host_grains() {
  const JsonDocument os = own_document(os_grains(read_text("/etc/os-release").value_or("")));
  const std::string cpuinfo = read_text("/proc/cpuinfo").value_or("");
  return written_object([&](JsonWriter& writer) {
    for (const auto& [grain, value] : os.root().members()) value.write(writer.key(grain));
    write_kernel_grains(writer, member_of(os.root(), "os_family").text() == "Debian");
    write_cpu_grains(writer, cpuinfo);
    write_memory_grains(writer, read_text("/proc/meminfo").value_or(""));
    for (const auto& [grain, file] : kFirmware) {
      const auto text = read_text(format("/sys/class/dmi/id/{}", file));
      if (!text) continue;
      const std::string_view value = stripped(*text);
      writer.key(grain).string(grain == "uuid" ? lower(value) : value);
    }
    write_virtual_grains(writer, virtual_signs(cpuinfo));
    write_host_network_grains(writer);
    writer.key("init").string(init_system());
    write_machine_id_grain(writer);
    writer.key("uid").integer(::geteuid()).key("gid").integer(::getegid());
    writer.key("username").string(user_name(::geteuid()).value_or(""));
    writer.key("groupname").string(group_name(::getegid()).value_or(""));
    writer.key("pid").integer(::getpid());
    const std::string_view path = stripped(environment("PATH", ""));
    write_strings(writer.key("path").string(path).key("systempath"), split(path, ":"));
    writer.key("shell").string(environment("SHELL", "/bin/sh"));
    writer.key("saltversion").string(kSaltVersion).key("saltversioninfo").begin_array();
    for (const std::string_view number : split(kSaltVersion, ".")) writer.raw(number);
    writer.end_array();
  });
}

}  // namespace rest_fcgi::embedded
