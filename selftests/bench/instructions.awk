# SPDX-License-Identifier: GPL-2.0-only
#
# From callgrind's dumps of "calls -c" to a line "NAME INSTRUCTIONS" a contender,
# a call, net of the loop: what twice as many calls take more, less what the empty
# loop takes. The file's "totals" are wrong behind a reset inside a function, its
# "summary" is right.

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
