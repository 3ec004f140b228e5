#!/bin/sh
# Unpacks SoftHSM 2, a PKCS#11 token in software, into the folder that is named. It is for the tests of master keys in
# a token. It needs apt-get and dpkg-deb, and no root: nothing is installed, and the lists of the system stay as they are.
set -eu

packages="softhsm2 libsofthsm2"
folder=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/lists/partial" "$work/archives/partial"
fresh="-o Dir::State::Lists=$work/lists -o Dir::Cache=$work -o Acquire::Languages=none"
patience="-o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 -o Acquire::Retries=1"
cd "$work"
# shellcheck disable=SC2086 # options and packages are lists of words
apt-get -qq $patience download $packages 2>/dev/null || {
	# The system has no lists of packages, or old ones.
	apt-get -qq $patience $fresh update
	apt-get -qq $patience $fresh download $packages 2>/dev/null
}
for package in *.deb; do
	dpkg-deb --extract "$package" unpacked
done
cd "$OLDPWD"
mv "$work/unpacked" "$folder"
