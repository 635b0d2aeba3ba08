// SPDX-License-Identifier: MIT
#include "master/salt/events/job_owners.h"

#include <utility>

#include "master/salt/packed/packed.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::salt {
namespace {

/// What a master of 3006 and 3007 writes where it does not know who it was: the name may be somebody's.
constexpr std::string_view kUnknown = "UNKNOWN";

std::string key_of(const JobTag& job) {
  return format("{}{}", static_cast<int>(job.of), job.jid);
}

}  // namespace

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
  if (order_.size() <= most_) return;
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

}  // namespace rest_fcgi::salt
