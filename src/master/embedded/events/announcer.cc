// SPDX-License-Identifier: MIT
#include "master/embedded/events/announcer.h"

#include <chrono>
#include <ctime>
#include <utility>

#include "master/embedded/text.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/jid.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/master/secrets.h"

namespace rest_fcgi::embedded {

struct EventText {
  std::string tag;
  Json data;
  std::string user{};
};

namespace {

/// In a list of arguments, an object with this key has keyword arguments.
constexpr std::string_view kMark = "__kwarg__";

enum class Marks { kept, dropped };

struct Redaction {
  Marks marks = Marks::kept;
  master::TextKind texts = master::TextKind::argument;
};

void write_without_secrets(JsonWriter& writer, const JsonValue& value, const Redaction& redaction);

bool is_secret(std::string_view key, const JsonValue& value) {
  using Kind = JsonValue::Kind;
  if (value.is(Kind::null) || value.is(Kind::boolean)) return false;
  const master::Secrecy secrecy = master::secrecy_of(key);
  if (secrecy != master::Secrecy::hidden_but_count) return secrecy == master::Secrecy::hidden;
  const bool is_count = value.is(Kind::string) ? master::is_count(value.text())
                                               : !value.is(Kind::array) && !value.is(Kind::object);
  return !is_count;
}

void write_member(JsonWriter& writer, const JsonMember& member, const Redaction& redaction) {
  const auto& [key, value] = member;
  if (redaction.marks == Marks::dropped && key == kMark) return;
  // Hides secrets in the key, too. If a client sends JSON with the Content-Type of a form, the whole JSON
  // text becomes one key.
  writer.key(master::without_secrets(key, redaction.texts).value_or(std::string(key)));
  const bool tells = !value.is(JsonValue::Kind::null) && !value.is(JsonValue::Kind::boolean);
  if (is_secret(key, value) || (tells && key == "eauth")) {
    writer.string(master::kHidden);
  } else {
    write_without_secrets(writer, value, redaction);
  }
}

void write_without_secrets(JsonWriter& writer, const JsonValue& value, const Redaction& redaction) {
  switch (value.kind()) {
    case JsonValue::Kind::array:
      writer.begin_array();
      for (const JsonValue element : value.elements()) write_without_secrets(writer, element, redaction);
      writer.end_array();
      return;
    case JsonValue::Kind::object:
      writer.begin_object();
      for (const JsonMember member : value.members()) write_member(writer, member, redaction);
      writer.end_object();
      return;
    case JsonValue::Kind::string:
      if (const auto shown = master::without_secrets(value.text(), redaction.texts)) {
        writer.string(*shown);
        return;
      }
      [[fallthrough]];
    default:
      value.write(writer);
  }
}

Json without_secrets(const Json& value, Marks marks) {
  if (value.text() == "[]") return value;
  const JsonDocument document = own_document(value);
  return written_json([&](JsonWriter& writer) { write_without_secrets(writer, document.root(), {marks}); });
}

constexpr std::string_view kWheel = "\"wheel.";

bool is_wheel(const returner::Load& load) {
  return load.fun.text().starts_with(kWheel);
}

std::string function_names(const Json& fun) {
  std::string names;
  for (const char c : fun.text()) {
    if (c != '"' && c != '[' && c != ']' && c != ' ') names += c;
  }
  return names;
}

std::string tag_of(const returner::Load& load) {
  return format("salt/{}/{}", is_wheel(load) ? "wheel" : "run", load.jid);
}

void write_master_call(JsonWriter& writer, const returner::Load& load, WallTime now) {
  writer.key("fun").json(load.fun).key("jid").string(load.jid).key("user").string(load.user);
  writer.key("fun_args").json(without_secrets(load.arg, Marks::dropped)).key("_stamp").string(iso_stamp(now));
}

void write_time(JsonWriter& writer, WallTime now) {
  writer.key("_stamp").string(iso_stamp(now));
  writer.key("ts").integer(std::chrono::system_clock::to_time_t(now));
}

std::string asctime_of(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &parts)};
}

