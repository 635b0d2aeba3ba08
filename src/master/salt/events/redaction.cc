// SPDX-License-Identifier: MIT
#include "master/salt/events/redaction.h"

#include "master/salt/events/event.h"

namespace rest_fcgi::salt {
Redaction::Redaction(std::string_view tag) : kind_(kind_of(tag)) {}

Redaction::Kind Redaction::kind_of(std::string_view tag) noexcept {
  if (tag == "_salt_error" || tag == "salt/job/error") return Kind::error;
  if (tag.starts_with("cluster/")) return Kind::cluster;
  const auto job = job_tag(tag);
  if (!job || job->of != JobTag::Of::job) return Kind::any;
  if (job->rest.empty() || job->rest.starts_with("ret/")) return Kind::job_return;
  if (job->rest.starts_with("prog/")) return Kind::progress;
  return job->rest == "error" ? Kind::error : Kind::any;
}

Discretion::Verdict Redaction::of_member(std::string_view key, std::size_t depth) const {
  const bool returned = (kind_ == Kind::job_return && depth == 1 && (key == "return" || key == "retcode")) ||
                        (kind_ == Kind::progress && depth == 2 && (key == "return" || key == "ret"));
  if (returned) return Verdict::show;
  const bool here = (kind_ == Kind::error && (key == "key" || key == "eauth")) ||
                    (kind_ == Kind::cluster && key == "payload");
  return here || master::names_a_secret(key) ? Verdict::hide : Verdict::look_inside;
}

std::size_t Redaction::shown_bytes(std::string_view text) const {
  return master::shown_bytes(text);
}

}  // namespace rest_fcgi::salt
