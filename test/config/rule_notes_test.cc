// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "config/sections.h"
#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

/// Returns the notes about a file, one a line, without its folder.
std::string notes_on(const std::string& text) {
  const ConfigDir dir(text);
  const auto settings = dir.load();
  REQUIRE(settings);
  std::string all;
  for (const std::string& note : rule_notes(*settings)) all += dir.without_dir(note) + "\n";
  return all;
}

/// Returns the notes about one rule of alice, in line 4, without place and user.
std::string note_on(const std::string& rule, const std::string& before = "") {
  const std::string notes = notes_on(before + "external_auth:\n  pam:\n    alice:\n      - " + rule + "\n");
  const std::size_t user = notes.find("pam: alice: ");
  return notes.empty() || user == std::string::npos ? notes : notes.substr(user + 12);
}

TEST_CASE("rules that can match something are not noted") {
  for (const char* rule :
       {"test.ping", "test.*", ".*", "'test\\.(ping|echo)'", "'(test|sys)\\..*'", "'(?!cmd\\.).*'",
        "'@runner'", "'@runners'", "'@wheel'", "'@jobs'", "'@events'", "'@manage'",
        "'web*': [test.*, 'state.(apply|sls)']", "'@runner': [manage.*, jobs.list_jobs]",
        "'@jobs': [list_jobs, 'list_.*']", "'G@os:Debian and web*': test.ping", "'L@web1,web2': [test.*]",
        "'[a-z]+\\.ping'", "'@key': [list_all]"}) {
    CAPTURE(rule);
    CHECK(note_on(rule) == "");
  }
}

TEST_CASE("an @ entry that names no runner or wheel is noted") {
  for (const char* name : {"@runer", "@Runner", "@runnr", "@ runner"})
    CHECK_MESSAGE(note_on("'" + std::string(name) + "'").find("did you mean '@runner'?") != std::string::npos,
                  name);
  CHECK(note_on("'@job'").find("did you mean '@jobs'?") != std::string::npos);
  for (const char* rule :
       {"'@runner.test.print'", "'@jobs.list_jobs'", "'@somewhat_else': [x]", "'@runner: jobs'", "'@jobs.'"})
    CHECK_MESSAGE(note_on(rule) != "", rule);
  const std::string salt = "rest_fcgi: {engine: salt}\n";
  CHECK(note_on("'@somewhat_else': [x]", salt) == "");  // it may be a module of the site
  CHECK(note_on("'@runer'", salt).find("did you mean '@runner'?") != std::string::npos);
}

TEST_CASE("a function pattern or a target that matches nothing is noted") {
  for (const char* rule : {"test",
                           "'test*'",
                           "'test.'",
                           "runner",
                           "'web*'",
                           "runner.manage.up",
                           "a.b.c",
                           "'test.ping()'",
                           "'test.arg(1)'",
                           "'salt \\* test.ping'",
                           "'test.ping, test.echo'",
                           "'G@os:Debian'",
                           "'*': ['@runner']",
                           "'@jobs': [jobs.list_jobs]",
                           "'@runner': [manage]",
                           "'runner': [manage.up]",
                           "'web1,web2': [test.ping]",
                           "'^test'",
                           "'(test|sys)'",
                           "'test/ping'",
                           "'test:ping'",
                           "'^@runner$'",
                           "{'web*,db*': [test.ping]}"})
    CHECK_MESSAGE(note_on(rule) != "", rule);
  CHECK(note_on("runner").find("did you mean '@runner'?") != std::string::npos);
  CHECK(note_on("'web1,web2': [test.ping]").find("did you mean 'L@web1,web2'?") != std::string::npos);
}

TEST_CASE("names that cannot be users or groups are noted") {
  const std::string notes = notes_on(
      "external_auth:\n  pam:\n    steve|admin.*: [.*]\n    '%admins': [.*]\n    alice,bob: [.*]\n    "
      "admins%: [.*]\n"
      "    'DOM\\eve': [.*]\n    '*': [.*]\n  file:\n    ^filename: /f\n    admins%: [.*]\n");
  for (const char* beginning :
       {"master:3: external_auth: pam: \"steve|admin.*\": ", "master:4: external_auth: pam: \"%admins\": ",
        "master:5: external_auth: pam: \"alice,bob\": ", "master:11: external_auth: file: \"admins%\": "})
    CHECK_MESSAGE(notes.find(beginning) != std::string::npos, beginning);
  CHECK(notes.find("'admins%'") != std::string::npos);
  CHECK(std::count(notes.begin(), notes.end(), '\n') == 4);
}

TEST_CASE("an unknown back end is noted") {
  check_message(notes_on("external_auth:\n  PAM: {a: [.*]}\n"),
                "master:2: external_auth: \"PAM\": unknown back end");
  CHECK(notes_on("external_auth:\n  fil: {a: [.*]}\n").find("did you mean 'file'?") != std::string::npos);
  CHECK(notes_on("external_auth:\n  ldap: {a: [.*]}\n").find("did you mean") == std::string::npos);
  const std::string salt = "rest_fcgi: {engine: salt}\n";
  CHECK(notes_on(salt + "external_auth:\n  ldap: {a: [.*]}\n  ours: {a: [.*]}\n") == "");
  CHECK(notes_on(salt + "external_auth:\n  lda: {a: [.*]}\n").find("did you mean 'ldap'?") !=
        std::string::npos);
}

TEST_CASE("idle_rule_line suggests the most similar name") {
  const Settings settings = settings_of("external_auth:\n  pam:\n    alice: ['web*']\n");
  const std::string place = "master:3: external_auth: pam: alice";
  const auto line = [&](const std::string& text) {
    return idle_rule_line(settings, place, text, "no such function", {"test.ping", "test.*", "grains.items"});
  };
  CHECK(line("test.pnig") ==
        "note:     " + place + ": \"test.pnig\": no such function; did you mean 'test.ping'?\n");
  CHECK(line("tset.*") == "note:     " + place + ": \"tset.*\": no such function; did you mean 'test.*'?\n");
  CHECK(line("pkg.install") == "note:     " + place + ": \"pkg.install\": no such function\n");
}

TEST_CASE("a part of a rule has one note") {
  const Settings settings = settings_of("external_auth:\n  pam:\n    alice: ['web*']\n");
  const std::vector<std::string> notes = rule_notes(settings);
  REQUIRE(notes.size() == 1);
  const std::string place = notes[0].substr(0, notes[0].find(": \"web*\""));
  CHECK(idle_rule_line(settings, place, "web*", "no such function", {}).empty());
}

}  // namespace
}  // namespace rest_fcgi::config
