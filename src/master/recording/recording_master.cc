// SPDX-License-Identifier: MIT
#include <string>
#include <utility>
#include <vector>

#include "master/recording/recorder.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/master/recording/recording.h"

namespace rest_fcgi::recording {
namespace {

using master::Permit;
using master::Publication;

Json list_of(const std::vector<std::string>& ids) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_array();
  for (const std::string& id : ids) writer.string(id);
  writer.end_array();
  return Json::trusted(std::move(text));
}

returner::Load load_of(const Permit& permit, const Publication& publication, const master::Job& job) {
  const lowstate::LocalCall& call = permit.chunk().local();
  returner::Load load;
  load.jid = job.jid;
  load.fun = lowstate::published_functions(call);
  load.arg = lowstate::published_arguments(call);
  load.tgt = publication.only ? list_of(*publication.only) : call.target.as_sent.json();
  load.tgt_type = lowstate::name_of(publication.only ? lowstate::TargetType::list : call.target.type);
  load.user = permit.user();
  if (call.metadata) load.metadata = call.metadata->json();
  load.minions = job.minions;
  return load;
}

/// Records what is published, and leaves all else to the master behind it. Thread-safe, as that is.
class RecordingMaster final : public master::Master {
 public:
  RecordingMaster(std::shared_ptr<master::Master> behind, std::shared_ptr<JobRecorder> recorder)
      : behind_(std::move(behind)), recorder_(std::move(recorder)) {}

  [[nodiscard]] Result<Permit> admit(const lowstate::Chunk& chunk, SteadyTime deadline) override {
    return behind_->admit(chunk, deadline);
  }
  [[nodiscard]] Result<master::Job> publish(const Permit& permit, const Publication& publication,
                                            std::shared_ptr<master::Returns> returns) override {
    if (publication.what != Publication::What::call) return behind_->publish(permit, publication, returns);
    return record(permit, publication, returns);
  }
  /// Not asynchronously there: its returns are listened to.
  [[nodiscard]] Result<master::Job> publish_async(const Permit& permit) override {
    return record(permit, {}, nullptr);
  }
  [[nodiscard]] Result<master::Started> runner(const Permit& permit,
                                               std::shared_ptr<master::RunnerReturns> returns) override {
    return behind_->runner(permit, std::move(returns));
  }
  [[nodiscard]] Result<master::Started> runner_async(const Permit& permit) override {
    return behind_->runner_async(permit);
  }
  [[nodiscard]] Result<master::WheelReply> wheel(const Permit& permit) override {
    return behind_->wheel(permit);
  }
  [[nodiscard]] Result<master::Started> wheel_async(const Permit& permit) override {
    return behind_->wheel_async(permit);
  }
  [[nodiscard]] Result<Secret> make_token(const auth::Credentials& credentials) override {
    return behind_->make_token(credentials);
  }

 private:
  [[nodiscard]] Result<master::Job> record(const Permit& permit, const Publication& publication,
                                           const std::shared_ptr<master::Returns>& listener) {
    const auto recorded = std::make_shared<RecordedJob>(recorder_->caches(), listener);
    auto tap = std::make_shared<master::Returns>(
        [recorded](master::Delivery delivery) { recorded->hear(std::move(delivery)); });
    Result<master::Job> job = behind_->publish(permit, publication, tap);
    if (!job || job->jid.empty()) return job;
    recorded->begin(load_of(permit, publication, *job));
    recorder_->hold(recorded, std::move(tap));
    return job;
  }

  const std::shared_ptr<master::Master> behind_;
  const std::shared_ptr<JobRecorder> recorder_;
};

}  // namespace

std::shared_ptr<master::Master> make_master(std::shared_ptr<master::Master> master,
                                            std::shared_ptr<Recorder> recorder) {
  return std::make_shared<RecordingMaster>(std::move(master),
                                           std::static_pointer_cast<JobRecorder>(std::move(recorder)));
}

}  // namespace rest_fcgi::recording
