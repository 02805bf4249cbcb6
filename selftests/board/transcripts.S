/* SPDX-License-Identifier: GPL-2.0-only */
/* All transcripts, for board_test.c. Paths are relative to samples/board, where make runs. */

	.macro transcript file
	.section .rodata.transcript, "a", %progbits
1:	.incbin "../../selftests/vectors/\file"
2:	.asciz "\file"
	.section .rodata.transcripts, "a", %progbits
	.dc.a 2b, 1b, 2b - 1b
	.endm

	.section .rodata.transcripts, "a", %progbits
	.balign 8
	.globl transcripts, transcripts_end
transcripts:
	transcript "own/devices.dkt"
	transcript "own/explain.dkt"
	transcript "own/key-for-device.dkt"
	transcript "own/offline-first.dkt"
	transcript "own/offline.dkt"
	transcript "own/quotes.dkt"
	transcript "own/runs.dkt"
	transcript "own/trimmed.dkt"
	transcript "pytorch-1.13/keysets.dkt"
	transcript "pytorch-1.13/layout.dkt"
	transcript "pytorch-1.13/operators.dkt"
	transcript "pytorch-1.13/sequences.dkt"
	transcript "pytorch-2.11/compute-key.dkt"
	transcript "pytorch-2.11/constants.dkt"
	transcript "pytorch-2.11/derived.dkt"
	transcript "pytorch-2.11/keysets.dkt"
	transcript "pytorch-2.11/layout.dkt"
	transcript "pytorch-2.11/operators.dkt"
	transcript "pytorch-2.11/parse.dkt"
	transcript "pytorch-2.11/routes.dkt"
	transcript "pytorch-2.11/sequences.dkt"
	transcript "pytorch-2.14/compute-key.dkt"
	transcript "pytorch-2.14/constants.dkt"
	transcript "pytorch-2.14/derived.dkt"
	transcript "pytorch-2.14/guards.dkt"
	transcript "pytorch-2.14/keysets.dkt"
	transcript "pytorch-2.14/layout.dkt"
	transcript "pytorch-2.14/operators.dkt"
	transcript "pytorch-2.14/parse.dkt"
	transcript "pytorch-2.14/routes.dkt"
	transcript "pytorch-2.14/sequences.dkt"
transcripts_end:
