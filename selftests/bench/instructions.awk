# SPDX-License-Identifier: GPL-2.0-only
#
# Computes the instructions of a call from callgrind's dumps of "calls -c". Prints a line
# "NAME INSTRUCTIONS" for each contender: the difference between 2N and N calls, divided by N,
# minus the same value of the empty loop. Reads "summary", because callgrind's "totals" is wrong
# if the counts are reset inside a function.

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
