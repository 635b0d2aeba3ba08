// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "config/sections.h"
#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

/// The notes about a file, without its folder, one a line.
std::string notes_on(const std::string& text) {
  const ConfigDir dir(text);
  const auto settings = dir.load();
  REQUIRE(settings);
  std::string all;
  for (const std::string& note : rule_notes(*settings)) all += dir.without_dir(note) + "\n";
  return all;
}

/// The notes about one rule of alice, which stands in line 4; without place and user.
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

TEST_CASE("an @ entry that names no runner or wheel is noted with what was meant") {
  CHECK(
      note_on("'@runner.test.print'") ==
      "\"@runner.test.print\": matches no runner and no wheel; did you mean {'@runner': ['test.print']}?\n");
  CHECK(note_on("'@jobs.list_jobs'").find("did you mean {'@jobs': ['list_jobs']}?") != std::string::npos);
  for (const char* name : {"@runer", "@Runner", "@runnr", "@ runner"}) {
    CAPTURE(name);
    CHECK(note_on("'" + std::string(name) + "'")
              .find("no runner or wheel module has this name; did you mean '@runner'?") != std::string::npos);
  }
  CHECK(note_on("'@job'").find("did you mean '@jobs'?") != std::string::npos);
  CHECK(note_on("'@somewhat_else': [x]") == "\"@somewhat_else\": no runner or wheel module has this name\n");
  CHECK(note_on("'@somewhat_else': [x]", "rest_fcgi: {engine: salt}\n") == "");
  CHECK(note_on("'@runer'", "rest_fcgi: {engine: salt}\n").find("did you mean '@runner'?") !=
        std::string::npos);
}

TEST_CASE("functions that are none are noted with what was meant") {
  const auto has = [](const char* rule, std::string_view text) {
    CAPTURE(rule);
    const std::string note = note_on(rule);
    CAPTURE(note);
    CHECK(note.find(text) != std::string::npos);
  };
  has("test", "did you mean 'test.*'?");
  has("'test*'", "did you mean 'test.*'?");
  has("'test.'", "did you mean 'test.*'?");
  has("runner", "did you mean '@runner'?");
  has("'web*'", "did you mean 'web.*'?");
  has("runner.manage.up", "did you mean {'@runner': ['manage.up']}?");
  has("a.b.c", "no function has two dots in its name");
  has("'test.ping()'", "did you mean 'test.ping'");
  has("'test.arg(1)'", "is a pattern and no call");
  has("'salt \\* test.ping'", "no function has a space or comma in its name");
  has("'test.ping, test.echo'", "no function has a space or comma in its name");
  has("'G@os:Debian'", "did you mean the target");
  has("'*': ['@runner']", "it is an entry of the user's list");
  has("'@jobs': [jobs.list_jobs]", "did you mean 'list_jobs'?");
  has("'@runner': [manage]", "did you mean 'manage.*'?");
  has("'runner': [manage.up]", "did you mean '@runner'?");
  has("'web1,web2': [test.ping]", "did you mean 'L@web1,web2'?");
}

TEST_CASE("a note suggests nothing that allows everything, is refused or matches nothing") {
  for (const char* rule : {"'^test'",
                           "'(test|sys)'",
                           "'$'",
                           "'test|sys'",
                           "'@jobs.'",
                           "'@runner.'",
                           "'^@runner$'",
                           "'test/ping'",
                           "'test:ping'",
                           "{'@runner.jobs': [list_jobs]}",
                           "{'@runner': [list_jobs]}",
                           "'@runner: jobs'",
                           "'@runer.test.arg'",
                           "'@jobs.a.b'",
                           "'@runner.a.b.c'",
                           "runner.a.b.c",
                           "'test(1)'",
                           "{'*': [runner]}",
                           "{'*': ['G@os:Debian']}",
                           "{'@jobs': ['jobs.']}",
                           "{'web*,db*': [test.ping]}",
                           "{'@runner': ['tset*']}"}) {
    const std::string note = note_on(rule);
    CAPTURE(note);
    CHECK(note != "");
    CHECK(note.find("did you mean") == std::string::npos);
  }
  CHECK(note_on("'.'") == "");
  const std::pair<const char*, const char*> meant[] = {{"'@runner.*'", "'@runner'"},
                                                       {"'@wheel.*'", "'@wheel'"},
                                                       {"'@jobs.*'", "'@jobs'"},
                                                       {"'@runner: jobs.*'", "{'@runner': ['jobs.*']}"},
                                                       {"'@runner test.arg'", "{'@runner': ['test.arg']}"},
                                                       {"'@runner:test.arg'", "{'@runner': ['test.arg']}"},
                                                       {"'runner.jobs.*'", "{'@runner': ['jobs.*']}"},
                                                       {"{'@runner': [jobs]}", "'jobs.*'"}};
  for (const auto& pair : meant) {
    CAPTURE(pair.first);
    CHECK(note_on(pair.first).find("did you mean " + std::string(pair.second) + "?\n") != std::string::npos);
  }
  CHECK(notes_on("external_auth:\n  file: {'%admins': [.*]}\n").find("has no groups") != std::string::npos);
  CHECK(notes_on("external_auth:\n  lda: {a: [.*]}\n").find("did you mean") == std::string::npos);
}

TEST_CASE("names of users and groups that nobody has are noted") {
  const std::string notes = notes_on(
      "external_auth:\n  pam:\n    steve|admin.*: [.*]\n    '%admins': [.*]\n    alice,bob: [.*]\n    "
      "admins%: [.*]\n"
      "    'DOM\\eve': [.*]\n    '*': [.*]\n  file:\n    ^filename: /f\n    admins%: [.*]\n");
  CHECK(notes.starts_with(
      "master:3: external_auth: pam: \"steve|admin.*\": names are compared as they are written"));
  CHECK(notes.find("master:4: external_auth: pam: \"%admins\": is the name of a user; a group is written "
                   "'admins%'\n") != std::string::npos);
  CHECK(notes.find("master:5: external_auth: pam: \"alice,bob\": names are") != std::string::npos);
  CHECK(notes.find(
            "master:11: external_auth: file: \"admins%\": is a group, and the back end file has no groups") !=
        std::string::npos);
  CHECK(std::count(notes.begin(), notes.end(), '\n') == 4);
}

TEST_CASE("back ends that are not there are noted") {
  CHECK(notes_on("external_auth:\n  PAM: {a: [.*]}\n")
            .find("master:2: external_auth: \"PAM\": no login is possible through it") != std::string::npos);
  CHECK(notes_on("external_auth:\n  fil: {a: [.*]}\n").find("did you mean 'file'?") != std::string::npos);
  CHECK(notes_on("external_auth:\n  ldap: {a: [.*]}\n").find("did you mean") == std::string::npos);
  CHECK(notes_on("rest_fcgi: {engine: salt}\nexternal_auth:\n  ldap: {a: [.*]}\n  ours: {a: [.*]}\n") == "");
  CHECK(notes_on("rest_fcgi: {engine: salt}\nexternal_auth:\n  lda: {a: [.*]}\n")
            .find("did you mean 'ldap'?") != std::string::npos);
}

TEST_CASE("the line about a part of a rule that matches nothing names what was probably meant") {
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
