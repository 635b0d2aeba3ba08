// SPDX-License-Identifier: MIT
#include "master/salt/events/bus_log.h"

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/master/secrets.h"

namespace rest_fcgi::salt {
namespace {

/// The user name that Salt 3006 and 3007 write for an unknown user. A real user may have the same name, so a
/// job of this user has no owner.
constexpr std::string_view kUnknown = "UNKNOWN";

std::string key_of(const JobTag& job) {
  return format("{}{}", static_cast<int>(job.of), job.jid);
}

Json data_of(const Event& event) {
  std::string text;
  const EventRedactor redaction(event.tag);
  const auto written = append_json(event.data, text, &redaction, master::kMaxEventDepth);
  if (written && text.starts_with('{')) return Json::trusted(std::move(text));
  return written_object([&written](JsonWriter& writer) {
    writer.key("error").string(written ? "The data of this event is not a map." : written.error().message);
  });
}

}  // namespace

EventRedactor::EventRedactor(std::string_view tag)
    : kind_(kind_of(tag)),
      texts_(kind_ == Kind::error || job_tag(tag) ? master::TextKind::argument : master::TextKind::plain) {}

EventRedactor::Kind EventRedactor::kind_of(std::string_view tag) noexcept {
  if (tag == "_salt_error" || tag == "salt/job/error") return Kind::error;
  if (tag.starts_with("cluster/")) return Kind::cluster;
  const auto job = job_tag(tag);
  if (!job || job->of != JobTag::Of::job) return Kind::any;
  if (job->rest.empty() || job->rest.starts_with("ret/")) return Kind::job_return;
  if (job->rest.starts_with("prog/")) return Kind::progress;
  return job->rest == "error" ? Kind::error : Kind::any;
}

Redactor::Verdict EventRedactor::of_member(std::string_view key, std::size_t depth) const {
  const bool returned = (kind_ == Kind::job_return && depth == 1 && (key == "return" || key == "retcode")) ||
                        (kind_ == Kind::progress && depth == 2 && (key == "return" || key == "ret"));
  if (returned) return Verdict::show;
  const bool here = (kind_ == Kind::error && (key == "key" || key == "eauth")) ||
                    (kind_ == Kind::cluster && key == "payload");
  if (here) return Verdict::hide;
  switch (master::secrecy_of(key)) {
    case master::Secrecy::shown:
      return Verdict::look_inside;
    case master::Secrecy::hidden_but_count:
      return Verdict::hide_but_count;
    case master::Secrecy::hidden:
      break;
  }
  return Verdict::hide;
}

std::optional<std::string> EventRedactor::shown(std::string_view text) const {
  return master::without_secrets(text, texts_);
}

void JobOwners::note(const Event& event) {
  if (!event.tag.ends_with("/new")) return;
  const auto job = job_tag(event.tag);
  if (!job || job->rest != "new") return;
  const auto said = Fields::read(event.data, {"cmd", "user"});
  if (!said || said->find("cmd") != nullptr) return;
  std::string user(said->text("user"));
  if (user == kUnknown) user.clear();
  const auto [known, is_new] = owners_.try_emplace(key_of(*job), user);
  if (!is_new) {
    if (known->second != user) known->second.clear();
    return;
  }
  order_.push_back(known->first);
  if (order_.size() <= max_jobs_) return;
  owners_.erase(owners_.find(order_.front()));
  order_.pop_front();
}

std::string JobOwners::owner_of(const Event& event) const {
  const auto job = job_tag(event.tag);
  const auto known = job ? owners_.find(key_of(*job)) : owners_.end();
  if (known == owners_.end() || known->second.empty()) return {};
  const auto said = Fields::read(event.data, {"cmd", "id", "user"});
  if (!said) return {};
  if (const auto* user = said->find("user"); user != nullptr && user->text != known->second) return {};
  const bool reports =
      job->of == JobTag::Of::job && job->rest.starts_with(format("prog/{}/", said->text("id")));
  return said->text("cmd") != "_minion_event" || reports ? known->second : std::string();
}

void BusLog::on_event(const Event& event) {
  owners_.note(event);
  if (log_->wanted()) log_->append(event.tag, data_of(event), owners_.owner_of(event));
}

void BusLog::on_loss() {
  log_->lose("The Salt master's event bus was lost: events may have been missed.");
}

}  // namespace rest_fcgi::salt
