#!/bin/sh
# SPDX-License-Identifier: MIT
# deps.sh PACKAGE...: installs each named Debian package that is not installed yet. A package with the prefix `try:` is
# optional. With SKIP_DEPS=1 the script installs nothing.
set -eu

[ "${SKIP_DEPS:-}" ] && exit 0

installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=
optional=
for package in "$@"; do
  case $package in
    try:*)
      if command -v apt-get >/dev/null && ! installed "${package#try:}"; then optional="$optional ${package#try:}"; fi
      continue
      ;;
  esac
  if ! command -v dpkg-query >/dev/null || ! installed "$package"; then
    missing="$missing $package"
  fi
done
[ "$missing$optional" ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "deps: found no apt-get. Install the packages that Debian calls$missing," >&2
  echo "deps: then set SKIP_DEPS=1, as in: make SKIP_DEPS=1 test" >&2
  exit 1
fi

if [ "$(id -u)" = 0 ]; then
  as_root=
elif command -v sudo >/dev/null; then
  as_root=sudo
else
  [ "$missing" ] || exit 0
  echo "deps: packages are missing. Run as root: apt-get install$missing" >&2
  exit 1
fi

# The packages of servers must not start their servers during the installation. The policy file forbids every start of a service
# (invoke-rc.d(8)).
policy=/usr/sbin/policy-rc.d
clean_up() {
  if [ "$policy_is_ours" ]; then $as_root rm -f "$policy"; fi
}
policy_is_ours=
trap clean_up EXIT
trap 'exit 1' HUP INT TERM
if [ ! -e "$policy" ]; then
  policy_is_ours=yes
  printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
  $as_root chmod 755 "$policy"
fi

echo "deps: installing$missing$optional"
apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300"
$apt update || echo 'deps: apt-get update failed for some package lists; installing with the old lists' >&2
install="$apt install -y --no-install-recommends"
# shellcheck disable=SC2086 # The shell must split the list into words.
if [ "$missing" ]; then $install $missing >/dev/null; fi
# shellcheck disable=SC2086
if [ "$optional" ]; then
  $install $optional >/dev/null || echo "deps: cannot install$optional; the tests that need these packages are skipped" >&2
fi

# The servers that were installed must not start at the next boot.
for server in nginx:nginx apache2:apache2 etcd-server:etcd openssh-server:ssh; do
  package=${server%:*} service=${server#*:}
  case "$missing$optional " in
    *" $package "*)
      installed "$package" || continue
      $as_root update-rc.d "$service" disable || true
      echo "deps: installed $package; its service is off; to start it: systemctl enable --now $service"
      ;;
  esac
done
