# SPDX-License-Identifier: GPL-2.0-only
#
# Computes the instructions of a call from callgrind's dumps of "calls -c". Prints a line
# "NAME INSTRUCTIONS" for each contender: the difference between 2N and N calls, divided by N,
# less that of the empty loop. If the counts are reset inside a function, callgrind's "totals"
# are wrong; "summary" is right.

/^desc: Trigger: / {
	name = $3 == "Client" ? $5 : ""
	times = $6
	calls = $7
}

/^summary: / && name != "" && times == 1 {
	once = $2
}

/^summary: / && name != "" && times == 2 {
	count = ($2 - once) / calls
	if (name == "loop")
		loop = count
	else
		printf "%s %.1f\n", name, count - loop
}
