#!/bin/sh
# SPDX-License-Identifier: MIT
# deb.sh: builds the Debian package into $BUILD/deb, with debhelper and the files of deploy/debian. The variable DEPS has the
# build dependencies of the package, and LIBFCGI the least version of libfcgi. With AS_BUILT=1 the package gets the programs that are in $BUILD. Without it, the script
# compiles the programs with LTO=1.
set -eu

top=$(CDPATH='' cd "$(dirname "$0")/.." && pwd)
cd "$top"
mkdir -p "$BUILD/deb/source"
deb=$(cd "$BUILD/deb" && pwd)
OBJECTS=$deb/objects
[ -z "${AS_BUILT:-}" ] || OBJECTS=$(cd "$BUILD" && pwd)
export OBJECTS AS_BUILT

rm -rf "$deb/source" "$deb"/*.deb
mkdir "$deb/source"
cp -Rp Makefile LICENSE README.md src include deploy nginx apache "$deb/source"
mkdir "$deb/source/test"
cp -Rp test/Makefile test/lint test/bench test/fuzz "$deb/source/test" # the Makefile includes their Makefiles
cp -Rp deploy/debian "$deb/source/debian"
sed -i "s/@deps@/$(echo "$DEPS" | sed 's/  */, /g')/" "$deb/source/debian/control"
library=$(dpkg-query -S '*/libfcgi.so.0' | sed 's/:.*//; q')
sed -i "s/@libfcgi@/$library (>= $LIBFCGI)/" "$deb/source/debian/control"
# Packages of later releases of Debian have greater versions, so that an upgrade of the host upgrades the package.
release=$(sed -n 's/^VERSION_ID="\{0,1\}\([^"]*\).*/\1/p' /etc/os-release)
[ ! "$release" ] || sed -i "1s/)/~deb$release)/" "$deb/source/debian/changelog"
cd "$deb/source"
# If make runs this script, the environment has the variables of this make. The script hides them from the
# make that debhelper starts.
env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS dpkg-buildpackage --build=binary --unsigned-changes --no-pre-clean