EventText job_new_event(const returner::Load& load, const std::vector<std::string>& missing, WallTime now) {
  Json data = written_object([&](JsonWriter& writer) {
    writer.key("jid").string(load.jid).key("tgt_type").string(load.tgt_type).key("tgt").json(load.tgt);
    writer.key("user").string(load.user).key("fun").json(load.fun);
    writer.key("arg").json(without_secrets(load.arg, Marks::kept));
    write_strings(writer.key("minions"), load.minions);
    write_strings(writer.key("missing"), missing);
    writer.key("_stamp").string(iso_stamp(now));
  });
  return {format("salt/job/{}/new", load.jid), std::move(data), load.user};
}

EventText job_ret_event(const returner::Load& load, const master::Return& ret, WallTime now) {
  Json data = written_object([&](JsonWriter& writer) {
    writer.key("cmd").string("_return").key("id").string(ret.minion).key("success");
    if (ret.retcodes) {
      const JsonDocument retcodes = own_document(*ret.retcodes);
      writer.begin_object();
      for (const auto& [function, code] : retcodes.root().members()) {
        writer.key(function).boolean(code.integer() == 0);
      }
      writer.end_object();
    } else {
      writer.boolean(ret.success);
    }
    writer.key("return").json(ret.ret).key("retcode");
    writer.json(ret.retcodes ? *ret.retcodes : Json::integer(ret.retcode));
    if (!ret.out.empty()) writer.key("out").string(ret.out);
    writer.key("jid").string(load.jid).key("fun").json(load.fun);
    writer.key("fun_args").json(without_secrets(load.arg, Marks::dropped)).key("user").string(load.user);
    if (load.metadata) writer.key("metadata").json(without_secrets(*load.metadata, Marks::kept));
    write_time(writer, now);
  });
  return {format("salt/job/{}/ret/{}", load.jid, ret.minion), std::move(data), load.user};
}

EventText master_new_event(const returner::Load& load, WallTime now) {
  return {tag_of(load) + "/new",
          written_object([&](JsonWriter& writer) { write_master_call(writer, load, now); }), load.user};
}

EventText master_ret_event(const returner::Load& load, const Json& ret, bool success, WallTime now) {
  Json data = written_object([&](JsonWriter& writer) {
    write_master_call(writer, load, now);
    writer.key("return").json(without_secrets(ret, Marks::kept)).key("success").boolean(success);
    if (!success) writer.key("retcode").integer(1);
  });
  return {tag_of(load) + "/ret", std::move(data), load.user};
}

std::vector<EventText> minion_start_events(std::string_view id, WallTime now) {
  std::vector<EventText> events;
  events.push_back({"salt/auth", written_object([&](JsonWriter& writer) {
                      writer.key("result").boolean(true).key("act").string("accept").key("id").string(id);
                      writer.key("pub").string("").key("_stamp").string(iso_stamp(now));
                    })});
  for (const std::string& tag : {std::string("minion_start"), format("salt/minion/{}/start", id)}) {
    events.push_back({tag, written_object([&](JsonWriter& writer) {
                        writer.key("id").string(id).key("cmd").string("_minion_event").key("pretag").null();
                        writer.key("data").string(format("Minion {} started at {}", id, asctime_of(now)));
                        write_time(writer.key("tag").string(tag), now);
                      })});
  }
  return events;
}

}  // namespace

bool is_master_call(const returner::Load& load) {
  const bool is_named = load.fun.text().starts_with("\"runner.") || load.fun.text().starts_with(kWheel);
  // Another program may save the load of a runner or wheel without minions. For such a load, the function's
  // name decides.
  if (!is_named || load.minions.empty()) return is_named;
  return load.minions.size() == 1 && load.minions.front().ends_with("_master");
}

/// Adds events to the event log when the job cache reports new jobs and returns.
class Announcer::ClusterEvents : public returner::ClusterListener {
 public:
  explicit ClusterEvents(Announcer& owner) : owner_(owner) {}

  bool wanted() override { return owner_.log_->wanted(); }

  void job(const returner::Load& load) override {
    owner_.append(is_master_call(load) ? master_new_event(load, owner_.now())
                                       : job_new_event(load, {}, owner_.now()));
  }

