# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# dispatchkey: library, tool, samples, module. "make help" lists the targets.
# It needs a C compiler, GNU make and liburcu, libnl for the client library,
# and for the module the headers of a kernel; kbuild reads Kbuild and not this.

all:

# ---- what a user may set ----------------------------------------------------

O	?= build
# an empty one would be /
ifeq ($(strip $(O)),)
override O := build
endif
PREFIX	?= /usr/local
LIBDIR	?= $(PREFIX)/lib
BINDIR	?= $(PREFIX)/bin
INCLUDEDIR ?= $(PREFIX)/include
DESTDIR	?=
KDIR	?= /lib/modules/$(shell uname -r)/build
CFLAGS	?= -O2 -g
CXXFLAGS ?= $(CFLAGS)
INSTALL	?= install

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-7s %s\n'
endif

# ---- the version, and who has to agree with it ------------------------------

VERSION	:= $(shell cat VERSION)
version	:= $(subst ., ,$(VERSION))
major	:= $(word 1,$(version))
node	:= DISPATCHKEY_$(major).$(word 2,$(version))
map	:= lib/libdispatchkey.map
nl_map	:= lib/nl/libdispatchkey-nl.map
last_node = $(lastword $(shell sed -n 's/^\(DISPATCHKEY_[NL_]*[0-9.]*\) {$$/\1/p' $(1)))
map_node := $(call last_node,$(map))
nl_map_node := $(call last_node,$(nl_map))

ifneq ($(words $(version)),3)
$(error VERSION has to be three numbers such as 0.1.0, and says "$(VERSION)")
endif
ifneq ($(map_node),$(node))
$(error VERSION says $(VERSION), but the newest node of $(map) is $(map_node) and not $(node))
endif
ifneq ($(nl_map_node),$(node:DISPATCHKEY%=DISPATCHKEY_NL%))
$(error VERSION says $(VERSION), but the newest node of $(nl_map) is $(nl_map_node))
endif

# ---- what is built from what ------------------------------------------------

include lib/core/Makefile.objs

