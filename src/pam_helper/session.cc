// SPDX-License-Identifier: MIT
#include "pam_helper/session.h"

#include <string.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <security/pam_appl.h>

#include "rest_fcgi/auth/system_groups.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::pam_helper {
namespace {

using auth::pam::Answer;
using auth::pam::Outcome;
using auth::pam::Request;

// Without these flags an account without a password would be open to everybody.
constexpr int kFlags = PAM_SILENT | PAM_DISALLOW_NULL_AUTHTOK;

/// A copy that PAM's modules free; null where there is no memory.
char* copy_for_pam(std::string_view text) {
  char* const copy = static_cast<char*>(std::calloc(text.size() + 1, 1));
  if (copy != nullptr) std::copy(text.begin(), text.end(), copy);
  return copy;
}

void free_responses(pam_response* responses, int count) {
  for (int i = 0; i < count; ++i) {
    if (responses[i].resp != nullptr) wipe(responses[i].resp, ::strlen(responses[i].resp));
    std::free(responses[i].resp);
  }
  std::free(responses);
}

/// PAM's modules ask: what is hidden while it is typed gets the password, and what is shown the user's name.
int converse(int count, const pam_message** messages, pam_response** answers, void* data) {
  const auto& request = *static_cast<const Request*>(data);
  if (count <= 0 || count > PAM_MAX_NUM_MSG) return PAM_CONV_ERR;
  auto* const responses =
      static_cast<pam_response*>(std::calloc(static_cast<std::size_t>(count), sizeof(pam_response)));
  if (responses == nullptr) return PAM_BUF_ERR;
  for (int i = 0; i < count; ++i) {
    const int style = messages[i]->msg_style;
    if (style != PAM_PROMPT_ECHO_OFF && style != PAM_PROMPT_ECHO_ON) continue;
    responses[i].resp =
        copy_for_pam(style == PAM_PROMPT_ECHO_OFF ? request.password.reveal() : request.username);
    if (responses[i].resp == nullptr) {
      free_responses(responses, count);
      return PAM_BUF_ERR;
    }
  }
  *answers = responses;
  return PAM_SUCCESS;
}

/// Modules want a failure to take some seconds. The responder sees to that, where nobody else has to wait.
void no_delay(int, unsigned, void*) {}

/// One conversation with PAM, from pam_start to pam_end.
class Conversation {
 public:
  Conversation(const Request& request, const std::string& confdir)
      : request_(request), callback_{converse, &request_} {
    const std::string service(request.service);
    const std::string username(request.username);
    status_ = confdir.empty() ? ::pam_start(service.c_str(), username.c_str(), &callback_, &handle_)
                              : ::pam_start_confdir(service.c_str(), username.c_str(), &callback_,
                                                    confdir.c_str(), &handle_);
  }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;
  ~Conversation() {
    if (handle_ != nullptr) ::pam_end(handle_, status_);
  }

  /// Goes on only as long as all went well.
  template <class Step>
  bool step(const Step& step) {
    if (status_ == PAM_SUCCESS) status_ = step(handle_);
    return status_ == PAM_SUCCESS;
  }

  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] std::string cause() const { return ::pam_strerror(handle_, status_); }

 private:
  Request request_;
  pam_conv callback_;
  pam_handle_t* handle_ = nullptr;
  int status_ = PAM_SYSTEM_ERR;
};

Outcome outcome_of(int status) {
  switch (status) {
    case PAM_AUTH_ERR:
    case PAM_USER_UNKNOWN:
    case PAM_MAXTRIES:
    case PAM_PERM_DENIED:
    case PAM_ACCT_EXPIRED:
    case PAM_NEW_AUTHTOK_REQD:
    case PAM_AUTHTOK_EXPIRED:
    case PAM_CRED_INSUFFICIENT:
      return Outcome::refused;
    case PAM_AUTHINFO_UNAVAIL:
      return Outcome::unavailable;
    default:
      return Outcome::failed;
  }
}

Answer refusal(const Conversation& conversation, const char* phase) {
  return {outcome_of(conversation.status()), std::string(phase) + ": " + conversation.cause(), {}};
}

}  // namespace

Answer verify(const Request& request, const std::string& confdir) {
  if (!auth::pam::is_service(request.service)) return {Outcome::failed, "the service is no name of one", {}};
  if (!auth::pam::is_username(request.username)) return {Outcome::refused, "odd user name", {}};
  if (request.password.size() == 0) return {Outcome::refused, "the password is empty", {}};
  const std::string remote(request.remote);
  Conversation conversation(request, confdir);
  const bool started = conversation.step([&](pam_handle_t* handle) {
    if (remote.empty()) return PAM_SUCCESS;
    return ::pam_set_item(handle, PAM_RHOST, remote.c_str());
  }) && conversation.step([](pam_handle_t* handle) {
    return ::pam_set_item(handle, PAM_FAIL_DELAY, reinterpret_cast<const void*>(&no_delay));
  });
  if (!started) return {Outcome::failed, "start: " + conversation.cause(), {}};
  if (!conversation.step([](pam_handle_t* handle) { return ::pam_authenticate(handle, kFlags); })) {
    return refusal(conversation, "authentication");
  }
  if (!conversation.step([](pam_handle_t* handle) { return ::pam_acct_mgmt(handle, kFlags); })) {
    return refusal(conversation, "account");
  }
  return {Outcome::good, {}, auth::system_groups(std::string(request.username))};
}

}  // namespace rest_fcgi::pam_helper
