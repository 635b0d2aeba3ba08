#!/bin/sh
# SPDX-License-Identifier: MIT
# bare.sh RELEASE COMMAND: runs a shell command in a copy of this checkout, inside a new minimal Debian that has only make and git.
# No package of the host is visible there, so a package that a list of the Makefile lacks is missing. RELEASE is Debian's name of a
# release, such as bookworm. The root folder of this Debian is removed at the end. The exit status is that of the command, or 2 if there is no Debian.
set -eu

release=$1
command=$2
top=$(CDPATH='' cd "$(dirname "$0")/.." && pwd)
[ "$(id -u)" = 0 ] || exec sudo --preserve-env=CI,CI_BASE sh "$0" "$release" "$command"

sh "$top/deploy/deps.sh" mmdebstrap || exit 2
folder=$(mktemp -d /var/tmp/rest_fcgi-bare.XXXXXX)
trap 'rm -rf --one-file-system "$folder"' EXIT
trap 'exit 1' HUP INT TERM
root=$folder/root

echo "bare: making a root of Debian $release"
mmdebstrap --quiet --variant=minbase --include=make,git "$release" "$root" || exit 2
# The way to the network is the host's: its resolver, its own certificate authorities, and the settings of pip.
cp /etc/resolv.conf "$root/etc/"
echo "127.0.0.1 localhost" >"$root/etc/hosts"
for file in /usr/local/share/ca-certificates/*.crt /etc/pip.conf; do
  [ ! -e "$file" ] || install -D -m 644 "$file" "$root$file"
done
chmod 755 "$root/root" # tests run some programs of the checkout as other users
mkdir "$root/root/rest_fcgi"
tar -C "$top" --exclude=./build -cf - . | tar -C "$root/root/rest_fcgi" --no-same-owner -xf -

# The new namespaces keep mounts and processes of the tests off the host. A chroot cannot do that, and it forbids user namespaces.
# shellcheck disable=SC2016 # The inner shell expands the variables.
unshare --mount --pid --fork --kill-child --propagation private sh -euc '
  mount --bind "$1" "$1"
  mount -t proc proc "$1/proc"
  for name in sys dev; do mount --rbind "/$name" "$1/$name"; done
  cd "$1"
  mkdir host
  pivot_root . host
  umount --lazy host
  rmdir host
  cd /root/rest_fcgi
  exec env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin CI="${CI:-}" CI_BASE="${CI_BASE:-}" \
    ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} sh -c "$2"
' - "$root" "$command"
