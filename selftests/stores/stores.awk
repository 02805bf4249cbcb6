# SPDX-License-Identifier: GPL-2.0-only
#
# Finds the owner of the memory of each store between the marks. The first file is the output of
# calls.c, the second one valgrind's trace of its stores. Prints a line for each kind of call and
# thread, with the number of stores to the memory of each owner,
#
# 	THREAD KIND stores STACK RECORD READER FOREIGN
#
# a line if one of these stores is to memory of no thread or of the other thread, and a line for
# each cache line that both threads store to.

BEGIN {
	kinds = begun = 0
}

function number(hex,	i, n)
{
	n = 0
	for (i = 1; i <= length(hex); i++)
		n = n * 16 + index("0123456789abcdef", tolower(substr(hex, i, 1))) - 1
	return n
}

function whose(thread, first, last,	i)
{
	for (i = 0; i < owns[thread]; i++)
		if (first >= from[thread, i] && last <= to[thread, i])
			return what[thread, i]
	return "foreign"
}

FNR == NR {
	if ($1 == "mark")
		mark[$2] = number($3)
	if ($1 == "own") {
		i = owns[$2] + 0
		owns[$2]++
		what[$2, i] = $3
		from[$2, i] = number($4)
		to[$2, i] = number($5)
	}
	if ($1 == "kind") {
		thread[kinds] = $2
		name[kinds++] = $3
	}
	next
}

$1 == "S" || $1 == "M" {
	split($2, part, ",")
	at = number(part[1])
	if (at == mark["begin"]) {
		inside = 1
		now = begun++
		split("", count)
		next
	}
	if (at == mark["end"] && inside) {
		inside = 0
		printf "%s %s stores %d %d %d %d\n", thread[now], name[now], count["stack"],
			count["record"], count["reader"], count["foreign"]
		next
	}
	if (!inside)
		next
	owner = whose(thread[now], at, at + part[2])
	if (owner == "foreign" && !count[owner])
		printf "foreign: %s %s stores to %s\n", thread[now], name[now], part[1]
	count[owner]++
	for (line = int(at / 64); line <= int((at + part[2] - 1) / 64); line++) {
		other = by[line]
		if (other != "" && other != thread[now] && !told[line]++)
			printf "shared: %s (%s) in a line of the other thread\n", part[1], owner
		by[line] = thread[now]
	}
}

END {
	if (inside || begun != kinds || kinds == 0)
		printf "incomplete: %d of %d\n", begun, kinds
}
