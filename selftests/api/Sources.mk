# SPDX-License-Identifier: GPL-2.0-only
# The API tests as a program. They are linked with the objects of the core and
# of lib/, not with the library: late.c, leaving.c, nomem.c, sums.c and wrap.c look
# inside, and allocations are to fail, for which world.c is compiled once more. They
# want -Ilib besides the usual paths.

api-test-suites := $(shell sed -nE 's/^\t(both|user|fed)\((\w+)\).*/\2/p' \
	$(dir $(lastword $(MAKEFILE_LIST)))suites.h)
api-test-srcs := $(patsubst %,selftests/api/%.c,\
	main_user test refuse visits alloc $(api-test-suites)) lib/world.c
api-test-flags := -DDKC_FAIL_ALLOC
api-test-wrap := -Wl,--wrap=urcu_bp_synchronize_rcu
