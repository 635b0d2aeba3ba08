/* SPDX-License-Identifier: MIT
 *
 * A PAM module that takes the password `sesame`, and breaks for users who are named after how: `account-abort` aborts the
 * helper when PAM looks at the account, `auth-30` answers 30. */
#define PAM_SM_AUTH
#define PAM_SM_ACCOUNT
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <security/pam_appl.h>
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { many_descriptors = 64 };

static void limit(int what, rlim_t most) {
  struct rlimit limits = {most, most};
  setrlimit(what, &limits);
}

static int forbid_forks(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  return fork() < 0 ? PAM_SYSTEM_ERR : PAM_SUCCESS;
}

static int converse_oddly(pam_handle_t* handle, int count, int style) {
  const struct pam_conv* conversation = NULL;
  struct pam_message message = {style, "?"};
  const struct pam_message* messages[1000];
  struct pam_response* answers = NULL;
  for (int i = 0; i < 1000; ++i) messages[i] = &message;
  pam_get_item(handle, PAM_CONV, (const void**)&conversation);
  return conversation->conv(count, messages, &answers, conversation->appdata_ptr);
}

static int fault(pam_handle_t* handle, const char* what) {
  if (strcmp(what, "exit") == 0) _exit(0);
  if (strcmp(what, "abort") == 0) abort();
  if (strcmp(what, "crash") == 0) *(volatile char*)NULL = 0;
  if (strcmp(what, "close") == 0) return closefrom(STDERR_FILENO + 1), PAM_SUCCESS;
  if (strcmp(what, "garbage") == 0) {
    for (int fd = STDERR_FILENO + 1; fd < many_descriptors; ++fd)
      if (write(fd, "no frame", 8) < 0) continue;
    return PAM_SUCCESS;
  }
  if (strcmp(what, "descriptors") == 0) return limit(RLIMIT_NOFILE, 0), PAM_AUTH_ERR;
  if (strcmp(what, "memory") == 0) return limit(RLIMIT_AS, 0), PAM_BUF_ERR;
  if (strcmp(what, "fork") == 0) return forbid_forks();
  if (strcmp(what, "nothing") == 0) return converse_oddly(handle, 0, PAM_PROMPT_ECHO_OFF);
  if (strcmp(what, "much") == 0) return converse_oddly(handle, 1000, PAM_PROMPT_ECHO_OFF);
  if (strcmp(what, "unheard") == 0) return converse_oddly(handle, 1, 99) == PAM_SUCCESS ? PAM_AUTH_ERR : PAM_SYSTEM_ERR;
  return atoi(what);
}

static int step(pam_handle_t* handle, const char* name, int otherwise) {
  const char* user = NULL;
  size_t length = strlen(name);
  if (pam_get_user(handle, &user, NULL) != PAM_SUCCESS) return PAM_SYSTEM_ERR;
  return strncmp(user, name, length) == 0 ? fault(handle, user + length) : otherwise;
}

int pam_sm_authenticate(pam_handle_t* handle, int flags, int argc, const char** argv) {
  const char* password = NULL;
  (void)flags, (void)argc, (void)argv;
  if (pam_get_authtok(handle, PAM_AUTHTOK, &password, NULL) != PAM_SUCCESS) return PAM_AUTH_ERR;
  return step(handle, "auth-", strcmp(password, "sesame") == 0 ? PAM_SUCCESS : PAM_AUTH_ERR);
}

int pam_sm_acct_mgmt(pam_handle_t* handle, int flags, int argc, const char** argv) {
  (void)flags, (void)argc, (void)argv;
  return step(handle, "account-", PAM_SUCCESS);
}
