# SPDX-License-Identifier: GPL-2.0-only
#
# Converts registrations.txt to a transcript that registers all of its operators:
# awk -f registrations.awk registrations.txt

BEGIN { print "> layout v1" }
{
	print "> op " $1
	for (i = 2; i <= NF; i++) {
		split($i, kv, "=")
		flag = sub(/!$/, "", kv[2]) ? "-f " : ""
		print "> impl " flag $1 " " kv[1] " " kv[2]
	}
}
