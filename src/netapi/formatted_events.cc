// SPDX-License-Identifier: MIT
#include "netapi/formatted_events.h"

#include <algorithm>
#include <utility>

#include "netapi/request.h"

namespace rest_fcgi::netapi {
namespace {

using Kind = JsonValue::Kind;

std::string json_of(std::optional<JsonValue> value) {
  return value ? value->json().text() : std::string("null");
}

struct Subject {
  enum class Is { nothing, new_job, returned, key, auth, presence, start };
  Is is = Is::nothing;
  std::string jid{}, minion{};
  std::string_view what{};
};

Subject subject_of(std::string_view tag) {
  using Is = Subject::Is;
  // Skips most events early, because they do not change the view.
  const bool ours = tag.starts_with("salt/") || tag.starts_with("syndic/");
  if (!ours) return {};
  const std::vector<std::string> parts = parts_of(tag);
  if (parts.size() < 2) return {};
  const std::string& kind = parts[1];
  if (kind == "key" && parts.size() == 2) return {Is::key};
  if (kind == "auth" && parts.size() == 2) return {Is::auth};
  if (kind == "presence" && parts.size() == 3) {
    return {Is::presence, {}, {}, parts[2] == "present" ? "present" : parts[2] == "change" ? "change" : ""};
  }
  if (kind == "minion" && parts.size() == 4 && parts[3] == "start") return {Is::start, {}, parts[2]};
  if (kind != "job" || parts.size() < 4) return {};
  if (parts[3] == "new" && parts.size() == 4) return {Is::new_job, parts[2]};
  if (parts[3] == "ret" && parts.size() == 5) return {Is::returned, parts[2], parts[4]};
  return {};
}

constexpr std::string_view kNoAnswer = R"({"success": false})";

}  // namespace

void FormattedEvents::apply(std::string_view tag, std::string_view data) {
  const Subject subject = subject_of(tag);
  if (subject.is == Subject::Is::nothing || !document_.parse(data, JsonLimits::none())) return;
  const JsonValue root = document_.root();
  drop_old_jobs();
  switch (subject.is) {
    case Subject::Is::new_job:
      return start_job(subject.jid, root);
    case Subject::Is::returned:
      return add_return(subject.jid, subject.minion, root);
    case Subject::Is::presence:
      return presence(subject.what, root);
    case Subject::Is::key:
    case Subject::Is::auth:
      return key_event(root);
    case Subject::Is::start:
      return minion_start(subject.minion);
    case Subject::Is::nothing:
      break;
  }
}

void FormattedEvents::start(JsonValue grains) {
  for (const JsonMember minion : grains.members()) set_grains(std::string(minion.key), minion.value);
  minions_changed_ = true;
}

FormattedEvents::Job* FormattedEvents::find_job(std::string_view jid) {
  const auto is_it = [jid](const Job& job) { return job.jid == jid; };
  const auto found = std::find_if(jobs_.rbegin(), jobs_.rend(), is_it);
  return found == jobs_.rend() ? nullptr : &*found;
}

FormattedEvents::Job& FormattedEvents::job_of(const std::string& jid) {
  Job* const known = find_job(jid);
  return known != nullptr ? *known : jobs_.emplace_back(Job{jid});
}

void FormattedEvents::update_totals(Job& job) {
  job_bytes_ -= job.bytes;
  job.bytes =
      2 * job.jid.size() + job.start_time.size() + job.fun.size() + job.tgt.size() + job.tgt_type.size();
  bool all = !job.minions.empty();
  for (const auto& [id, answer] : job.minions) {
    job.bytes += id.size() + std::max(answer.size(), kNoAnswer.size());
    all = all && !answer.empty();
  }
  job_bytes_ += job.bytes;
  if (all && !job.finished) job.finished = clock_.steady();
  if (!all) job.finished.reset();
  jobs_changed_ = true;
}

/// A return that is too large becomes null. REQUIRES: the caller calls `update_totals` afterwards.
void FormattedEvents::set_answer(Job& job, std::string_view minion, JsonValue answer) {
  const auto written = [&](bool with_value) {
    std::string text;
    JsonWriter writer(text);
    writer.begin_object();
    for (const std::string_view key : {"success", "return", "retcode"}) {
      const auto value = answer.find(key);
      if (!value) continue;
      writer.key(key);
      if (with_value || key != "return") {
        value->write(writer);
      } else {
        writer.null();
      }
    }
    writer.end_object();
    return text;
  };
  std::string text = written(true);
  if (job.bytes + text.size() > limits_.max_job_bytes) text = written(false);
  job.bytes += text.size();
  job_bytes_ += text.size();
  job.minions.insert_or_assign(std::string(minion), std::move(text));
}

void FormattedEvents::start_job(const std::string& jid, JsonValue data) {
  const auto minions = data.find("minions");
  if (!minions || !minions->is(Kind::array)) return;
  Job& job = job_of(jid);
  job.start_time = json_of(data.find("_stamp"));
  job.fun = json_of(data.find("fun"));
  job.tgt = json_of(data.find("tgt"));
  job.tgt_type = json_of(data.find("tgt_type"));
  for (const JsonValue minion : minions->elements()) job.minions.try_emplace(std::string(minion.text()));
  update_totals(job);
  drop_old_jobs();
}

void FormattedEvents::add_return(const std::string& jid, const std::string& minion, JsonValue data) {
  const auto value = data.find("return");
  const auto retcode = data.find("retcode");
  const auto success = data.find("success");
  if (!value || !retcode || !success) return;
  if (find_job(jid) == nullptr) unknown_jobs_.push_back(jid);
  Job& job = job_of(jid);
  if (job.fun == "null") job.fun = json_of(data.find("fun"));
  set_answer(job, minion, data);
  update_totals(job);
  drop_old_jobs();
  if (data.find("fun").value_or(JsonValue()).text() != "grains.items" || !value->is(Kind::object)) return;
  set_grains(minion, *value);
  minions_changed_ = true;
}

void FormattedEvents::fill_in_job(const std::string& jid, JsonValue listed) {
  Job* const found = find_job(jid);
  if (found == nullptr || !listed.is(Kind::object) || listed.find("Error")) return;
  Job& job = *found;
  job.start_time = json_of(listed.find("StartTime"));
  job.fun = json_of(listed.find("Function"));
  job.tgt = json_of(listed.find("Target"));
  job.tgt_type = json_of(listed.find("Target-type"));
  for (const JsonValue minion : listed.find("Minions").value_or(JsonValue()).elements()) {
    job.minions.try_emplace(std::string(minion.text()));
  }
  for (const JsonMember one : listed.find("Result").value_or(JsonValue()).members()) {
    const auto known = job.minions.find(one.key);
    if (known == job.minions.end() || known->second.empty()) set_answer(job, one.key, one.value);
  }
  update_totals(job);
}

void FormattedEvents::drop_old_jobs() {
  const SteadyTime now = clock_.steady();
  const auto forget = [this](std::list<Job>::iterator at) {
    job_bytes_ -= at->bytes;
    return jobs_.erase(at);
  };
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    const bool old = at->finished && now - *at->finished >= limits_.keep_finished;
    at = old ? forget(at) : std::next(at);
  }
  // Keeps the last job even if the job exceeds the limits, because the job has just changed.
  const auto too_much = [this] {
    return jobs_.size() > 1 && (jobs_.size() > limits_.max_jobs || job_bytes_ > limits_.max_job_bytes);
  };
  for (const bool any : {false, true}) {
    for (auto at = jobs_.begin(); too_much() && at != std::prev(jobs_.end());) {
      at = any || at->finished ? forget(at) : std::next(at);
    }
  }
}

