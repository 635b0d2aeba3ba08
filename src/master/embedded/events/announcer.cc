// SPDX-License-Identifier: MIT
#include "master/embedded/events/announcer.h"

#include <chrono>
#include <utility>

#include "master/embedded/text.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::embedded {

namespace {

constexpr std::chrono::seconds kStartTime{5};  // for a cluster to answer

}  // namespace

/// Adds the events of a job cache that hosts share to the log.
class Announcer::Cluster : public returner::ClusterListener {
 public:
  explicit Cluster(Announcer& owner) : owner_(owner) {}

  bool wanted() override { return owner_.log_->wanted(); }

  void job(const returner::Load& load) override {
    owner_.keep(is_master_call(load) ? master_new_event(load, owner_.now())
                                     : job_new_event(load, {}, owner_.now()));
  }

  void returned(const returner::Load& load, const returner::JobReturn& ret) override {
    if (!is_master_call(load)) {
      const master::Return of_minion{ret.minion, ret.ret, ret.retcode, ret.success, ret.out};
      return owner_.keep(job_ret_event(load, of_minion, owner_.now()));
    }
    // Runners and wheels are kept with their whole event.
    const JsonDocument event = own_document(ret.ret);
    owner_.keep(master_ret_event(load, member_of(event.root(), "return").json(), ret.success, owner_.now()));
  }

  void event(std::string_view tag, const Json& data, std::string_view user) override {
    owner_.log_->append(tag, data, user);
  }

  void lost(const std::string& reason) override { owner_.log_->lose(reason); }

 private:
  Announcer& owner_;
};

Announcer::Announcer(std::shared_ptr<master::EventLog> log, const Clock& clock)
    : log_(std::move(log)), clock_(clock), cluster_(std::make_unique<Cluster>(*this)) {}

Announcer::~Announcer() = default;

void Announcer::watch(returner::Returner& cache) {
  if (auto made = cache.watch(*cluster_)) {
    watch_ = *std::move(made);
  } else {
    log::warning(format("event streams show no events of other hosts: {}", made.error().message));
  }
}

Result<std::unique_ptr<master::EventReader>> Announcer::reader(const master::EventPermit& permit,
                                                               std::string_view after) {
  if (watch_) {
    Result<void> started = watch_->start(std::chrono::steady_clock::now() + kStartTime);
    if (!started) return std::move(started).error();
  }
  return log_->reader(permit, after);
}

bool Announcer::wanted() {
  return log_ && (log_->wanted() || watch_);
}

void Announcer::tell(const EventText& event) {
  keep(event);
  if (watch_) watch_->publish(event.tag, event.data, event.user);
}

void Announcer::job_new(const returner::Load& load, const std::vector<std::string>& missing) {
  if (!watch_ && wanted()) tell(job_new_event(load, missing, now()));
}

void Announcer::job_ret(const returner::Load& load, const master::Return& ret) {
  if (!watch_ && wanted()) tell(job_ret_event(load, ret, now()));
}

void Announcer::master_new(const returner::Load& load, Kept kept) {
  if ((!watch_ || kept == Kept::no) && wanted()) tell(master_new_event(load, now()));
}

void Announcer::master_ret(const returner::Load& load, const Json& ret, bool success, Kept kept) {
  if ((!watch_ || kept == Kept::no) && wanted()) tell(master_ret_event(load, ret, success, now()));
}

void Announcer::minion_start(std::string_view id) {
  if (!wanted()) return;
  for (const EventText& event : minion_start_events(id, now())) tell(event);
}

void Announcer::minion_gone(std::string_view id) {
  if (wanted()) tell(minion_gone_event(id, now()));
}

void Announcer::fire(std::string_view tag, const JsonValue& data) {
  if (wanted()) tell(fired_event(tag, data, now()));
}

}  // namespace rest_fcgi::embedded
