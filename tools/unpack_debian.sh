#!/bin/sh
# Unpacks packages of Debian into a folder: `unpack_debian.sh FOLDER PACKAGE...`. It is for programs that tests drive.
# It needs apt-get and dpkg-deb, and no root: nothing is installed, and the lists of the system stay as they are.
set -eu

folder=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/lists/partial" "$work/archives/partial"
fresh="-o Dir::State::Lists=$work/lists -o Dir::Cache=$work -o Acquire::Languages=none"
patience="-o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 -o Acquire::Retries=1"
cd "$work"
# shellcheck disable=SC2086 # options are lists of words
apt-get -qq $patience download "$@" 2>/dev/null || {
	# The system has no lists of packages, or old ones.
	apt-get -qq $patience $fresh update
	apt-get -qq $patience $fresh download "$@" 2>/dev/null
}
for package in *.deb; do
	dpkg-deb --extract "$package" unpacked
done
cd "$OLDPWD"
mv "$work/unpacked" "$folder"