  void returned(const returner::Load& load, const returner::JobReturn& ret) override {
    if (!is_master_call(load)) {
      const master::Return of_minion{ret.minion, ret.ret, ret.retcode, ret.success, ret.out};
      return owner_.append(job_ret_event(load, of_minion, owner_.now()));
    }
    // For a runner or wheel, the job cache stores the event's whole data. Its member `return` is the
    // function's return.
    const JsonDocument event = own_document(ret.ret);
    owner_.append(
        master_ret_event(load, member_of(event.root(), "return").json(), ret.success, owner_.now()));
  }

  void event(std::string_view tag, const Json& data, std::string_view user) override {
    owner_.log_->append(tag, data, user);
  }

  void lost(const std::string& reason) override { owner_.log_->lose(reason); }

 private:
  Announcer& owner_;
};

Announcer::Announcer(std::shared_ptr<master::EventLog> log, const Clock& clock)
    : log_(std::move(log)), clock_(clock), cluster_events_(std::make_unique<ClusterEvents>(*this)) {}

Announcer::~Announcer() = default;

void Announcer::watch(returner::Returner& cache) {
  if (auto made = cache.watch(*cluster_events_)) {
    watch_ = *std::move(made);
  } else {
    log::warning(format("event streams show no events of other hosts: {}", made.error().message));
  }
}

Result<std::unique_ptr<master::EventReader>> Announcer::reader(const master::EventPermit& permit,
                                                               std::string_view after) {
  constexpr std::chrono::seconds kStartTime{5};
  if (watch_) {
    Result<void> started = watch_->start(std::chrono::steady_clock::now() + kStartTime);
    if (!started) return std::move(started).error();
  }
  return log_->reader(permit, after);
}

void Announcer::append(const EventText& event) {
  log_->append(event.tag, event.data, event.user);
}

void Announcer::announce(const EventText& event) {
  append(event);
  if (watch_) watch_->publish(event.tag, event.data, event.user);
}

void Announcer::job_new(const returner::Load& load, const std::vector<std::string>& missing) {
  if (observer_) observer_->job_new(function_names(load.fun), load.minions.size());
  if (!watch_ && needs_events()) announce(job_new_event(load, missing, now()));
}

void Announcer::job_ret(const returner::Load& load, const master::Return& ret) {
  if (observer_) observer_->returned(ret.minion, function_names(load.fun), ret.success);
  if (!watch_ && needs_events()) announce(job_ret_event(load, ret, now()));
}

void Announcer::master_new(const returner::Load& load, InJobCache in_job_cache) {
  if (observer_ && !is_wheel(load)) observer_->job_new(function_names(load.fun), 0);
  if (watch_ && in_job_cache == InJobCache::yes) return;
  if (needs_events()) announce(master_new_event(load, now()));
}

void Announcer::master_ret(const returner::Load& load, const Json& ret, bool success,
                           InJobCache in_job_cache) {
  if (observer_ && !is_wheel(load)) observer_->returned("master", function_names(load.fun), success);
  if (watch_ && in_job_cache == InJobCache::yes) return;
  if (needs_events()) announce(master_ret_event(load, ret, success, now()));
}

void Announcer::minion_start(std::string_view id) {
  if (observer_) observer_->minion_start(id);
  if (!needs_events()) return;
  for (const EventText& event : minion_start_events(id, now())) announce(event);
}

void Announcer::minion_gone(std::string_view id) {
  if (observer_) observer_->minion_gone(id);
  if (!needs_events()) return;
  announce({"salt/key", written_object([&](JsonWriter& writer) {
              writer.key("result").boolean(true).key("act").string("delete").key("id").string(id);
              writer.key("_stamp").string(iso_stamp(now()));
            })});
}

void Announcer::fire(std::string_view tag, const JsonValue& data) {
  if (!needs_events()) return;
  constexpr std::string_view kStamp = "_stamp";
  const Redaction redaction{Marks::kept, master::TextKind::plain};
  announce({std::string(tag), written_object([&](JsonWriter& writer) {
              for (const JsonMember member : data.members()) {
                if (member.key != kStamp) write_member(writer, member, redaction);
              }
              writer.key(kStamp).string(iso_stamp(now()));
            })});
}

}  // namespace rest_fcgi::embedded
