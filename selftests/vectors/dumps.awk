# SPDX-License-Identifier: GPL-2.0-only
#
# Converts dumps.txt to a transcript. The transcript registers each operator in an empty registry,
# with the registrations that its two dumps list, and expects the same dumps:
# awk -f dumps.awk dumps.txt

# Quotes a text, which is then one word of a transcript.
function quoted(s) {
	return "'" s "'"
}

# Converts a line KEY[alias] (inactive): LABEL :: SCHEMA [ STATE ]
function registration(line,	at, key, label, schema, options) {
	at = index(line, ": ")
	key = substr(line, 1, at - 1)
	sub(/ \(inactive\)$/, "", key)
	sub(/\[alias\]$/, "", key)
	label = substr(line, at + 2)
	at = index(label, " :: ")
	schema = substr(label, at + 4)
	label = substr(label, 1, at - 1)
	if (schema ~ / \[ fallthrough boxed \]$/)
		options = "-f "
	else if (schema ~ / \[ boxed unboxed \]$/)
		options = "-u "
	else
		options = ""
	sub(/ \[ [a-z ]* \]$/, "", schema)
	if (schema != "(none)")
		options = options "-s " quoted(schema) " "
	return "> impl " options op " " key " " quoted(label)
}

# Converts a line KEY: [fallthrough ]LABEL [backend fallback]
function backend_fallback(line,	at, key, options) {
	at = index(line, ": ")
	key = substr(line, 1, at - 1)
	line = substr(line, at + 2)
	options = sub(/^fallthrough /, "", line) ? "-f " : ""
	sub(/ \[backend fallback\]$/, "", line)
	return "> fallback " options key " " quoted(line)
}

# Prints an operator. The newest function at a key is listed first, so functions are
# registered in reverse order.
function finish(	i) {
	if (!op)
		return
	print "> layout pytorch-2.14"
	for (i = 0; i < fallbacks; i++)
		print fallback[i]
	for (i = regs; i > 0; i--)
		print reg[i]
	print definition
	print "> dump " op
	printf "%s", dump
	print "> table " op
	printf "%s", table
}

/^==== dump / {
	finish()
	op = $3
	part = "dump"
	dump = table = options = ""
	regs = fallbacks = 0
	next
}

/^==== table / {
	part = "table"
	definition = "> op " options op
	next
}

part == "table" {
	table = table $0 "\n"
	if ($0 ~ / \[backend fallback\]$/)
		fallback[fallbacks++] = backend_fallback($0)
	next
}

{
	dump = dump $0 "\n"
}

/^name: / || /^schema: \(none\)$/ { next }
/^schema: / { options = options "-s " quoted(substr($0, 9)) " "; next }
/^debug: / { options = options "-g " quoted(substr($0, 8)) " "; next }
/^alias analysis kind: .* \(default\)$/ { next }
/^alias analysis kind: / { options = options "-a " $4 " "; next }
{ reg[++regs] = registration($0) }

END { finish() }
