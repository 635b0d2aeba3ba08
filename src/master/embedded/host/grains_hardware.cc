// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "master/embedded/host/grains_parts.h"
#include "master/embedded/host/host_text.h"
#include "master/embedded/python/python.h"

namespace rest_fcgi::embedded {
namespace {

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
    if (key == "# processors") cpu.count = python_int(value).value_or(cpu.count);  // s390
    if (key == "vendor_id" || key == "model name" || key == "cpu") cpu.model = value;
    if (key == "flags" || key == "Features") cpu.flags = words_of(value);
  }
  return cpu;
}

struct Firmware {
  std::string_view grain;
  std::string_view file;
};

constexpr std::array<Firmware, 8> kFirmware = {{{"biosversion", "bios_version"},
                                                {"biosvendor", "bios_vendor"},
                                                {"boardname", "board_name"},
                                                {"productname", "product_name"},
                                                {"manufacturer", "sys_vendor"},
                                                {"biosreleasedate", "bios_date"},
                                                {"uuid", "product_uuid"},
                                                {"serialnumber", "product_serial"}}};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

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

}  // namespace

void write_cpu_grains(JsonWriter& writer, std::string_view cpuinfo) {
  const Cpu cpu = parse_cpu(cpuinfo);
  writer.key("num_cpus").integer(cpu.count);
  writer.key("cpu_model").string(cpu.model);
  writer.key("cpu_flags").begin_array();
  for (const std::string_view flag : cpu.flags) writer.string(flag);
  writer.end_array();
}

void write_memory_grains(JsonWriter& writer, std::string_view meminfo) {
  std::int64_t memory = 0;
  std::int64_t swap = 0;
  for (const std::string_view line : lines_of(meminfo)) {
    const auto entry = entry_of(line);
    if (!entry || words_of(entry->value).empty()) continue;
    const std::int64_t kib = python_int(words_of(entry->value)[0]).value_or(0);
    if (entry->key == "MemTotal") memory = kib / 1024;
    if (entry->key == "SwapTotal") swap = kib / 1024;
  }
  writer.key("mem_total").integer(memory);
  writer.key("swap_total").integer(swap);
}

void write_firmware_grains(JsonWriter& writer, const std::string& folder) {
  for (const Firmware& firmware : kFirmware) {
    const auto text = read_text(folder + "/" + std::string(firmware.file), 4096);
    if (!text) continue;
    const std::string_view value = stripped(*text);
    writer.key(firmware.grain).string(firmware.grain == "uuid" ? lower(value) : value);
  }
}

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

void write_virtual_grains(JsonWriter& writer, const VirtualSigns& signs) {
  auto found = recognized(signs.container, kContainers);
  if (!found) found = recognized(signs.dmi, kMachines);
  // A machine that hides whose it is.
  if (!found && signs.hypervisor) found = Virtual{"", "kvm"};
  writer.key("virtual").string(found ? found->name : "physical");
  if (found && !found->subtype.empty()) writer.key("virtual_subtype").string(found->subtype);
}

}  // namespace rest_fcgi::embedded
