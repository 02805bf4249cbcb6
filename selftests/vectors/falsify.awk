# SPDX-License-Identifier: GPL-2.0-only
#
# A transcript, but that the first answer behind its N-th command ends in another
# character; FILE gets the number of that line:
# awk -v n=N -v told=FILE -f falsify.awk TRANSCRIPT

/^> / { seen++ }
!/^> / && seen >= n && !hit {
	sub(/.$/, /x$/ ? "y" : "x")
	hit = 1
	print FNR >told
}
{ print }
