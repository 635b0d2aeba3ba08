// SPDX-License-Identifier: MIT
#include <utility>

#include "master/embedded/host/host_text.h"
#include "master/embedded/modules/replies.h"
#include "master/embedded/modules/service_module.h"
#include "master/embedded/modules/service_units.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded::service_module {
namespace {

/// One change of one unit. `work` is run with systemd at hand and the unit's name checked, after systemd has
/// read a unit file that has changed.
class Change {
 public:
  explicit Change(const Call& call) : call_(call), systemctl_(call) {}

  /// Absent: go on. Else what the function gives.
  std::optional<Reply> prepare() {
    if (auto missing = systemctl_.missing()) return missing;
    auto unit = unit_name(name());
    if (auto* raised = std::get_if<Raised>(&unit)) return std::move(*raised);
    unit_ = std::get<std::string>(std::move(unit));
    const auto stale = systemctl_.run({"show", "--property=NeedDaemonReload"}, unit_);
    if (const auto* raised = std::get_if<Raised>(&stale)) return *raised;
    if (stripped(std::get<SystemctlResult>(stale).output) != "NeedDaemonReload=yes") return std::nullopt;
    const auto reloaded = systemctl_.run({"daemon-reload"});
    if (const auto* raised = std::get_if<Raised>(&reloaded)) return *raised;
    return std::nullopt;
  }

  /// Undoes masks, as the arguments at these places ask.
  std::optional<Reply> unmask(std::size_t for_good, std::size_t runtime) {
    for (const bool is_runtime : {false, true}) {
      if (!flag(is_runtime ? runtime : for_good)) continue;
      Reply reply = unmask_once(is_runtime);
      if (std::holds_alternative<Raised>(reply)) return reply;
    }
    return std::nullopt;
  }

  Reply unmask_once(bool runtime) {
    if (!is_masked(systemctl_, unit_, runtime)) return Returned{Json::boolean(true)};
    return demand(with_runtime("unmask", runtime), format("Failed to unmask service '{}'", name()));
  }

  /// True, or an error: `complaint`, else what systemctl says.
  Reply demand(std::vector<std::string> words, const std::string& complaint = "") const {
    const auto ran = systemctl_.run(std::move(words), unit_);
    if (const auto* raised = std::get_if<Raised>(&ran)) return *raised;
    const auto& result = std::get<SystemctlResult>(ran);
    if (result.retcode == 0) return Returned{Json::boolean(true)};
    return command_error(complaint.empty() ? std::string(stripped(result.errors)) : complaint);
  }

  /// Whether it went well; the minion's return code tells, too, where `counts`.
  Reply attempt(std::vector<std::string> words, bool counts) const {
    const auto ran = systemctl_.run(std::move(words), unit_);
    if (const auto* raised = std::get_if<Raised>(&ran)) return *raised;
    const int retcode = std::get<SystemctlResult>(ran).retcode;
    return Returned{Json::boolean(retcode == 0), counts ? retcode : 0};
  }

  /// The action, with `--no-block` where the argument at that place asks for it.
  [[nodiscard]] std::vector<std::string> words(const char* action, std::size_t no_block) const {
    if (flag(no_block)) return {action, "--no-block"};
    return {action};
  }

  [[nodiscard]] static std::vector<std::string> with_runtime(const char* action, bool runtime) {
    if (runtime) return {action, "--runtime"};
    return {action};
  }

  [[nodiscard]] bool flag(std::size_t position) const { return python_bool(call_.arguments[position]); }
  [[nodiscard]] std::string name() const { return call_.arguments[0].python_str(); }

 private:
  const Call& call_;
  const Systemctl systemctl_;
  std::string unit_;
};

/// Arguments: name, no_block, unmask, unmask_runtime.
Reply started(const Call& call, const char* action) {
  Change change(call);
  if (auto reply = change.prepare()) return *std::move(reply);
  if (auto reply = change.unmask(2, 3)) return *std::move(reply);
  return change.demand(change.words(action, 1));
}

}  // namespace

Reply start(const Call& call) {
  return started(call, "start");
}

Reply restart(const Call& call) {
  return started(call, "restart");
}

Reply reload(const Call& call) {
  return started(call, "reload");
}

Reply force_reload(const Call& call) {
  return started(call, "force-reload");
}

Reply enable(const Call& call) {
  return started(call, "enable");
}

Reply stop(const Call& call) {
  Change change(call);
  if (auto reply = change.prepare()) return *std::move(reply);
  return change.attempt(change.words("stop", 1), true);
}

Reply disable(const Call& call) {
  Change change(call);
  if (auto reply = change.prepare()) return *std::move(reply);
  return change.attempt(change.words("disable", 1), false);
}

Reply mask(const Call& call) {
  Change change(call);
  if (auto reply = change.prepare()) return *std::move(reply);
  return change.demand(Change::with_runtime("mask", change.flag(1)),
                       format("Failed to mask service '{}'", change.name()));
}

Reply unmask(const Call& call) {
  Change change(call);
  if (auto reply = change.prepare()) return *std::move(reply);
  return change.unmask_once(change.flag(1));
}

Reply systemctl_reload(const Call& call) {
  const Systemctl systemctl(call);
  if (auto missing = systemctl.missing()) return *std::move(missing);
  const auto ran = systemctl.run({"daemon-reload"});
  if (const auto* raised = std::get_if<Raised>(&ran)) return *raised;
  const auto& result = std::get<SystemctlResult>(ran);
  if (result.retcode == 0) return Returned{Json::boolean(true)};
  return command_error(format("Problem performing systemctl daemon-reload: {}", stripped(result.errors)));
}

}  // namespace rest_fcgi::embedded::service_module
