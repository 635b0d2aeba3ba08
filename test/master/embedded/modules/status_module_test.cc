// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <string>

#include <doctest/doctest.h>

#include "../../../support/execution.h"
#include "master/embedded/modules/status_parts.h"

namespace rest_fcgi::embedded {
namespace {

std::string written(void (*write)(JsonWriter&, std::string_view), std::string_view text) {
  std::string out;
  JsonWriter writer(out);
  write(writer, text);
  return out;
}

TEST_CASE("of cpuinfo the last processor counts, and values end at a second colon") {
  CHECK(written(status_parts::write_cpuinfo,
                "processor : 0\nflags : fpu\n\nprocessor : 1\nflags : fpu vme\na : b:c\nbare\n") ==
        R"({"a": "b", "flags": ["fpu", "vme"], "processor": "1"})");
}

TEST_CASE("cpustats are the numbers of /proc/stat") {
  CHECK(
      written(status_parts::write_cpustats,
              "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 11 2\nintr 30 10 20\nctxt 18446744073709551616\nsoftirq 5 2 "
              "3\nbare\n") ==
      R"({"cpu": {"idle": 4, "iowait": 5, "irq": 6, "nice": 2, "softirq": 7, "steal": 8, "system": 3, "user": 1}, )"
      R"("cpu0": 11, "intr": {"total": 30, "irqs": [10, 20]}, "ctxt": 18446744073709551616, )"
      R"("softirq": {"total": 5, "softirqs": [2, 3]}})");
  CHECK(written(status_parts::write_cpustats, "cpu 1 2\n") == "{}");
}

TEST_CASE("diskstats have a name for each column") {
  CHECK(
      written(status_parts::write_diskstats, "8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13\n8 1 sda1 1 2\n") ==
      R"({"sda": {"major": 8, "minor": 0, "device": "sda", "reads_issued": 1, "reads_merged": 2, "sectors_read": 3, )"
      R"("ms_spent_reading": 4, "writes_completed": 5, "writes_merged": 6, "sectors_written": 7, )"
      R"("ms_spent_writing": 8, "io_in_progress": 9, "ms_spent_in_io": 10, "weighted_ms_spent_in_io": 11}})");
}

TEST_CASE("meminfo keeps units and texts") {
  CHECK(written(status_parts::write_meminfo, "MemTotal:  12 kB\nHugePages_Total: 0\nNothing:\nbare\n") ==
        R"({"MemTotal": {"value": "12", "unit": "kB"}, "HugePages_Total": {"value": "0"}})");
}

TEST_CASE("netdev has a name for each column, also where no blank is behind the colon") {
  CHECK(
      written(status_parts::write_netdev,
              "Inter-| Receive\n face |bytes\n  lo:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\neth0: 1 2\n") ==
      R"({"lo": {"iface": "lo", "rx_bytes": 1, "rx_packets": 2, "rx_errs": 3, "rx_drop": 4, "rx_fifo": 5, "rx_frame": 6, )"
      R"("rx_compressed": 7, "rx_multicast": 8, "tx_bytes": 9, "tx_packets": 10, "tx_errs": 11, "tx_drop": 12, )"
      R"("tx_fifo": 13, "tx_colls": 14, "tx_carrier": 15, "tx_compressed": 16}})");
}

TEST_CASE("netstats pair a line of names with one of numbers, all but the last column") {
  CHECK(written(status_parts::write_netstats, "TcpExt: A B C\nTcpExt: 1 -2 3\nIpExt: X Y\nIpExt: 1.5 2\n") ==
        R"({"TcpExt": {"A": 1, "B": -2.0}, "IpExt": {"X": 1.5}})");
}

TEST_CASE("vmstats are names and numbers") {
  CHECK(written(status_parts::write_vmstats, "nr_free 007\nbare\nzero 0\n") ==
        R"({"nr_free": 7, "zero": 0})");
}

TEST_CASE("the functions of status tell of this host") {
  test::Execution m;
  JsonDocument all;
  REQUIRE(all.parse(m.ret("status.all_status")));
  for (const char* part :
       {"cpuinfo", "cpustats", "diskusage", "loadavg", "meminfo", "netdev", "uptime", "vmstats"}) {
    CAPTURE(part);
    CHECK(all.root().find(part).value_or(JsonValue()).size() > 0);
  }
  CHECK(all.root().find("uptime")->find("seconds")->integer().value_or(0) > 0);
  CHECK(m.ret("status.diskusage", R"(["/"])").starts_with(R"({"/": {"available": )"));
  CHECK(m.ret("status.diskusage", R"(["nosuchtype"])") == "{}");
  CHECK(m.ret("status.version").starts_with("\"Linux version "));
  CHECK(std::stoi(m.ret("status.nproc")) > 0);
  CHECK(m.ret("status.time", R"(["%% x"])") == R"("% x")");
  CHECK(m.ret("status.procs").find("\"" + std::to_string(::getpid()) + "\": {\"user\": ") !=
        std::string::npos);
}

TEST_CASE("status.diskusage says which path it cannot ask about") {
  test::Execution m;
  CHECK(m.sentence("status.diskusage", R"(["/nosuch"])") ==
        "The minion function caused an exception: FileNotFoundError: [Errno 2] No such file or directory: "
        "'/nosuch'");
  CHECK(
      m.sentence("status.diskusage", "[5]") ==
      "The minion function caused an exception: AttributeError: 'int' object has no attribute 'startswith'");
}

TEST_CASE("status.pid finds other processes by a regular expression, and not itself") {
  test::Execution m;
  CHECK(m.ret("status.pid", R"([" 1 "])").find('1') != std::string::npos);
  CHECK(m.ret("status.pid", R"(["unit_tests --no such.argument$"])") == R"("")");
  CHECK(m.sentence("status.pid", R"(["("])").starts_with("The minion function caused an exception: error: "));
  CHECK(
      m.sentence("status.pid", R"([")("])").starts_with("The minion function caused an exception: error: "));
  CHECK(m.sentence("status.pid", "[5]") ==
        "Passed invalid arguments to status.pid: first argument must be string or compiled pattern");
}

TEST_CASE("status.time wants a text") {
  CHECK(test::Execution().sentence("status.time", "[5]") ==
        "Passed invalid arguments to status.time: strftime() argument 1 must be str, not int");
}

TEST_CASE("disk functions have df's shapes and check df's flags") {
  test::Execution m;
  CHECK(m.ret("disk.usage").find(R"("/": {"filesystem": )") != std::string::npos);
  CHECK(m.ret("disk.usage", R"(["kP"])").find(R"("1K-blocks": ")") != std::string::npos);
  CHECK(m.ret("disk.inodeusage").find(R"("inodes": ")") != std::string::npos);
  CHECK(m.ret("disk.percent", R"(["/"])").ends_with("%\""));
  CHECK(m.ret("disk.percent", R"(["/nosuch"])") == "{}");
  CHECK(m.ret("disk.percent").find(R"("/": ")") != std::string::npos);
  CHECK(m.sentence("disk.usage", R"(["z"])") == "ERROR: Invalid flag passed to disk.usage");
  CHECK(m.sentence("disk.inodeusage", R"([["kk"]])") == "ERROR: Invalid flag passed to disk.inodeusage");
  CHECK(m.sentence("disk.usage", R"([["k", "h"]])") ==
        "ERROR: disk.usage: found the flag h, of df's flags only k, P and v are known here");
}

TEST_CASE("what may wait for a file system or for who knows users is not quick") {
  test::Execution m;
  for (const char* name : {"disk.usage", "status.diskusage", "status.all_status", "status.procs",
                           "file.stats", "file.read", "file.uid_to_user", "file.write"}) {
    CHECK_FALSE(m.modules().is_quick(name));
  }
  for (const char* name : {"status.uptime", "network.interfaces", "pillar.get", "config.get", "file.join"}) {
    CHECK(m.modules().is_quick(name));
  }
}

}  // namespace
}  // namespace rest_fcgi::embedded