bool FormattedEvents::add_minion(std::string_view id) {
  if (id.empty() || minions_.size() >= limits_.max_minions) return false;
  return minions_.try_emplace(std::string(id)).second;
}

bool FormattedEvents::drop_minion(std::string_view id) {
  const auto found = minions_.find(id);
  if (found == minions_.end()) return false;
  grain_bytes_ -= found->second.size();
  minions_.erase(found);
  return true;
}

void FormattedEvents::set_grains(const std::string& id, JsonValue grains) {
  static_cast<void>(add_minion(id));
  const auto found = minions_.find(id);
  if (found == minions_.end()) return;
  std::string& known = found->second;
  grain_bytes_ -= known.size();
  known = grains.is(Kind::object) ? grains.json().text() : std::string();
  if (grain_bytes_ + known.size() > limits_.max_grain_bytes) known.clear();
  grain_bytes_ += known.size();
}

/// Handles `salt/key` and `salt/auth`. The master sends `salt/auth` when it accepts a key automatically.
void FormattedEvents::key_event(JsonValue data) {
  const std::string_view act = data.find("act").value_or(JsonValue()).text();
  const std::string_view id = data.find("id").value_or(JsonValue()).text();
  const bool changed = (act == "accept" && add_minion(id)) || (act == "delete" && drop_minion(id));
  minions_changed_ = minions_changed_ || changed;
}

