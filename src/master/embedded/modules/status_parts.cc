// SPDX-License-Identifier: MIT
#include "master/embedded/modules/status_parts.h"

#include <array>
#include <charconv>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "master/embedded/host/host_text.h"

namespace rest_fcgi::embedded::status_parts {
namespace {

using Words = std::vector<std::string_view>;

/// A number where it is one, else the text. Digits stay digits, however many.
void write_number(JsonWriter& writer, std::string_view word) {
  const bool digits = !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (digits) {
    const std::size_t first = std::min(word.find_first_not_of('0'), word.size() - 1);
    writer.raw(word.substr(first));
  } else if (error == std::errc() && end == word.data() + word.size() && !word.empty()) {
    writer.number(value);
  } else {
    writer.string(word);
  }
}

struct Field {
  std::string_view name;
  std::size_t word;
};

/// An object of named fields. REQUIRES: as many words.
void write_fields(JsonWriter& writer, const Words& words, std::span<const Field> fields) {
  writer.begin_object();
  for (const Field& field : fields) write_number(writer.key(field.name), words[field.word]);
  writer.end_object();
}

constexpr std::array<Field, 8> kCpu = {{{"idle", 4},
                                        {"iowait", 5},
                                        {"irq", 6},
                                        {"nice", 2},
                                        {"softirq", 7},
                                        {"steal", 8},
                                        {"system", 3},
                                        {"user", 1}}};
constexpr std::size_t kCpuWords = 9;

constexpr std::array<Field, 14> kDisk = {{{"major", 0},
                                          {"minor", 1},
                                          {"device", 2},
                                          {"reads_issued", 3},
                                          {"reads_merged", 4},
                                          {"sectors_read", 5},
                                          {"ms_spent_reading", 6},
                                          {"writes_completed", 7},
                                          {"writes_merged", 8},
                                          {"sectors_written", 9},
                                          {"ms_spent_writing", 10},
                                          {"io_in_progress", 11},
                                          {"ms_spent_in_io", 12},
                                          {"weighted_ms_spent_in_io", 13}}};

constexpr std::array<Field, 16> kNetDevice = {{{"rx_bytes", 0},
                                               {"rx_packets", 1},
                                               {"rx_errs", 2},
                                               {"rx_drop", 3},
                                               {"rx_fifo", 4},
                                               {"rx_frame", 5},
                                               {"rx_compressed", 6},
                                               {"rx_multicast", 7},
                                               {"tx_bytes", 8},
                                               {"tx_packets", 9},
                                               {"tx_errs", 10},
                                               {"tx_drop", 11},
                                               {"tx_fifo", 12},
                                               {"tx_colls", 13},
                                               {"tx_carrier", 14},
                                               {"tx_compressed", 15}}};

/// `{"total": first number, list_name: [the others]}`
void write_total(JsonWriter& writer, const Words& words, std::string_view list_name) {
  writer.begin_object();
  write_number(writer.key("total"), words[1]);
  writer.key(list_name).begin_array();
  for (std::size_t i = 2; i < words.size(); ++i) write_number(writer, words[i]);
  writer.end_array().end_object();
}

}  // namespace

void write_cpuinfo(JsonWriter& writer, std::string_view text) {
  std::map<std::string_view, std::string_view> values;  // what the last processor says counts
  for (const std::string_view line : lines_of(text)) {
    const auto entry = entry_of(line);
    // Salt takes no more than what stands before a second colon.
    if (entry) values[entry->key] = stripped(entry->value.substr(0, entry->value.find(':')));
  }
  writer.begin_object();
  for (const auto& [key, value] : values) {
    writer.key(key);
    if (key != "flags") {
      writer.string(value);
      continue;
    }
    writer.begin_array();
    for (const std::string_view flag : words_of(value)) writer.string(flag);
    writer.end_array();
  }
  writer.end_object();
}

void write_cpustats(JsonWriter& writer, std::string_view text) {
  writer.begin_object();
  for (const std::string_view line : lines_of(text)) {
    const Words words = words_of(line);
    if (words.size() < 2 || (words[0] == "cpu" && words.size() < kCpuWords)) continue;
    writer.key(words[0]);
    if (words[0] == "cpu") {
      write_fields(writer, words, kCpu);
    } else if (words[0] == "intr") {
      write_total(writer, words, "irqs");
    } else if (words[0] == "softirq") {
      write_total(writer, words, "softirqs");
    } else {
      write_number(writer, words[1]);
    }
  }
  writer.end_object();
}

void write_diskstats(JsonWriter& writer, std::string_view text) {
  writer.begin_object();
  for (const std::string_view line : lines_of(text)) {
    const Words words = words_of(line);
    if (words.size() >= kDisk.size()) write_fields(writer.key(words[2]), words, kDisk);
  }
  writer.end_object();
}

void write_meminfo(JsonWriter& writer, std::string_view text) {
  writer.begin_object();
  for (const std::string_view line : lines_of(text)) {
    const auto entry = entry_of(line);
    const Words words = entry ? words_of(entry->value) : Words();
    if (words.empty()) continue;
    writer.key(entry->key).begin_object().key("value").string(words[0]);
    if (words.size() > 1) writer.key("unit").string(words[1]);
    writer.end_object();
  }
  writer.end_object();
}

void write_netdev(JsonWriter& writer, std::string_view text) {
  writer.begin_object();
  for (const std::string_view line : lines_of(text)) {
    const auto entry = entry_of(line);
    const Words words = entry ? words_of(entry->value) : Words();
    if (words.size() < kNetDevice.size()) continue;
    writer.key(entry->key).begin_object().key("iface").string(entry->key);
    for (const Field& field : kNetDevice) write_number(writer.key(field.name), words[field.word]);
    writer.end_object();
  }
  writer.end_object();
}

void write_netstats(JsonWriter& writer, std::string_view text) {
  Words names;
  writer.begin_object();
  for (const std::string_view line : lines_of(text)) {
    Words words = words_of(line);
    if (words.empty()) continue;
    if (names.empty() || words[0] != names[0]) {  // a line of names, before that of their numbers
      names = std::move(words);
      continue;
    }
    writer.key(entry_of(words[0]).value_or(Entry{words[0], ""}).key).begin_object();
    // Salt leaves the last column out.
    for (std::size_t i = 1; i + 1 < names.size() && i < words.size(); ++i) {
      write_number(writer.key(names[i]), words[i]);
    }
    writer.end_object();
  }
  writer.end_object();
}

void write_vmstats(JsonWriter& writer, std::string_view text) {
  writer.begin_object();
  for (const std::string_view line : lines_of(text)) {
    const Words words = words_of(line);
    if (words.size() >= 2) write_number(writer.key(words[0]), words[1]);
  }
  writer.end_object();
}

}  // namespace rest_fcgi::embedded::status_parts
