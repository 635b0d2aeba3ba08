# SPDX-License-Identifier: MIT
"""The `auth` lines of PAM services in Debian 12 and Fedora 40, and hand-written ones."""

DEBIAN = {
    "common-auth": "auth [success=1 default=ignore] pam_unix.so nullok\n"
    "auth requisite pam_deny.so\n"
    "auth required pam_permit.so\n"
    "auth optional pam_cap.so\n",
    "other": "@include common-auth\n",
    "login": "auth optional pam_faildelay.so delay=3000000\n"
    "auth requisite pam_nologin.so\n"
    "session [success=ok ignore=ignore module_unknown=ignore default=bad] pam_selinux.so close\n"
    "@include common-auth\n"
    "auth optional pam_group.so\n",
    "sshd": "@include common-auth\naccount required pam_nologin.so\n",
    "sudo": "session required pam_limits.so\n@include common-auth\n",
    "cron": "@include common-auth\n",
    "passwd": "@include common-password\n",  # no auth line, so `other` applies
    "common-password": "password required pam_deny.so\n",
    "su": "auth sufficient pam_rootok.so\n@include common-auth\n",
    "su-l": "auth include su\n",
    "chsh": "auth required pam_shells.so\nauth sufficient pam_rootok.so\n@include common-auth\n",
    "runuser": "auth sufficient pam_rootok.so\nsession required pam_limits.so\n",
}
DEBIAN_OPEN = {"su", "su-l", "chsh", "runuser"}

# pam-auth-update with SSSD and with Kerberos, and pam_faillock as in its manual.
DEBIAN_MORE = {
    "sssd": "auth [success=2 default=ignore] pam_unix.so nullok\n"
    "auth [success=1 default=ignore] pam_sss.so use_first_pass\n"
    "auth requisite pam_deny.so\nauth required pam_permit.so\n",
    "krb5": "auth [success=2 default=ignore] pam_krb5.so minimum_uid=1000\n"
    "auth [success=1 default=ignore] pam_unix.so nullok try_first_pass\n"
    "auth requisite pam_deny.so\nauth required pam_permit.so\nauth optional pam_cap.so\n",
    "faillock": "auth required pam_faillock.so preauth\n"
    "auth [success=1 default=ignore] pam_unix.so nullok\n"
    "auth [default=die] pam_faillock.so authfail\n"
    "auth sufficient pam_faillock.so authsucc\n"
    "auth requisite pam_deny.so\nauth required pam_permit.so\n",
}

FEDORA = {
    "system-auth": "auth required pam_env.so\n"
    "auth required pam_faildelay.so delay=2000000\n"
    "auth sufficient pam_fprintd.so\n"
    "auth [default=1 ignore=ignore success=ok] pam_usertype.so isregular\n"
    "auth [default=1 ignore=ignore success=ok] pam_localuser.so\n"
    "auth sufficient pam_unix.so nullok\n"
    "auth [default=1 ignore=ignore success=ok] pam_usertype.so isregular\n"
    "auth sufficient pam_sss.so forward_pass\n"
    "auth required pam_deny.so\n",
    "password-auth": "auth required pam_env.so\n"
    "auth required pam_faildelay.so delay=2000000\n"
    "auth required pam_faillock.so preauth silent\n"
    "auth sufficient pam_unix.so nullok\n"
    "auth required pam_faillock.so authfail\n"
    "auth required pam_deny.so\n",
    "postlogin": "session optional pam_umask.so silent\n",
    "other": "auth required pam_deny.so\n",
    "login": "auth substack system-auth\nauth include postlogin\n",
    "sshd": "auth       substack     password-auth\nauth       include      postlogin\n",
    "remote": "auth substack password-auth\nauth include postlogin\n",
    "sudo": "#%PAM-1.0\nauth       include      system-auth\n",
    "cockpit": "auth required pam_sepermit.so\nauth substack password-auth\nauth include postlogin\n"
    "auth optional pam_ssh_add.so\n-auth optional pam_gnome_keyring.so\n",
    "su": "auth\t\trequired\tpam_env.so\nauth\t\tsufficient\tpam_rootok.so\n"
    "#auth\t\tsufficient\tpam_wheel.so trust use_uid\n"
    "auth\t\tsubstack\tsystem-auth\nauth\t\tinclude\t\tpostlogin\n",
    "runuser": "auth sufficient pam_rootok.so\n",
    "config-util": "auth sufficient pam_rootok.so\nauth sufficient pam_timestamp.so\nauth include system-auth\n",
    "xserver": "auth sufficient pam_rootok.so\nauth required pam_permit.so\n",
}
FEDORA_OPEN = {"su", "runuser", "config-util", "xserver"}

