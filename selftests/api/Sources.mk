# SPDX-License-Identifier: GPL-2.0-only
# The API tests as a program. They are linked with the objects of the core and
# of lib/, not with the library: --wrap does not reach into a linked object, and
# late.c and nomem.c look inside. They want -Ilib besides the usual paths.

api-test-srcs := $(addprefix selftests/api/,main_user.c test.c refuse.c nomem.c \
	first.c stale.c devices.c refusals.c peers.c slots.c regress.c lattice.c \
	dispatch.c statements.c big.c threads.c regress_threads.c late.c)
api-test-ldflags := -Wl,--wrap=dkc_alloc
