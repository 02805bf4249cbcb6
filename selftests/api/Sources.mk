# SPDX-License-Identifier: GPL-2.0-only
# Builds the API tests as a program. It is linked with the objects of the core and of lib/ instead
# of the library, because some suites use internals, and --wrap must make allocations fail. rcu.c is
# compiled once more, to report what waits to be freed. The suites need -Ilib besides the usual
# paths.

api-test-suites := $(shell sed -nE 's/^\t(both|user|fed)\((\w+)\).*/\2/p' \
	$(dir $(lastword $(MAKEFILE_LIST)))suites.h)
api-test-srcs := $(patsubst %,selftests/api/%.c,\
	main_user test full_registry full_registry_changes churn counted orders visit alloc bounded $(api-test-suites)) lib/rcu.c
comma := ,
api-test-flags := -DDK_TEST_RETIRED
api-test-wrap := $(addprefix -Wl$(comma)--wrap=,urcu_bp_synchronize_rcu dkc_zalloc dkc_free)
