# SPDX-License-Identifier: GPL-2.0-only
#
# Defines what the Makefiles of the test directories share. Before they include this file, they set
# the variables of kselftest's lib.mk (TEST_PROGS and so on), and
#
#   DK_PROGS    programs of this directory that are linked with the library
#   DK_MODULES  kernel modules that the tests load, as paths in the project. If it is
#               not empty, TEST_PROGS are the scripts that load them
#
# The user may set
#
#   KSELFTEST_DIR       the folder of lib.mk, or "none"
#   DK_TOP              the project
#   DK_BUILD            its build folder
#   KDIR                the kernel's headers
#   DK_PREBUILT=1       use library, tool and modules as they are
#   DK_ONLY=user|kernel run only the tests of userspace or of the kernel

st_dir	:= $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
st_name	:= $(notdir $(CURDIR))

# ---- the project: the tree of this folder, unless that is a kernel tree -------

DK_TOP	?= $(patsubst %/,%,$(dir $(patsubst %/,%,$(st_dir))))
ifneq ($(wildcard $(DK_TOP)/include/dispatchkey.h),)
dk_top	:= $(abspath $(DK_TOP))
endif
DK_BUILD ?= $(if $(dk_top),$(dk_top)/build)
KDIR	?= /lib/modules/$(shell uname -r)/build
export DK_TOP DK_BUILD KDIR

# ---- kselftest's own files ------------------------------------------------------

ifneq ($(wildcard $(st_dir)../lib.mk),)
kselftest := $(abspath $(st_dir)..)
else
out_of_tree := 1
ifeq ($(OUTPUT),)
OUTPUT	:= $(if $(dk_top),$(abspath $(DK_BUILD))/selftests/$(st_name),$(CURDIR))
endif
# Cleaning needs no download.
ifneq ($(MAKECMDGOALS),clean)
ifdef KSELFTEST_DIR
kselftest := $(KSELFTEST_DIR)
else ifdef dk_top
kselftest := $(shell $(dk_top)/scripts/fetch-kernel --what tools | \
	sed -n 's|^KTOOLS=\(.*\)|\1/tools/testing/selftests|p')
endif
ifneq ($(KSELFTEST_DIR),none)
ifeq ($(wildcard $(kselftest)/lib.mk),)
$(error kselftest's lib.mk is not here: set KSELFTEST_DIR to tools/testing/selftests of a kernel source tree, or to "none" to run tests without it)
endif
endif
endif
endif
$(if $(OUTPUT),$(shell mkdir -p $(OUTPUT)))

# ---- programs, modules and flags of the tests -----------------------------------

ifeq ($(DK_ONLY),kernel)
override DK_PROGS :=
endif
ifeq ($(DK_ONLY),user)
ifneq ($(DK_MODULES),)
override TEST_PROGS :=
override DK_MODULES :=
endif
endif

st_objs	 = $(addprefix $(OUTPUT)/,$(DK_PROGS))
ifneq ($(dk_top),)
st_lib	:= $(DK_BUILD)/libdispatchkey.a
URCU	?= -lurcu-bp
CFLAGS	+= -std=gnu11 -D_GNU_SOURCE -pthread -g -O2 -Wall -Wextra \
	-Wno-unused-parameter -I$(st_dir)unit -I$(dk_top)/include -I$(dk_top)/uapi \
	-I$(dk_top)/lib/core -DDK_VERSION='"$(shell cat $(dk_top)/VERSION)"'
LDLIBS	+= $(URCU)
TEST_FILES += $(if $(TEST_PROGS),../lib.sh)
st_ko	:= $(wildcard $(addprefix $(dk_top)/,$(DK_MODULES)))
endif
ifneq ($(DK_PROGS),)
TEST_GEN_PROGS += $(DK_PROGS)
endif
TEST_FILES += $(st_ko)

ifeq ($(kselftest),none)
include $(st_dir)runner.mk
else ifdef kselftest
include $(kselftest)/lib.mk
endif
ifndef kselftest
ifdef out_of_tree
.PHONY: clean
clean:
	rm -rf $(if $(filter $(CURDIR),$(OUTPUT)),$(st_objs),$(OUTPUT))
else
include $(st_dir)../lib.mk
endif
endif

LOCAL_HDRS += $(wildcard $(st_dir)unit/*.h $(CURDIR)/*.h)
ifneq ($(dk_top),)
LOCAL_HDRS += $(wildcard $(dk_top)/include/*.h $(dk_top)/uapi/linux/*.h)
$(st_objs): $(st_lib)
else
# Without the sources, a test program only reports that it is skipped.
OVERRIDE_TARGETS := 1
$(st_objs):
	@printf '%s\n' '#!/bin/sh' 'echo "TAP version 13"' \
		'echo "1..0 # SKIP no sources of dispatchkey (set DK_TOP)"; exit 4' >$@
	@chmod 755 $@
endif

ifneq ($(dk_top),)
ifneq ($(DK_PREBUILT),1)
.PHONY: st_force
$(st_lib): st_force
	@$(MAKE) --no-print-directory -C $(dk_top) O=$(DK_BUILD) OUTPUT= lib
ifneq ($(DK_MODULES),)
# Modules are built only if there are kernel headers. Otherwise the tests use modules that
# were built before, or are skipped.
all: st_modules
.PHONY: st_modules
st_modules:
	@if [ -e $(KDIR)/Makefile ]; then \
		$(MAKE) --no-print-directory -C $(dk_top) KDIR=$(KDIR) OUTPUT= DK_SELFTESTS=1 modules; \
	else \
		echo "# no kernel headers at $(KDIR): modules are not built"; \
	fi
endif
endif
endif

# Outside of a kernel tree, kselftest's runner needs BASE_DIR to find the settings here, and
# tap_prefix() instead of its program prefix.pl.
ifdef out_of_tree
ifneq ($(kselftest),none)
define RUN_TESTS
	BASE_DIR="$(selfdir)"; \
	. $(selfdir)/kselftest/runner.sh; \
	BASE_DIR="$(patsubst %/,%,$(st_dir))"; \
	tap_prefix() { sed -u 's/^/# /'; }; \
	[ -e /dev/stdout ] || logfile=/proc/self/fd/1; \
	if [ -n "$(summary)" ]; then per_test_logging=1; fi; \
	run_many $(1)
endef

.PHONY: install_runner
install_runner:
	@mkdir -p $(dir $(INSTALL_PATH))kselftest
	@cp $(kselftest)/kselftest/*.sh $(kselftest)/kselftest/prefix.pl $(dir $(INSTALL_PATH))kselftest
	@cp $(kselftest)/run_kselftest.sh $(dir $(INSTALL_PATH))
endif
endif