# Hand-written stacks that let users in without a password.
OPEN = {
    "permit": "auth required pam_permit.so\n",
    "permit-first": "auth sufficient pam_permit.so\nauth required pam_unix.so\n",
    "permit-after-optional": "auth optional pam_unix.so\nauth required pam_permit.so\n",
    "unix-ignored": "auth [success=ok default=ignore] pam_unix.so\nauth required pam_permit.so\n",
    "jump-too-far": "auth [success=2 default=1] pam_unix.so\nauth requisite pam_deny.so\nauth required pam_permit.so\n",
    "server-away": "auth [success=ok authinfo_unavail=ignore default=die] pam_ldap.so\nauth required pam_permit.so\n",
    "wheel": "auth sufficient pam_wheel.so trust\nauth required pam_unix.so\n",
    "local": "auth sufficient pam_localuser.so\nauth required pam_unix.so\n",
    "some": "auth [success=done default=ignore] pam_succeed_if.so user ingroup staff\nauth required pam_unix.so\n",
    "rhosts": "auth sufficient pam_rhosts.so\nauth required pam_unix.so\n",
    "exec": "auth sufficient pam_exec.so /usr/bin/true\nauth required pam_unix.so\n",
    "path": "AUTH SUFFICIENT /lib/x86_64-linux-gnu/security/pam_permit.so\nauth required pam_unix.so\n",
    "next-line": "auth \\\n  sufficient \\\n  pam_permit.so\nauth required pam_unix.so\n",
    "last-line": "auth required pam_permit.so \\",
    "spaces": "auth [ success = done default = ignore ] pam_permit.so\nauth required pam_unix.so\n",
    "substack": "auth substack permit-first\nauth optional pam_cap.so\n",
    "deny-in-substack-jumped": "auth [default=1] pam_unix.so\nauth substack closed\nauth required pam_permit.so\n",
    "reset": "auth required pam_unix.so\nauth [default=reset] pam_deny.so\nauth required pam_permit.so\n",
}
# Stacks that are similar but need a password.
CLOSED = {
    "closed": "auth required pam_unix.so\n",
    "permit-last": "auth required pam_unix.so\nauth required pam_permit.so\n",
    "comment": "# auth sufficient pam_permit.so\nauth required pam_unix.so # auth sufficient pam_permit.so\n",
    "account": "auth required pam_unix.so\naccount required pam_permit.so\n",
    "exec-asks": "auth sufficient pam_exec.so expose_authtok /usr/bin/check\nauth required pam_deny.so\n",
    "own-module": "auth required pam_ours.so\n",
    "second-factor": "auth required pam_unix.so\nauth sufficient pam_google_authenticator.so nullok\nauth required pam_permit.so\n",
    "substack-ends": "auth substack closed\nauth sufficient pam_permit.so\n",
    "jump-beyond": "auth [success=9] pam_permit.so\n",
    "nothing-there": "auth include nosuch\nauth sufficient pam_permit.so\n",
    "round": "auth include round\nauth sufficient pam_permit.so\n",
    "unknown-control": "auth perhaps pam_permit.so\n",
}
