# SPDX-License-Identifier: GPL-2.0-only
#
# KSELFTEST_DIR=none: the targets "all" and "run_tests" without kselftest's own files,
# which come from a kernel's sources.

dk_out	= $(addprefix $(OUTPUT)/,$(1))
override TEST_GEN_PROGS := $(call dk_out,$(TEST_GEN_PROGS))
override TEST_GEN_PROGS_EXTENDED := $(call dk_out,$(TEST_GEN_PROGS_EXTENDED))
override TEST_GEN_FILES := $(call dk_out,$(TEST_GEN_FILES))
CFLAGS	+= $(USERCFLAGS)

.PHONY: all run_tests clean
all: $(TEST_GEN_PROGS) $(TEST_GEN_PROGS_EXTENDED) $(TEST_GEN_FILES)

run_tests: all
	+@$(st_dir)runner.sh $(st_name) $(TEST_GEN_PROGS) $(addprefix ./,$(TEST_PROGS))

clean:
	rm -rf $(if $(filter $(CURDIR),$(OUTPUT)),$(TEST_GEN_PROGS) $(TEST_GEN_PROGS_EXTENDED) \
		$(TEST_GEN_FILES) $(EXTRA_CLEAN),$(OUTPUT))

ifndef OVERRIDE_TARGETS
$(OUTPUT)/%: %.c
	$(LINK.c) $(filter %.c %.a,$^) $(LDLIBS) -o $@
endif
