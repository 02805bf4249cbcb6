#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# runner.sh FOLDER TEST... - run tests and print their results as kselftest's runner does.
# FOLDER is the name of the current folder, whose file "settings" has the time limit of a
# test. Exit status: 1 if a test failed.
set -u

folder=$1
shift
limit=$(sed -n 's/^timeout=//p' settings)
status=$(mktemp)
trap 'rm -f -- "$status"' EXIT

n=0 failed=0
echo "TAP version 13"
echo "1..$#"
for test; do
	n=$((n + 1))
	name="selftests: $folder: ${test##*/}"
	echo "# $name"
	{
		timeout "${limit:-45}" "$test" 2>&1 </dev/null
		echo $? >"$status"
	} | sed 's/^/# /'
	result=$(cat "$status")
	case $result in
	0) echo "ok $n $name" ;;
	4) echo "ok $n $name # SKIP" ;;
	124) echo "not ok $n $name # TIMEOUT ${limit:-45} seconds" ;;
	*) echo "not ok $n $name # exit=$result" ;;
	esac
	case $result in 0 | 4) ;; *) failed=1 ;; esac
done
exit $failed