/// A started minion can return the grains that the view does not have yet.
void FormattedEvents::minion_start(const std::string& id) {
  const auto found = minions_.find(id);
  if (found != minions_.end() && found->second.empty()) new_minions_.push_back(id);
}

void FormattedEvents::presence(std::string_view what, JsonValue data) {
  const bool is_all = what == "present";
  if (!is_all && (what != "change" || !style_.hears_presence_changes)) return;
  const auto come = data.find(is_all ? "present" : "new");
  if (!come || !come->is(Kind::array)) return;
  bool changed = false;
  std::set<std::string, std::less<>> here;
  for (const JsonValue id : come->elements()) {
    here.emplace(id.text());
    if (!add_minion(id.text())) continue;
    changed = true;
    new_minions_.emplace_back(id.text());
  }
  std::vector<std::string> gone;
  if (is_all) {
    for (const auto& [id, grains] : minions_) {
      if (!here.contains(id)) gone.push_back(id);
    }
  }
  for (const JsonValue id : data.find("lost").value_or(JsonValue()).elements()) gone.emplace_back(id.text());
  for (const std::string& id : gone) changed = drop_minion(id) || changed;
  minions_changed_ = minions_changed_ || changed;
}

std::vector<std::string> FormattedEvents::take_frames() {
  std::vector<std::string> frames;
  if (std::exchange(jobs_changed_, false)) frames.push_back(jobs_frame());
  if (std::exchange(minions_changed_, false)) frames.push_back(minions_frame());
  return frames;
}

std::vector<std::string> FormattedEvents::take_new_minions() {
  return std::exchange(new_minions_, {});
}

std::vector<std::string> FormattedEvents::take_unknown_jobs() {
  return std::exchange(unknown_jobs_, {});
}

std::string FormattedEvents::jobs_frame() const {
  std::string frame;
  JsonWriter writer(frame);
  writer.begin_object().key("jobs").begin_object();
  for (const Job& job : jobs_) {
    writer.key(job.jid).begin_object().key("jid").string(job.jid).key("start_time").raw(job.start_time);
    writer.key("minions").begin_object();
    for (const auto& [id, answer] : job.minions) writer.key(id).raw(answer.empty() ? kNoAnswer : answer);
    writer.end_object().key("fun").raw(job.fun).key("tgt").raw(job.tgt).key("tgt_type").raw(job.tgt_type);
    writer.key("state").string(job.finished ? "complete" : "running").end_object();
  }
  writer.end_object().end_object();
  return frame.append(style_.end);
}

std::string FormattedEvents::minions_frame() const {
  std::string frame;
  JsonWriter writer(frame);
  writer.begin_object().key("minions");
  style_.minions_are_listed ? writer.begin_array() : writer.begin_object();
  for (const auto& [id, grains] : minions_) {
    if (!style_.minions_are_listed) writer.key(id);
    writer.begin_object();
    if (!grains.empty()) writer.key("grains").raw(grains);
    writer.key("id").string(id).end_object();
  }
  style_.minions_are_listed ? writer.end_array() : writer.end_object();
  writer.end_object();
  return frame.append(style_.end);
}

}  // namespace rest_fcgi::netapi
