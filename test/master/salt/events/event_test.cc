// SPDX-License-Identifier: MIT
#include "master/salt/events/event.h"

#include <string>

#include <doctest/doctest.h>

namespace {

using namespace rest_fcgi::salt;

std::string describe_topic(std::string_view tag) {
  const auto topic = topic_of(tag);
  if (!topic) return "nothing";
  const char* const kinds[] = {"job", "begin", "runner", "syndic"};
  return std::string(kinds[static_cast<int>(topic->kind)]) + " " + std::string(topic->jid) + " " +
         std::string(topic->who);
}

TEST_CASE("topic_of reads returns of minions and runners, starts of runners, and events of syndics") {
  CHECK(describe_topic("salt/job/20261120233651543848/ret/pm-0") == "job 20261120233651543848 pm-0");
  CHECK(describe_topic("salt/job/1/ret/a/b") == "job 1 a/b");
  CHECK(describe_topic("salt/job/1/ret/ret/x") == "job 1 ret/x");
  CHECK(describe_topic("salt/run/20261120233655223239/ret") == "runner 20261120233655223239 ");
  CHECK(describe_topic("salt/run/20261120233655223239/new") == "begin 20261120233655223239 ");
  CHECK(describe_topic("syndic/syn-1/1234") == "syndic 1234 syn-1");
  CHECK(describe_topic("syndic/a/b/1234") == "syndic 1234 a/b");
}

TEST_CASE("topic_of ignores long job ids") {
  const std::string longest(64, '1');
  for (const std::string& tag :
       {"salt/job/" + longest + "/ret/m", "salt/run/" + longest + "/ret", "syndic/s/" + longest}) {
    CAPTURE(tag);
    CHECK(describe_topic(tag) != "nothing");
    CHECK(describe_topic(std::string(tag).insert(tag.find('1'), "1")) == "nothing");
  }
}

TEST_CASE("topic_of ignores other and incomplete tags") {
  for (const char* tag : {"20261120233651543848", "salt/job/1/new", "salt/job/1/publish", "salt/auth", "",
                          "salt/job/1/prog/ms-0/0", "salt/run/1/progress/ret", "salt/wheel/1/ret"}) {
    CAPTURE(tag);
    CHECK(describe_topic(tag) == "nothing");
  }
  for (const char* tag :
       {"salt/job/", "salt/job/1", "salt/job/1/", "salt/job/1/ret", "salt/job/1/ret/", "salt/job//ret/m",
        "salt/run/", "salt/run//ret", "salt/run/1", "syndic/", "syndic/s", "syndic/s/", "syndic//1"}) {
    CAPTURE(tag);
    CHECK(describe_topic(tag) == "nothing");
  }
}

std::string about(std::string_view tag) {
  const auto job = job_tag(tag);
  if (!job) return "no job";
  const char* const of[] = {"job", "runner", "wheel"};
  return std::string(of[static_cast<int>(job->of)]) + " " + std::string(job->jid) + " " +
         std::string(job->rest);
}

TEST_CASE("job_tag returns the parts of a tag") {
  CHECK(about("salt/job/1/new") == "job 1 new");
  CHECK(about("salt/job/1/ret/a/b") == "job 1 ret/a/b");
  CHECK(about("salt/run/1/any/thing") == "runner 1 any/thing");
  CHECK(about("salt/wheel/1/ret") == "wheel 1 ret");
  CHECK(about("20261120233651543848") == "job 20261120233651543848 ");
  CHECK(about("20261120233651543848_1234") == "job 20261120233651543848_1234 ");
  const std::string long_id(65, '1');
  for (const std::string& tag :
       {std::string(), std::string("key"), std::string("123"), std::string("salt/job/error"),
        std::string("salt/job/1"), std::string("salt/run//new"), std::string("salt/wheel/1/"),
        std::string("salt/auth"), std::string("syndic/s/1"), std::string("2026112023365154384x"), long_id,
        "salt/job/" + long_id + "/new"}) {
    CAPTURE(tag);
    CHECK(about(tag) == "no job");
  }
}
}  // namespace