core	:= $(patsubst %,$(O)/lib/core/%.o,$(dkc-objs))
world	:= $(patsubst %.c,$(O)/%.o,$(sort $(wildcard lib/*.c lib/schema/*.c)))
replay	:= $(patsubst %.c,$(O)/%.o,$(sort $(wildcard lib/replay/*.c)))
dkctl	:= $(patsubst %.c,$(O)/%.o,$(sort $(wildcard tools/dkctl/*.c)))
nl	:= $(patsubst %.c,$(O)/%.o,$(sort $(wildcard lib/nl/*.c)))

static	:= $(O)/libdispatchkey.a
soname	:= libdispatchkey.so.$(major)
shared	:= $(O)/libdispatchkey.so.$(VERSION)
links	:= $(O)/$(soname) $(O)/libdispatchkey.so
pc	:= $(O)/dispatchkey-uninstalled.pc
nl_static := $(O)/libdispatchkey-nl.a
nl_soname := libdispatchkey-nl.so.$(major)
nl_shared := $(O)/libdispatchkey-nl.so.$(VERSION)
nl_links := $(O)/$(nl_soname) $(O)/libdispatchkey-nl.so
nl_pc	:= $(O)/dispatchkey-nl-uninstalled.pc
tool	:= $(O)/dkctl
# Nothing else needs a C++ compiler, and whoever has none does without.
have_cxx := $(shell command -v $(firstword $(CXX)) 2>/dev/null)
samples	:= $(addprefix $(O)/samples/,hello library cpu_user dk_client) \
	$(addprefix $(O)/samples/plugin/,host plugin.so) \
	$(if $(have_cxx),$(O)/samples/hello_cpp)

nl_header := include/dispatchkey-nl.h
headers	:= $(filter-out $(nl_header),$(sort $(wildcard include/*.h)))
hpp	:= include/dispatchkey.hpp
uapi	:= uapi/linux/dispatchkey.h
nl_uapi	:= uapi/linux/dispatchkey_netlink.h

# ---- how --------------------------------------------------------------------

warnings := -Wall -Wextra -Wno-unused-parameter -Wshadow -Wundef -Wvla \
	-Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings
# Probes for tracers, where the header is that makes them.
sdt	:= $(shell printf '\043include <sys/sdt.h>\n' | $(CC) $(CPPFLAGS) $(CFLAGS) -E -x c - \
	>/dev/null 2>&1 && echo -DDKC_PROBES)
flags	= -std=gnu11 -D_GNU_SOURCE -pthread $(warnings) -Iinclude -Iuapi \
	-DDK_VERSION='"$(VERSION)"' $(CPPFLAGS) $(CFLAGS)

# Only what the public header declares is seen, and calls inside the library
# and to a thread's own data cost nothing more than in a program.
$(core) $(world): local_flags := $(sdt) -fPIC -fvisibility=hidden \
	-fno-semantic-interposition -ftls-model=initial-exec -include lib/public.h
# It defines what the headers otherwise only inline; see there.
$(O)/lib/twins.o: last_flags := -DDK_INLINE= -Wno-missing-prototypes
$(replay) $(dkctl): local_flags := -Ilib -Ilib/core -Ilib/replay
$(O)/samples/plugin/plugin.o: local_flags := -fPIC

# A sanitizer's runtime is not there before the program is linked. With lazy
# binding a call in a signal handler could meet the dynamic linker's locks, and
# the table of addresses stays writable.
defs	= $(if $(findstring -fsanitize,$(CC) $(CFLAGS) $(LDFLAGS)),,-Wl,-z,defs)
now	:= -Wl,-z,relro -Wl,-z,now
so_flags = -shared -Wl,-soname,$(soname) -Wl,--version-script=$(map) $(defs) \
	-Wl,-z,nodelete $(now) -Wl,-Bsymbolic-functions

urcu	:= -lurcu-bp
beside	= -L$(O) -Wl,-rpath,'$$ORIGIN/$(1)'

# Whoever has no libnl does without the client library.
nl_flags := $(or $(shell pkg-config --cflags libnl-genl-3.0 2>/dev/null),-I/usr/include/libnl3)
nl_libs	:= -lnl-genl-3 -lnl-3
have_nl	:= $(shell printf '\043include <netlink/genl/ctrl.h>\nint main(void) { return genl_ctrl_resolve(0, "") != 0; }\n' | \
	$(CC) $(CPPFLAGS) $(CFLAGS) $(nl_flags) -x c - -o /dev/null $(LDFLAGS) $(nl_libs) 2>/dev/null && echo 1)
no_nl	:= the libnl-3 and libnl-genl-3 development packages are missing (libnl-3-dev and libnl-genl-3-dev on Debian and Ubuntu, libnl3-devel on Fedora and openSUSE, libnl on Arch, libnl3-dev on Alpine)

$(nl): local_flags := -fPIC -fvisibility=hidden $(nl_flags)

nl_so_flags = -shared -Wl,-soname,$(nl_soname) -Wl,--version-script=$(nl_map) $(defs) \
	$(now) -Wl,-Bsymbolic-functions

# What dkctl knows of a running kernel, or that it knows nothing.
dkctl_live := $(patsubst %.c,$(O)/%.o,$(sort $(wildcard \
	tools/dkctl/$(if $(have_nl),live,nolive)/*.c)))
$(dkctl_live): local_flags := -Ilib -Ilib/core -Ilib/replay
dkctl	+= $(dkctl_live)

# Written anew only when they change: new flags build everything again, and a
# new or missing file links again what it is a part of. Here and in the .d files O is
# left out, as scripts write another name for the same folder.
export config_text = $(CC) $(flags) $(sdt) $(LDFLAGS)
export objects_text = $(patsubst $(O)/%,%,$(core) $(world) $(replay) $(dkctl) $(nl))
$(O)/config $(O)/objects: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' "$$$(@F)_text" | cmp -s - $@ || printf '%s\n' "$$$(@F)_text" >$@

$(O)/have-urcu: $(O)/config
	@printf 'int x;\n' | $(CC) $(CPPFLAGS) $(CFLAGS) -E -x c - >/dev/null || { \
		echo 'The C compiler, "$(CC) $(CFLAGS)", does not work: install gcc, or name another one with "make CC=".' >&2; \
		exit 1; }
	@printf '#include <urcu-bp.h>\n' | $(CC) $(CPPFLAGS) $(CFLAGS) -E -x c - >/dev/null 2>&1 || { \
		echo 'liburcu is missing: install its development package (liburcu-dev on Debian and Ubuntu, userspace-rcu-devel on Fedora, liburcu-devel on openSUSE, liburcu on Arch, userspace-rcu-dev on Alpine) and type make again.' >&2; \
		exit 1; }
	@touch $@

$(core) $(world): | $(O)/have-urcu

$(O)/%.o: %.c $(O)/config Makefile
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(flags) $(local_flags) $(last_flags) -MMD -MP -MT '$$(O)/$*.o' -c $< -o $@

-include $(patsubst %.o,%.d,$(core) $(world) $(replay) $(dkctl) $(nl)) \
	$(wildcard $(O)/samples/*.d $(O)/samples/plugin/*.d)

# One object: whoever links any of it gets the constructor that fills the
# tables of layouts.
$(O)/dispatchkey.o: $(core) $(world) $(O)/objects
	$(say) LD $@
	$(Q)$(CC) -r -nostdlib $(filter -m% -flto%,$(CFLAGS)) -o $@ $(core) $(world)

$(static): $(O)/dispatchkey.o
	$(say) AR $@
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $<

$(shared): $(core) $(world) $(O)/objects $(map)
	$(say) LD $@
	$(Q)$(CC) -pthread $(CFLAGS) $(LDFLAGS) $(so_flags) -o $@ $(core) $(world) $(urcu)

$(links): $(shared)
	$(Q)ln -sf $(<F) $@

$(pc): lib/dispatchkey-uninstalled.pc.in VERSION
	@mkdir -p $(@D)
	$(Q)sed -e 's|@SRCDIR@|$(CURDIR)|; s|@BUILDDIR@|$(abspath $(O))|' \
		-e 's|@VERSION@|$(VERSION)|' $< >$@

$(O)/dispatchkey-nl.o: $(nl) $(O)/objects
	$(say) LD $@
	$(Q)$(CC) -r -nostdlib $(filter -m% -flto%,$(CFLAGS)) -o $@ $(nl)

$(nl_static): $(O)/dispatchkey-nl.o
	$(say) AR $@
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $<

$(nl_shared): $(nl) $(O)/objects $(nl_map)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(nl_so_flags) -o $@ $(nl) $(nl_libs)

$(nl_links): $(nl_shared)
	$(Q)ln -sf $(<F) $@

$(nl_pc): lib/nl/dispatchkey-nl-uninstalled.pc.in VERSION
	@mkdir -p $(@D)
	$(Q)sed -e 's|@SRCDIR@|$(CURDIR)|; s|@BUILDDIR@|$(abspath $(O))|' \
		-e 's|@VERSION@|$(VERSION)|' $< >$@

$(tool): $(dkctl) $(replay) $(static) $(if $(have_nl),$(nl_static)) $(O)/objects
	$(say) LD $@
	$(Q)$(CC) -pthread $(CFLAGS) $(LDFLAGS) $(now) -o $@ $(dkctl) $(replay) \
		$(if $(have_nl),$(nl_static)) $(static) $(urcu) $(if $(have_nl),$(nl_libs))

$(O)/samples/hello $(O)/samples/library $(O)/samples/cpu_user: %: %.o $(links)
	$(say) LD $@
	$(Q)$(CC) -pthread $(CFLAGS) $(LDFLAGS) -o $@ $< $(call beside,..) -ldispatchkey

$(O)/samples/hello_cpp: samples/hello.cpp $(hpp) $(headers) $(uapi) $(O)/config $(links)
	$(say) CXX $@
	@mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 -pthread -Wall -Wextra -Iinclude -Iuapi $(CPPFLAGS) \
		$(CXXFLAGS) $(LDFLAGS) -o $@ $< $(call beside,..) -ldispatchkey

# It talks to the module, and has no need of the library.
$(O)/samples/dk_client: $(O)/samples/client.o
	$(say) LD $@
	$(Q)$(CC) -pthread $(CFLAGS) $(LDFLAGS) -o $@ $<

$(O)/samples/plugin/host: %: %.o $(links)
	$(say) LD $@
	$(Q)$(CC) -pthread $(CFLAGS) $(LDFLAGS) -o $@ $< $(call beside,../..) -ldispatchkey -ldl

$(O)/samples/plugin/plugin.so: %.so: %.o $(links)
	$(say) LD $@
	$(Q)$(CC) -shared -pthread $(CFLAGS) $(LDFLAGS) -o $@ $< $(call beside,../..) -ldispatchkey

# ---- targets: build ---------------------------------------------------------

.PHONY: all lib nl dkctl samples clean help
.PHONY: install install_nl uninstall modules modules_install modules_clean
.PHONY: check check-all check-torch check-debug debug-kernel kselftest torture mutants
.PHONY: demo demo-unload module-vm bench bench-baseline bench-readers bench-kernel lint
.PHONY: bare headers-check symbols-check
.PHONY: FORCE
.DELETE_ON_ERROR:
.SUFFIXES:

all: lib nl dkctl samples
	@echo
	@echo 'Built in $(O), version $(VERSION): libdispatchkey$(if $(have_nl), and libdispatchkey-nl) (.a, .so.$(major)), dkctl, samples.'
	@echo 'Next:'
	@echo '  $(O)/samples/hello    a tensor, an operator, a tracer'
	@echo '  make demo    calls routed to two accelerators in a virtual machine'
	@echo '  make check   all tests'
	@echo '  make help    the module, install, and all else'

lib: $(static) $(links) $(pc)
ifeq ($(sdt),)
	@echo 'Left out: probes for tracers; <sys/sdt.h> is missing (systemtap-sdt-dev on Debian and Ubuntu, systemtap-sdt-devel on Fedora and openSUSE, systemtap on Arch).'
endif
nl: $(if $(have_nl),$(nl_static) $(nl_links) $(nl_pc))
ifeq ($(have_nl),)
	@echo 'Left out: libdispatchkey-nl, the client of the module; $(no_nl).'
endif
dkctl: $(tool)
samples: $(samples)
ifeq ($(have_cxx),)
	$(say) SKIP 'samples/hello.cpp: no C++ compiler, "$(CXX)"'
endif

clean:
	$(say) CLEAN $(O)
	$(Q)rm -rf $(addprefix $(O)/,lib tools samples bare headers config objects have-urcu \
		check check-all check-debug module-vm torture mutants lint modules demo selftests torch unload bench html \
		doctrees dispatchkey.o dispatchkey-nl.o dkctl modules.order) \
		$(static) $(links) $(shared) $(pc) $(nl_static) $(nl_links) $(nl_shared) $(nl_pc)
	$(Q)if [ -d $(O) ]; then rmdir --ignore-fail-on-non-empty $(O); fi

# ---- targets: install -------------------------------------------------------

dest	 = $(DESTDIR)$(INCLUDEDIR)/dispatchkey
# a .pc file that can be moved says where things are by its prefix
by_prefix = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))

# fill_pc FILE.in - with where things are by then
fill_pc	= sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(call by_prefix,$(LIBDIR))|' \
	-e 's|@INCLUDEDIR@|$(call by_prefix,$(INCLUDEDIR))|' -e 's|@VERSION@|$(VERSION)|' $(1)

install: lib dkctl $(if $(have_nl),install_nl)
	$(say) INSTALL $(DESTDIR)$(PREFIX)
	$(Q)$(INSTALL) -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(BINDIR) $(dest)/linux
	$(Q)$(INSTALL) -m 644 $(static) $(DESTDIR)$(LIBDIR)
	$(Q)$(INSTALL) -m 755 $(shared) $(DESTDIR)$(LIBDIR)
	$(Q)ln -sf $(notdir $(shared)) $(DESTDIR)$(LIBDIR)/$(soname)
	$(Q)ln -sf $(soname) $(DESTDIR)$(LIBDIR)/libdispatchkey.so
	$(Q)$(call fill_pc,lib/dispatchkey.pc.in) >$(DESTDIR)$(LIBDIR)/pkgconfig/dispatchkey.pc
	$(Q)$(INSTALL) -m 644 $(headers) $(hpp) $(dest)
	$(Q)$(INSTALL) -m 644 $(uapi) $(nl_uapi) $(dest)/linux
	$(Q)$(INSTALL) -m 755 $(tool) $(DESTDIR)$(BINDIR)

install_nl: nl
	$(Q)$(INSTALL) -d $(DESTDIR)$(LIBDIR)/pkgconfig $(dest)
	$(Q)$(INSTALL) -m 644 $(nl_static) $(DESTDIR)$(LIBDIR)
	$(Q)$(INSTALL) -m 755 $(nl_shared) $(DESTDIR)$(LIBDIR)
	$(Q)ln -sf $(notdir $(nl_shared)) $(DESTDIR)$(LIBDIR)/$(nl_soname)
	$(Q)ln -sf $(nl_soname) $(DESTDIR)$(LIBDIR)/libdispatchkey-nl.so
	$(Q)$(call fill_pc,lib/nl/dispatchkey-nl.pc.in) \
		>$(DESTDIR)$(LIBDIR)/pkgconfig/dispatchkey-nl.pc
	$(Q)$(INSTALL) -m 644 $(nl_header) $(dest)

uninstall:
	$(say) REMOVE $(DESTDIR)$(PREFIX)
	$(Q)rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,$(notdir $(static) $(shared) $(links) \
		$(nl_static) $(nl_shared) $(nl_links)) pkgconfig/dispatchkey.pc \
		pkgconfig/dispatchkey-nl.pc) $(DESTDIR)$(BINDIR)/dkctl
	$(Q)rm -f $(addprefix $(dest)/,$(notdir $(headers) $(nl_header) $(hpp)) \
		$(addprefix linux/,$(notdir $(uapi) $(nl_uapi))))
	$(Q)if [ -d $(dest)/linux ]; then rmdir $(dest)/linux $(dest); fi

# ---- targets: the module ----------------------------------------------------

# O moves what userspace builds; kbuild has one of its own, which is not meant.
kbuild	= $(MAKE) -C $(KDIR) M=$(CURDIR) O=
kernel	= $(DESTDIR)/usr/src/dispatchkey

define need_headers
	@test -e $(KDIR)/Makefile || { \
		echo 'No kernel headers at $(KDIR): install linux-headers-$(shell uname -r) (kernel-devel on Fedora), or name others with "make $@ KDIR=FOLDER".' >&2; \
		exit 1; }
endef

modules:
	$(need_headers)
	+$(Q)$(kbuild) modules

uts_release = $(shell sed -n 's/^\#define UTS_RELEASE "\(.*\)"$$/\1/p' \
	$(KDIR)/include/generated/utsrelease.h 2>/dev/null)
sig_key = $(shell sed -n 's/^CONFIG_MODULE_SIG_KEY="*\([^"]*\)"*$$/\1/p' \
	$(KDIR)/include/config/auto.conf 2>/dev/null)
# A distribution keeps the key: without it sign-file would print errors of OpenSSL.
can_sign = $(if $(sig_key),$(filter pkcs11:%,$(sig_key))$(wildcard $(sig_key) $(KDIR)/$(sig_key)))

# The samples are for trying out and not for a machine's module folder. kbuild
# skips depmod where there is no System.map, as in Debian's headers.
modules_install:
	$(need_headers)
	@test -e dispatchkey.ko || { \
		echo 'There is no dispatchkey.ko yet: type "make modules" first.' >&2; exit 1; }
	@mkdir -p $(O)
	$(Q)grep '/dispatchkey\.k\?o$$' modules.order >$(O)/modules.order
	+$(Q)$(kbuild) INSTALL_MOD_PATH=$(DESTDIR) INSTALL_MOD_DIR=updates \
		$(if $(can_sign),,CONFIG_MODULE_SIG_ALL=) quiet_cmd_depmod= cmd_depmod=: \
		MODORDER=$(abspath $(O))/modules.order modules_install
	$(Q)$(INSTALL) -d $(kernel)/include/linux
	$(Q)$(INSTALL) -m 644 $(headers) $(kernel)/include
	$(Q)$(INSTALL) -m 644 $(uapi) $(kernel)/include/linux
	$(Q)$(INSTALL) -m 644 Module.symvers $(kernel)
	$(if $(can_sign),,@echo 'dispatchkey.ko is not signed: only a kernel with Secure Boot needs that, see README.md.')
ifeq ($(DESTDIR),)
	$(say) DEPMOD $(uts_release)
	$(Q)PATH=$$PATH:/usr/sbin:/sbin depmod $(uts_release) || { \
		echo 'depmod failed, so modprobe cannot find the module: install kmod, then type "depmod $(uts_release)" as root.' >&2; \
		exit 1; }
else
	@echo 'When the files are in place, type "depmod $(uts_release)" as root.'
endif

modules_clean:
	$(need_headers)
	+$(Q)$(kbuild) clean

# ---- targets: manual pages, completion, HTML ----------------------------------

MANDIR	?= $(PREFIX)/share/man
COMPLETIONSDIR ?= $(or $(shell pkg-config --define-variable=datadir=$(PREFIX)/share \
	--variable=completionsdir bash-completion 2>/dev/null),$(PREFIX)/share/bash-completion/completions)
completion := tools/dkctl/completion/dkctl
# Nothing else that is installed needs it, and whoever has none does without.
have_python := $(shell command -v python3 2>/dev/null)

.PHONY: man html install_pages uninstall_pages clean_pages
install: install_pages
uninstall: uninstall_pages
clean: clean_pages

# Made from what the tool says in its help and from the headers, so that they
# cannot disagree.
man: $(O)/man-pages
$(O)/man-pages: $(tool) $(wildcard include/*.h) $(uapi) kmod/exports.c scripts/man-pages \
		$(wildcard scripts/pages/*.py Documentation/man/*.rst Documentation/api/*.rst \
		Documentation/netlink/*.rst Documentation/netlink/specs/*)
	$(say) MAN $(O)/man
	$(Q)rm -rf $(O)/man
	$(Q)python3 scripts/man-pages $(tool) $(O)/man
	@touch $@
	@# root installs from a folder that may be somebody else's, who cleans it
	@if [ "$$(id -u)" = 0 ]; then chown -R --reference=$(O) $(O)/man $@; fi

html: $(tool)
	+$(Q)$(MAKE) -C Documentation html O= BUILDDIR=$(abspath $(O)) DKCTL=$(abspath $(tool))

install_pages: $(if $(have_python),man)
	$(Q)$(INSTALL) -d $(DESTDIR)$(COMPLETIONSDIR)
	$(Q)$(INSTALL) -m 644 $(completion) $(DESTDIR)$(COMPLETIONSDIR)
ifeq ($(have_python),)
	$(say) SKIP 'manual pages: no python3'
else
	$(Q)for page in $(O)/man/man*/*; do \
		dir=$(DESTDIR)$(MANDIR)/$$(basename "$${page%/*}"); \
		$(INSTALL) -d "$$dir" && $(INSTALL) -m 644 "$$page" "$$dir" || exit; \
	done
endif

uninstall_pages:
	$(Q)rm -f $(DESTDIR)$(COMPLETIONSDIR)/$(notdir $(completion))
	$(Q)grep -lsF 'dispatchkey: made by scripts/man-pages' $(DESTDIR)$(MANDIR)/man[3478]/* | \
		xargs rm -f

clean_pages:
	$(Q)rm -rf $(O)/man $(O)/man-pages

# ---- targets: tests ---------------------------------------------------------

# They call make themselves, and are not parts of this one. What the user set
# (O, CC, KDIR, ...) is in their environment.
script	= $(Q)MAKEFLAGS= scripts/$(1)

check:
	$(call script,check)

# SHARE=1: a third of its lanes. LANES= are the lanes to run.
check-all:
	$(call script,check-all $(LANES))

# PROGRAMS=, SEED= and ONLY= say which random programs.
check-torch:
	$(call script,check-torch)

# SHARE=1: a part of it, in minutes.
check-debug:
	$(call script,check-debug)

debug-kernel:
	$(call script,debug-kernel debug kcsan)

# DURATION=, KERNEL=, SEED=, READERS=, WRITERS=, CYCLES=, RESOLVE= say how.
torture:
	$(call script,torture)

# SHARE=1/8: every eighth; JOBS=: so many at a time.
mutants:
	$(call script,mutants)

demo:
	$(call script,demo)

demo-unload:
	$(call script,demo-unload)

# M= is the folder; RUN=, KERNEL= and EDU= say how.
module-vm:
	$(Q)MAKEFLAGS= M='$(M)' scripts/module-vm

bench:
	$(call script,bench)

bench-baseline: lib
	$(Q)DK_BUILD=$(abspath $(O)) selftests/bench/test_instructions.sh --write

bench-readers:
	$(call script,bench-readers)

# WRITE=1 writes the baseline of make check anew; KERNEL= says which series.
bench-kernel:
	$(call script,bench-kernel)

lint:
	$(call script,lint)

kselftest:
	$(Q)$(MAKE) -C selftests O= run_tests

bare:
	$(call script,check-bare)

headers-check:
	$(call script,check-headers)

symbols-check: lib nl $(O)/samples/hello
	$(call script,check-symbols)

define help_text
Build
  all              library, tool and samples (default)
  lib              libdispatchkey.a, $(soname), dispatchkey-uninstalled.pc
  nl               libdispatchkey-nl.a, $(nl_soname), the client of the
                   module; with libnl-3 and libnl-genl-3
  dkctl            the tool
  samples          hello, hello_cpp, library, cpu_user, dk_client, plugin/host
                   with plugin/plugin.so
  man              manual pages, with python3
  html             Documentation/ as HTML, with python3-sphinx and perl
  clean            remove all that was built below $(O)
Install, by PREFIX= ($(PREFIX)), LIBDIR=, DESTDIR=
  install          libraries, headers, .pc files, dkctl
                   and dkctl's completion in bash (COMPLETIONSDIR=), and the
                   manual pages (MANDIR=)
  uninstall        remove them
Module, for the kernel whose build folder is KDIR=
  modules          dispatchkey.ko and the sample drivers
  modules_install  dispatchkey.ko into updates/; headers and Module.symvers
                   into /usr/src/dispatchkey for drivers outside of this tree
  modules_clean    remove what kbuild built
Try and test
  demo             two accelerators in a virtual machine, one unplugged under load
  demo-unload      calls while functions come and go, in PyTorch 1.13.1 and in
                   ours; CALLS=, LIMIT= seconds for PyTorch
  module-vm        build the modules of folder M= and load them in a virtual
                   machine with two cards; RUN= command there, KERNEL=, EDU= cards
  bench            how long calls and registrations take, how many instructions
                   and how much memory, beside PyTorch 1.13.1 where that is; SEED=
  bench-baseline   count instructions anew that make check compares with
  bench-readers    what calls lose while another thread registers; SEED=
  bench-kernel     instructions of calls and registrations in the kernel, beside
                   its own primitives; KERNEL= 6.1, 6.12; WRITE=1: the baseline anew
  check            the tests of everything once, the module's in a virtual machine
  check-all        everything: check, lint, sanitizers, other kernels, mutants;
                   LANES="asan vm ..." chooses, SHARE=1 is a third of the lanes
  check-torch      random programs in ours and in PyTorch 1.13.1, which is
                   installed if missing; PROGRAMS=, SEED=
  check-debug      the kernel tests and the torture under kernels that look for
                   mistakes; SHARE=1: a part of it
  torture          calls while all changes, in userspace and in the kernel;
                   DURATION= seconds, KERNEL=6.1, 6.12, debug, kcsan or none,
                   SEED=, READERS=, WRITERS=, CYCLES=, RESOLVE=1 (by the rules)
  mutants          change one line of the sources at a time, and check that a
                   test fails; SHARE=1/8: every eighth, JOBS= at a time
  debug-kernel     build these kernels (minutes, into the cache)
  kselftest        the kernel tests on this machine (as root)
  lint             warnings of all compilers and checkers
  bare             build core and replay without a libc, see what they need
  headers-check    compile every public header alone, as C and C++
  symbols-check    compare exported symbols with map and headers
Variables: O= output folder ($(O)), V=1 show commands, W=1 kernel warnings,
  CC, CFLAGS, CXX, CXXFLAGS, CPPFLAGS, LDFLAGS
endef
export help_text
help:
	@printf '%s\n' "$$help_text"
