# SPDX-License-Identifier: GPL-2.0-only
#
# Prints a transcript, and replaces the last character of the first answer after its
# N-th command. Writes the number of that line to FILE:
# awk -v n=N -v told=FILE -f falsify.awk TRANSCRIPT

/^> / { seen++ }
!/^> / && seen >= n && !hit {
	sub(/.$/, /x$/ ? "y" : "x")
	hit = 1
	print FNR >told
}
{ print }
