# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# dispatchkey: library, tool, samples, module. "make help" lists the targets.
# The build needs a C compiler, GNU make and liburcu. The client library also
# needs libnl, and the module the headers of a kernel. kbuild reads Kbuild instead of this file.

all:

# These targets remove or install what other targets make. If one of them is given among others, all
# are made one by one, as in the kernel's Makefile, so that each make reads what the last one left.
ordered	:= clean modules_clean modules_install uninstall
ifneq ($(and $(filter $(ordered),$(MAKECMDGOALS)),$(word 2,$(sort $(MAKECMDGOALS)))),)

.PHONY: one_by_one $(MAKECMDGOALS)
$(sort $(MAKECMDGOALS)): one_by_one
	@:
one_by_one:
	@for goal in $(MAKECMDGOALS); do $(MAKE) --no-print-directory "$$goal" || exit; done

else

# ---- what a user may set ----------------------------------------------------

O	?= build
# with an empty O, the output folder would be /
ifeq ($(strip $(O)),)
override O := build
endif
places	:= PREFIX LIBDIR BINDIR INCLUDEDIR MANDIR COMPLETIONSDIR ZSHCOMPLETIONSDIR \
	FISHCOMPLETIONSDIR DOCDIR
# make and the shell would split or interpret these characters in the name of a folder. Only values
# that the user has set are checked; the defaults follow below.
special	:= & | ; < > ( ) ' " ` \ $$ \# :
patterns := { } [ ] * ? %
found	= $(strip $(if $(subst .$(firstword $(1)).,,.$(1).),space) \
	$(foreach c,$(2),$(findstring $c,$(1))))
refuse	= $(if $(3),$(error $(1)'$(2)' would be split or interpreted by make or the shell: use a \
	folder without $(3) in its name))
need_plain = $(call refuse,$v=,$($v),$(call found,$($v),$(special) $(patterns)))
$(call refuse,the source folder ,$(CURDIR),$(call found,$(CURDIR),$(special)))
# Environment variables of these names may be meant for other projects.
ifeq ($(filter install% uninstall% modules_install dkms_install,$(MAKECMDGOALS)),)
places	:=
endif
outputs	:= O KDIR $(if $(places),DESTDIR)
$(foreach v,$(outputs) $(places),$(need_plain))
# The shell expands a ~ at the beginning, but make does so only in some places.
$(foreach v,$(outputs),$(if $(filter ~%,$($v)),$(error $v='$($v)' begins with a ~: write the \
	whole path)))
# Installed files contain these paths, and DESTDIR is put before them.
$(foreach v,$(places),$(if $(filter-out /%,$($v)),$(error $v='$($v)' does not begin with a /: \
	write the whole path (only DESTDIR= and O= may be relative))))
# Without this check, "make install prefix=/usr" would install below /usr/local.
$(foreach v,prefix libdir bindir includedir mandir docdir,$(if $(filter command,\
	$(firstword $(origin $v))),$(error $v= has no effect: write the name in capitals, as in PREFIX=)))
out	:= $(realpath $(O))
ifneq ($(and $(out),$(filter $(out:/=)/%,$(CURDIR)/)),)
$(error O=$(O) is the source folder or contains it: name another folder for the output)
endif
# With it, "cd build" in a script could go elsewhere, and print where.
unexport CDPATH
PREFIX	?= /usr/local
LIBDIR	?= $(PREFIX)/lib
BINDIR	?= $(PREFIX)/bin
INCLUDEDIR ?= $(PREFIX)/include
# kbuild runs in another folder.
override DESTDIR := $(abspath $(DESTDIR))
KDIR	?= /lib/modules/$(shell uname -r)/build
CFLAGS	?= -O2 -g
CXXFLAGS ?= $(CFLAGS)
INSTALL	?= install

# V=1 prints the commands, -s nothing.
silent	:= $(if $(findstring s,$(firstword -$(MAKEFLAGS))),-s)
verbose	:= $(filter 1,$(V))
Q	:= $(if $(verbose),,@)
say	:= $(if $(verbose)$(silent),@:,@printf '  %-7s %s\n')

# ---- the version, which the symbol maps repeat ------------------------------

VERSION	:= $(strip $(file <VERSION))
version	:= $(subst ., ,$(VERSION))
major	:= $(word 1,$(version))
node	:= DISPATCHKEY_$(major).$(word 2,$(version))
map	:= lib/libdispatchkey.map
nl_map	:= lib/nl/libdispatchkey-nl.map
last_node = $(lastword $(filter-out %;,$(filter DISPATCHKEY_%,$(file <$(1)))))
map_node := $(call last_node,$(map))
nl_map_node := $(call last_node,$(nl_map))

ifneq ($(words $(version)),3)
$(error VERSION must be three numbers such as 0.1.0, not "$(VERSION)")
endif
ifneq ($(map_node),$(node))
$(error VERSION says $(VERSION), but the newest node of $(map) is $(map_node), not $(node))
endif
ifneq ($(nl_map_node),$(node:DISPATCHKEY%=DISPATCHKEY_NL%))
$(error VERSION says $(VERSION), but the newest node of $(nl_map) is $(nl_map_node), not $(node:DISPATCHKEY%=DISPATCHKEY_NL%))
endif

# ---- probes of compilers and libraries --------------------------------------

scripts	:= check check-all check-bare check-debug check-headers check-torch compdb \
	deb wheel debug-kernel demo demo-opencl demo-torch demo-unload dist bench bench-kernel \
	bench-readers lint mutants rpm \
	torture
# These targets need no compiler from this file, and therefore no probes.
unprobed := $(scripts) venv bare headers-check demo-board module-vm kselftest tags help clean \
	uninstall uninstall_docs uninstall_pages modules modules_install modules_clean dkms_install

# scripts/config probes, and writes the results to config.mk. It probes again if these settings or
# the compilers' files change, and while something is missing.
settings := CC CPPFLAGS CFLAGS LDFLAGS CXX CXXFLAGS CC_FILE CXX_FILE have
file_of	= $(realpath $(firstword $(wildcard $(1) $(addsuffix /$(1),$(subst :, ,$(PATH))))))
CC_FILE	:= $(call file_of,$(firstword $(CC)))
CXX_FILE := $(call file_of,$(firstword $(CXX)))
have	:= $(filter have_%,$(MAKEOVERRIDES))
export probe_with = settings='$(settings)' $(foreach v,$(settings),$v='$(subst ','\'',$($v))') $(have)
values	= $(strip $(foreach v,$(settings),$v=$($(1)$v)))

# Scripts create these in the output folder, even if it has no config.mk yet.
by_scripts := asan-torch bare bench board check check-all check-debug deb demo fuzz headers lint \
	modules module-vm mutants opencl rpm selftests torch torch-backend torture unload venv \
	wheel dispatchkey-$(VERSION).tar.gz
# "make clean" removes folders by name. So an output folder without a config.mk from scripts/config
# must not contain the user's files. The folder "build" always belongs to the project.
ours	:= $(or $(findstring scripts/config,$(file <$(O)/config.mk)),$(filter $(realpath build),$(out)))
theirs	:= $(if $(ours),,$(filter-out $(by_scripts),$(notdir $(wildcard $(O)/*))))

ifneq ($(filter-out $(unprobed),$(or $(MAKECMDGOALS),all)),)
ifneq ($(theirs),)
$(error O=$(O) has files that "make clean" could remove ($(wordlist 1,5,$(theirs))): name a new \
	or an empty folder)
endif
include $(O)/config.mk
# "make install" installs the files that were built, and does not probe. It takes settings that are
# not given from config.mk, because sudo removes variables that the user has exported.
installing := $(if $(filter-out install% $(unprobed),$(or $(MAKECMDGOALS),all)),,yes)
given	= $(filter command environment,$(firstword $(origin $(1))))$(filter $(1),$(if $(have),have))
$(foreach v,$(if $(installing),$(settings)),$(if $(call given,$v)$(filter undefined,\
	$(origin probed_$v)),,$(eval $v = $$(probed_$v))))
again	:= $(filter config,$(MAKECMDGOALS))
again	+= $(if $(or $(installing),$(and $(have_nl),$(have_sdt),$(have_cxx),$(have_python))),,missing)
ifneq ($(call values,probed_),$(call values,))
again	+= changed
endif
# FORCE is left out after make has restarted with a new config.mk.
$(O)/config.mk: scripts/config $(if $(MAKE_RESTARTS),,$(if $(strip $(again)),FORCE))
	@scripts/config $(silent) $(if $(filter config,$(again)),-v) $@
endif

# ---- outputs and their sources ----------------------------------------------

include lib/core/Makefile.objs

core	:= $(patsubst %,$(O)/lib/core/%.o,$(dkc-objs))
world	:= $(patsubst %.c,$(O)/%.o,$(sort $(wildcard lib/*.c lib/pytorch/*.c lib/schema/*.c)))
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
samples	:= $(addprefix $(O)/samples/,hello library cpu_user dk_client) \
	$(addprefix $(O)/samples/plugin/,host plugin.so) \
	$(if $(have_cxx),$(O)/samples/hello_cpp)
# Built by scripts/demo-opencl, which installs what it needs.
opencl	:= $(patsubst %.c,$(O)/%.o,$(sort $(wildcard samples/opencl/*.c)))

nl_header := include/dispatchkey-nl.h
headers	:= $(filter-out $(nl_header),$(sort $(wildcard include/*.h)))
hpp	:= $(sort $(wildcard include/*.hpp))
uapi	:= uapi/linux/dispatchkey.h
nl_uapi	:= uapi/linux/dispatchkey_netlink.h

# ---- flags and rules --------------------------------------------------------

warnings := -Wall -Wextra -Wno-unused-parameter -Wshadow -Wundef -Wvla \
	-Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings
sdt	:= $(if $(have_sdt),-DDKC_PROBES)
flags	= -std=gnu11 -D_GNU_SOURCE -pthread $(warnings) -Iinclude -Iuapi \
	-DDK_VERSION='"$(VERSION)"' $(CPPFLAGS) $(if $(for_size),$(patsubst -O2,-Os,$(CFLAGS)),$(CFLAGS))

# Makes the built files independent of the project's folder. Not in $(O)/flags,
# because nothing need be built again when the folder has moved.
same_paths := -ffile-prefix-map=$(CURDIR)=.

# Only what the public header declares is exported. Calls inside the library and
# accesses to thread-local data cost no more than in a program.
$(core) $(world): local_flags := $(sdt) -fPIC -fvisibility=hidden \
	-fno-semantic-interposition -ftls-model=initial-exec -include lib/public.h
fast	:= $(patsubst %,$(O)/lib/core/%.o,$(dkc-fast))
# The objects of $(fast) are built with -O2, but their functions are not aligned, which saves space.
$(fast): last_flags := -falign-functions=1
# private, so that the prerequisite $(O)/flags of these objects does not inherit the variable.
$(filter-out $(fast),$(core) $(world)): private for_size := yes
# Exceptions of boxed functions in C++ pass through it. On 32-bit Arm, code in C has no tables
# for that by default.
$(O)/lib/core/call/boxed.o: local_flags += -fexceptions
# twins.c defines the functions that are otherwise only inline in the headers.
$(O)/lib/twins.o: last_flags := -DDK_INLINE= -Wno-missing-prototypes
$(replay) $(dkctl): local_flags := -Ilib -Ilib/core -Ilib/replay
$(O)/samples/plugin/plugin.o: local_flags := -fPIC

# With a sanitizer -z defs would fail: only programs are linked with its runtime.
# -z now, because with lazy binding a call in a signal handler could wait for a
# lock of the dynamic linker, and the table of addresses would stay writable.
defs	= $(if $(findstring -fsanitize,$(CC) $(CFLAGS) $(LDFLAGS)),,-Wl,-z,defs)
now	:= -Wl,-z,relro -Wl,-z,now
so_flags = -shared -Wl,-soname,$(soname) -Wl,--version-script=$(map) $(defs) \
	-Wl,-z,nodelete $(now) -Wl,-Bsymbolic-functions

urcu	:= -lurcu-bp
beside	= -L$(O) -Wl,-rpath,'$$ORIGIN/$(1)'

$(nl): local_flags := -fPIC -fvisibility=hidden $(nl_flags)

nl_so_flags = -shared -Wl,-soname,$(nl_soname) -Wl,--version-script=$(nl_map) $(defs) \
	$(now) -Wl,-Bsymbolic-functions

# The part of dkctl that queries a running kernel, or its replacement without libnl.
dkctl_live := $(patsubst %.c,$(O)/%.o,$(sort $(wildcard \
	tools/dkctl/$(if $(have_nl),live,nolive)/*.c)))
$(dkctl_live): local_flags := -Ilib -Ilib/core -Ilib/replay
dkctl	+= $(dkctl_live)

# These two files are written only if their content changes. New flags cause everything to be built
# again. If a source was added or removed, the files that contain its code are linked again. O is
# left out here and in the .d files, because scripts use another name for the same folder.
export flags_text = $(CC) $(flags) $(sdt) $(LDFLAGS)
export objects_text = $(patsubst $(O)/%,%,$(core) $(world) $(replay) $(dkctl) $(nl))
$(O)/flags $(O)/objects: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' "$$$(@F)_text" | cmp -s - $@ || printf '%s\n' "$$$(@F)_text" >$@

$(O)/%.o: %.c $(O)/flags Makefile lib/core/Makefile.objs
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(flags) $(same_paths) $(local_flags) $(last_flags) -MMD -MP -MT '$$(O)/$*.o' -c $< -o $@

-include $(patsubst %.o,%.d,$(core) $(world) $(replay) $(dkctl) $(nl)) \
	$(wildcard $(O)/samples/*.d $(O)/samples/plugin/*.d $(O)/samples/opencl/*.d)

# GCC with -flto would write its intermediate code to a relocatable object, and "strip"
# removes that from packages. With one partition, no static function becomes global. clang
# has no such options, and writes machine code.
to_code	= $(if $(findstring -flto,$(CC) $(CFLAGS)),$(shell $(CC) -flinker-output=nolto-rel -E -xc \
	/dev/null >/dev/null 2>&1 && echo -flinker-output=nolto-rel -flto-partition=one))
relocatable = $(CC) -r -nostdlib $(same_paths) $(filter -m% -flto%,$(CFLAGS)) $(to_code)

# The static library is one object, so every program that uses a part of it also
# gets the constructor that fills the tables of layouts.
$(O)/dispatchkey.o: $(core) $(world) $(O)/objects
	$(say) LD $@
	$(Q)$(relocatable) -o $@ $(core) $(world)

$(static): $(O)/dispatchkey.o
	$(say) AR $@
	$(Q)rm -f $@
	$(Q)$(AR) rcsD $@ $<

$(shared): $(core) $(world) $(O)/objects $(map)
	$(say) LD $@
	$(Q)$(CC) -pthread $(CFLAGS) $(LDFLAGS) $(so_flags) -o $@ $(core) $(world) $(urcu)

$(links): $(shared)
	$(Q)ln -sf $(<F) $@

# These files name two folders, and are made again after a folder was moved or copied.
moved	= $(if $(filter-out $(file <$(1)),srcdir=$(CURDIR) libdir=$(abspath $(O))),FORCE)

$(pc): lib/dispatchkey-uninstalled.pc.in VERSION $(call moved,$(pc))
	@mkdir -p $(@D)
	$(Q)sed -e 's|@SRCDIR@|$(CURDIR)|; s|@BUILDDIR@|$(abspath $(O))|' \
		-e 's|@VERSION@|$(VERSION)|' $< >$@

$(O)/dispatchkey-nl.o: $(nl) $(O)/objects
	$(say) LD $@
	$(Q)$(relocatable) -o $@ $(nl)

$(nl_static): $(O)/dispatchkey-nl.o
	$(say) AR $@
	$(Q)rm -f $@
	$(Q)$(AR) rcsD $@ $<

$(nl_shared): $(nl) $(O)/objects $(nl_map)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(nl_so_flags) -o $@ $(nl) $(nl_libs)

$(nl_links): $(nl_shared)
	$(Q)ln -sf $(<F) $@

$(nl_pc): lib/nl/dispatchkey-nl-uninstalled.pc.in VERSION $(call moved,$(nl_pc))
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

$(O)/samples/hello_cpp: samples/hello.cpp $(hpp) $(headers) $(uapi) $(O)/flags $(links)
	$(say) CXX $@
	@mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 -pthread -Wall -Wextra -Iinclude -Iuapi $(CPPFLAGS) \
		$(CXXFLAGS) $(same_paths) $(LDFLAGS) -o $@ $< $(call beside,..) -ldispatchkey

# dk_client uses the module and not the library.
$(O)/samples/dk_client: $(O)/samples/client.o
	$(say) LD $@
	$(Q)$(CC) -pthread $(CFLAGS) $(LDFLAGS) -o $@ $<

$(O)/samples/plugin/host: %: %.o $(links)
	$(say) LD $@
	$(Q)$(CC) -pthread $(CFLAGS) $(LDFLAGS) -o $@ $< $(call beside,../..) -ldispatchkey -ldl

$(O)/samples/plugin/plugin.so: %.so: %.o $(links)
	$(say) LD $@
	$(Q)$(CC) -shared -pthread $(CFLAGS) $(LDFLAGS) -o $@ $< $(call beside,../..) -ldispatchkey

$(O)/samples/opencl/demo: $(opencl) $(links)
	$(say) LD $@
	$(Q)$(CC) -pthread $(CFLAGS) $(LDFLAGS) -o $@ $(opencl) $(call beside,../..) -ldispatchkey -lOpenCL

# ---- targets: build ---------------------------------------------------------

.PHONY: all lib nl dkctl samples config install install_nl symbols-check bench-baseline
.PHONY: abi-check abi-baseline
.PHONY: $(unprobed)
.PHONY: FORCE
.DELETE_ON_ERROR:
.SUFFIXES:

all: lib nl dkctl samples
ifeq ($(silent),)
	@echo
	@echo 'Built in $(O), version $(VERSION): libdispatchkey$(if $(have_nl), and libdispatchkey-nl) (.a, .so.$(major)), dkctl, samples.'
	@echo 'Next:'
	@echo '  $(O)/samples/hello    a tensor, an operator, a tracer'
	@echo '  make demo    calls routed to two accelerators in a virtual machine'
	@echo '  make check   all tests'
	@echo '  make help    all other targets'
endif

# config.mk is made when make reads this file, so nothing is left to do.
config:
	@:

lib: $(static) $(links) $(pc)
nl: $(if $(have_nl),$(nl_static) $(nl_links) $(nl_pc))
dkctl: $(tool)
samples: $(samples)

# config.mk is removed last, so that an interrupted clean can be repeated.
clean:
	$(Q)rm -f compile_commands.json tags
ifneq ($(ours),)
	$(say) CLEAN $(O)
	$(Q)rm -rf $(static) $(links) $(shared) $(pc) $(nl_static) $(nl_links) $(nl_shared) $(nl_pc) \
		$(addprefix $(O)/,lib tools samples man html doctrees $(by_scripts) dispatchkey.o \
		dispatchkey-nl.o dkctl man-pages flags objects config.mk)
	$(Q)rmdir --ignore-fail-on-non-empty $(out)
else ifneq ($(out),)
	@echo 'make clean: $(O) has no config.mk from scripts/config, so nothing was removed.'
endif

# ---- targets: install -------------------------------------------------------

dest	 = $(DESTDIR)$(INCLUDEDIR)/dispatchkey
# a .pc file names folders relative to its prefix, so the installed files can be moved
by_prefix = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))

# fill_pc FILE.in - prints the file with folders and version filled in
fill_pc	= sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(call by_prefix,$(LIBDIR))|' \
	-e 's|@INCLUDEDIR@|$(call by_prefix,$(INCLUDEDIR))|' -e 's|@VERSION@|$(VERSION)|' $(1)

# fill_cmake FILE.in - the same for cmake, with the path from its folder to the headers
cmake	= $(LIBDIR)/cmake/dispatchkey
fill_cmake = sed -e 's|@VERSION@|$(VERSION)|; s|@MAJOR@|$(major)|' \
	-e "s|@TO_INCLUDEDIR@|$$(realpath -ms --relative-to=$(cmake) $(INCLUDEDIR)/dispatchkey)|" $(1)

install: lib dkctl $(if $(have_nl),install_nl)
	$(say) INSTALL $(DESTDIR)$(PREFIX)
	$(Q)$(INSTALL) -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(BINDIR) $(dest)/linux
	$(Q)$(INSTALL) -m 644 $(static) $(DESTDIR)$(LIBDIR)
	$(Q)$(INSTALL) -m 755 $(shared) $(DESTDIR)$(LIBDIR)
	$(Q)ln -sf $(notdir $(shared)) $(DESTDIR)$(LIBDIR)/$(soname)
	$(Q)ln -sf $(soname) $(DESTDIR)$(LIBDIR)/libdispatchkey.so
	$(Q)umask 022; $(call fill_pc,lib/dispatchkey.pc.in) >$(DESTDIR)$(LIBDIR)/pkgconfig/dispatchkey.pc
	$(Q)$(INSTALL) -d $(DESTDIR)$(cmake)
	$(Q)umask 022; for file in dispatchkeyConfig.cmake dispatchkeyConfigVersion.cmake; do \
		$(call fill_cmake,lib/cmake/$$file.in) >$(DESTDIR)$(cmake)/$$file || exit; \
	done
	$(Q)$(INSTALL) -m 644 $(headers) $(hpp) $(dest)
	$(Q)$(INSTALL) -m 644 $(uapi) $(nl_uapi) $(dest)/linux
	$(Q)$(INSTALL) -m 755 $(tool) $(DESTDIR)$(BINDIR)

install_nl: nl
	$(Q)$(INSTALL) -d $(DESTDIR)$(LIBDIR)/pkgconfig $(dest)
	$(Q)$(INSTALL) -m 644 $(nl_static) $(DESTDIR)$(LIBDIR)
	$(Q)$(INSTALL) -m 755 $(nl_shared) $(DESTDIR)$(LIBDIR)
	$(Q)ln -sf $(notdir $(nl_shared)) $(DESTDIR)$(LIBDIR)/$(nl_soname)
	$(Q)ln -sf $(nl_soname) $(DESTDIR)$(LIBDIR)/libdispatchkey-nl.so
	$(Q)umask 022; $(call fill_pc,lib/nl/dispatchkey-nl.pc.in) \
		>$(DESTDIR)$(LIBDIR)/pkgconfig/dispatchkey-nl.pc
	$(Q)$(INSTALL) -m 644 $(nl_header) $(dest)

uninstall:
	$(say) REMOVE $(DESTDIR)$(PREFIX)
	$(Q)rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,$(notdir $(static) $(shared) $(links) \
		$(nl_static) $(nl_shared) $(nl_links)) pkgconfig/dispatchkey.pc \
		pkgconfig/dispatchkey-nl.pc) $(DESTDIR)$(BINDIR)/dkctl
	$(Q)rm -f $(addprefix $(dest)/,$(notdir $(headers) $(nl_header) $(hpp)) \
		$(addprefix linux/,$(notdir $(uapi) $(nl_uapi))))
	$(Q)rm -f $(addprefix $(DESTDIR)$(cmake)/,dispatchkeyConfig.cmake dispatchkeyConfigVersion.cmake)
	$(Q)for dir in $(dest)/linux $(dest) $(DESTDIR)$(cmake); do \
		[ ! -d "$$dir" ] || rmdir --ignore-fail-on-non-empty "$$dir" || exit; \
	done

# ---- targets: the module ----------------------------------------------------

# O is the output folder of userspace. kbuild also has a variable O, which must not be set. Even an
# empty O would hide the KBUILD_OUTPUT of Debian's headers since 7.0.
MAKEOVERRIDES := $(filter-out O=%,$(MAKEOVERRIDES))
kbuild	= $(MAKE) -C $(KDIR) M=$(CURDIR) KCFLAGS='$(same_paths) $(KCFLAGS)'
kernel	= $(DESTDIR)/usr/src/dispatchkey

define need_headers
	@test -e $(KDIR)/Makefile || { \
		echo 'No kernel headers at $(KDIR): install linux-headers-$(shell uname -r) (kernel-devel on Fedora), or name another folder with "make $@ KDIR=FOLDER".' >&2; \
		exit 1; }
endef

modules:
	$(need_headers)
	+$(Q)$(kbuild) modules

uts_release = $(shell sed -n 's/^\#define UTS_RELEASE "\(.*\)"$$/\1/p' \
	$(KDIR)/include/generated/utsrelease.h 2>/dev/null)
sig_key = $(shell sed -n 's/^CONFIG_MODULE_SIG_KEY="*\([^"]*\)"*$$/\1/p' \
	$(KDIR)/include/config/auto.conf 2>/dev/null)
# Modules are signed only if the key is here. Distributions do not publish theirs, and
# without a key sign-file would print errors of OpenSSL.
can_sign = $(if $(sig_key),$(filter pkcs11:%,$(sig_key))$(wildcard $(sig_key) $(KDIR)/$(sig_key)))

# Only dispatchkey.ko is installed, and not the samples: kbuild installs the modules that
# modules.order lists, so during the installation that file has only one line. depmod is run here,
# because kbuild skips it if there is no System.map, as in Debian's headers.
modules_install:
	$(need_headers)
	@test -e dispatchkey.ko || { \
		echo 'There is no dispatchkey.ko yet: type "make modules" first.' >&2; exit 1; }
	@grep -qF 'vermagic=$(uts_release) ' dispatchkey.ko || { \
		echo 'dispatchkey.ko was built for another kernel than $(uts_release): type "make modules KDIR=$(KDIR)" first.' >&2; \
		exit 1; }
	@test -e modules.order || { \
		echo 'There is no modules.order: type "make modules" first.' >&2; exit 1; }
	+$(Q)mv modules.order modules.order.all || exit; \
		trap 'mv -f modules.order.all modules.order' EXIT; trap 'exit 1' HUP INT TERM; \
		grep -E '(^|/)dispatchkey\.k?o$$' modules.order.all >modules.order || exit; \
		umask 022; $(kbuild) INSTALL_MOD_PATH=$(DESTDIR) INSTALL_MOD_DIR=updates \
		$(if $(can_sign),,CONFIG_MODULE_SIG_ALL=) quiet_cmd_depmod= cmd_depmod=: \
		modules_install
	$(install_for_drivers)
	$(Q)$(INSTALL) -d $(kernel)/$(uts_release)
	$(Q)umask 022; sed 's|	$(CURDIR)/|	|' Module.symvers >$(kernel)/$(uts_release)/Module.symvers
	$(if $(can_sign),,@echo 'dispatchkey.ko is not signed. Only a kernel with Secure Boot needs a signature: see Documentation/install.rst.')
ifeq ($(DESTDIR),)
	$(say) DEPMOD $(uts_release)
	$(Q)PATH=$$PATH:/usr/sbin:/sbin depmod $(uts_release) || { \
		echo 'depmod failed, so modprobe cannot find the module: install kmod, then type "depmod $(uts_release)" as root.' >&2; \
		exit 1; }
else
	@echo 'When the files are in place, type "depmod $(uts_release)" as root.'
endif

define install_for_drivers
	$(Q)$(INSTALL) -d $(kernel)/include/linux
	$(Q)$(INSTALL) -m 644 $(headers) $(kernel)/include
	$(Q)$(INSTALL) -m 644 $(uapi) $(kernel)/include/linux
endef

# Installs the sources of the module alone, in the folder that dkms expects.
dkms	= $(DESTDIR)/usr/src/dispatchkey-$(VERSION)
dkms_sources := VERSION Kbuild $(headers) $(uapi) $(nl_uapi) lib/core/Makefile.objs \
	$(wildcard kmod/*.[ch] lib/core/*/*.[ch])

dkms_install:
	$(say) INSTALL $(dkms)
	$(Q)for file in $(dkms_sources); do \
		$(INSTALL) -D -m 644 $$file $(dkms)/$$file || exit; \
	done
	$(Q)$(INSTALL) -m 755 packaging/dkms/symvers $(dkms)
	$(Q)umask 022; sed 's/@VERSION@/$(VERSION)/' packaging/dkms/dkms.conf >$(dkms)/dkms.conf
	$(install_for_drivers)
ifeq ($(DESTDIR),)
	@echo 'To build and install the module for this kernel and for each later one, type "dkms install dispatchkey/$(VERSION)" as root.'
endif

modules_clean:
	$(need_headers)
	+$(Q)$(kbuild) clean

# ---- targets: README, samples and the specification of the netlink family ------

DOCDIR	?= $(PREFIX)/share/doc/dispatchkey
netlink_spec := Documentation/netlink/specs/dispatchkey.yaml
# The sources of the samples, without the files that kbuild generates in the same folders.
sample_sources := $(filter-out %.mod.c,$(sort $(wildcard $(addprefix samples/,*.c *.h *.cpp *.py \
	*.sh */*.c */*.cpp */*.h */*.hpp */*.ld */*.py */run */Makefile))))

.PHONY: install_docs uninstall_docs
install: install_docs
uninstall: uninstall_docs

install_docs:
	$(Q)for file in README.md $(sample_sources); do \
		$(INSTALL) -D -m 644 $$file $(DESTDIR)$(DOCDIR)/$$file || exit; \
	done
	$(Q)$(INSTALL) -m 644 $(netlink_spec) $(DESTDIR)$(DOCDIR)

# A folder that contains other files is not removed.
uninstall_docs:
	$(Q)rm -f $(addprefix $(DESTDIR)$(DOCDIR)/,README.md $(notdir $(netlink_spec)) \
		$(sample_sources))
	$(Q)for dir in $(filter-out samples/,$(sort $(dir $(sample_sources)))) samples/ ''; do \
		dir=$(DESTDIR)$(DOCDIR)/$$dir; \
		[ ! -d "$$dir" ] || rmdir --ignore-fail-on-non-empty "$$dir" || exit; \
	done

# ---- targets: manual pages, completion, HTML ----------------------------------

MANDIR	?= $(PREFIX)/share/man
COMPLETIONSDIR ?= $(or $(shell pkg-config --define-variable=datadir=$(PREFIX)/share \
	--variable=completionsdir bash-completion 2>/dev/null),$(PREFIX)/share/bash-completion/completions)
ZSHCOMPLETIONSDIR ?= $(PREFIX)/share/zsh/site-functions
FISHCOMPLETIONSDIR ?= $(PREFIX)/share/fish/vendor_completions.d

.PHONY: man html install_pages
install: install_pages
uninstall: uninstall_pages

# The pages are generated from the tool's help and from the headers, so they always agree.
man: $(O)/man-pages
$(O)/man-pages: $(tool) $(wildcard include/*.h) $(uapi) kmod/exports.c scripts/man-pages \
		$(wildcard scripts/pages/*.py Documentation/man/*.rst Documentation/api/*.rst \
		Documentation/netlink/*.rst Documentation/netlink/specs/*) packaging/debian/changelog
	@command -v python3 >/dev/null || { \
		echo 'make man: python3 is missing: apt-get install python3' >&2; exit 1; }
	$(say) MAN $(O)/man
	$(Q)rm -rf $(O)/man
	$(Q)python3 scripts/man-pages $(tool) $(O)/man
	@touch $@
	@# if root installs from a user's folder, the user must still be able to clean it
	@if [ "$$(id -u)" = 0 ]; then chown -R --reference=$(O) $(O)/man $@; fi

html: $(tool)
	+$(Q)$(MAKE) -C Documentation html O= BUILDDIR=$(abspath $(O)) DKCTL=$(abspath $(tool))

install_pages: $(if $(have_python),man)
	$(Q)$(INSTALL) -d $(DESTDIR)$(COMPLETIONSDIR) $(DESTDIR)$(ZSHCOMPLETIONSDIR) \
		$(DESTDIR)$(FISHCOMPLETIONSDIR)
	$(Q)$(INSTALL) -m 644 tools/dkctl/completion/dkctl $(DESTDIR)$(COMPLETIONSDIR)
	$(Q)$(INSTALL) -m 644 tools/dkctl/completion/_dkctl $(DESTDIR)$(ZSHCOMPLETIONSDIR)
	$(Q)$(INSTALL) -m 644 tools/dkctl/completion/dkctl.fish $(DESTDIR)$(FISHCOMPLETIONSDIR)
ifneq ($(have_python),)
	$(Q)for page in $(O)/man/man*/*; do \
		dir=$(DESTDIR)$(MANDIR)/$$(basename "$${page%/*}"); \
		$(INSTALL) -d "$$dir" && $(INSTALL) -m 644 "$$page" "$$dir" || exit; \
	done
endif

uninstall_pages:
	$(Q)rm -f $(DESTDIR)$(COMPLETIONSDIR)/dkctl $(DESTDIR)$(ZSHCOMPLETIONSDIR)/_dkctl \
		$(DESTDIR)$(FISHCOMPLETIONSDIR)/dkctl.fish
	$(Q)grep -lsF 'dispatchkey: made by scripts/man-pages' $(DESTDIR)$(MANDIR)/man[3478]/* | \
		xargs rm -f

# ---- targets: tests ---------------------------------------------------------

# The scripts run make themselves, independently of this make. Variables that the
# user has set (O, CC, KDIR, ...) are in their environment.
check-all: arguments = $(LANES)
debug-kernel: arguments = debug kcsan
$(scripts):
	$(Q)MAKEFLAGS= scripts/$@ $(arguments)

.PHONY: venv
venv:
	$(Q)MAKEFLAGS= scripts/wheel --venv

bare: check-bare
headers-check: check-headers

# The group of packages in scripts/packages for each board.
BOARD	?= riscv64-virt
packages_riscv64-virt := board-riscv64
packages_mps2-an385 := board-arm
# Variables of these names in the environment may be meant for other projects. Those on make's
# command line reach the board's Makefile through the environment.
demo-board:
	$(Q)[ -n "$(packages_$(BOARD))" ] || { \
		echo 'demo-board: no board "$(BOARD)": use riscv64-virt or mps2-an385' >&2; exit 2; }
	$(Q)scripts/ensure-deps $(packages_$(BOARD))
	$(Q)[ -e "$(O)/board/$(BOARD)/main.elf" ] || \
		echo "demo-board: compiling the dispatcher and the program (about 10 seconds)"
	$(Q)env $(foreach v,CFLAGS TOP PROGRAM,$(if $(filter environment,$(origin $v)),-u $v)) \
		MAKEFLAGS= $(MAKE) -s -j$$(nproc) -C samples/board \
		O=$(abspath $(O))/board/$(BOARD) BOARD=$(BOARD) run

# M= is the folder of the modules; the script reads RUN=, KERNEL=, EDU= and TIMEOUT= from the
# environment.
module-vm:
	$(Q)MAKEFLAGS= M='$(M)' scripts/module-vm

bench-baseline: lib
	$(Q)DK_BUILD=$(abspath $(O)) selftests/bench/test_instructions.sh --write

# ctags is not in scripts/packages, because nothing else needs it.
tags:
	$(Q)command -v ctags >/dev/null || \
		{ echo 'make tags: ctags is missing: apt-get install universal-ctags' >&2; exit 1; }
	$(Q)ctags -R include uapi lib kmod samples tools selftests

kselftest:
	$(Q)$(MAKE) -C selftests O= run_tests

symbols-check: lib nl $(O)/samples/hello
	$(Q)MAKEFLAGS= scripts/check-symbols

abi-check abi-baseline: lib nl
	$(Q)MAKEFLAGS= O=$(O) scripts/check-abi $(if $(filter abi-baseline,$@),--write)

define help_text
Build
  all              library, tool and samples (default)
  lib              libdispatchkey.a, $(soname), dispatchkey-uninstalled.pc
  nl               libdispatchkey-nl.a, $(nl_soname), the client of the
                   module; needs libnl-3 and libnl-genl-3
  dkctl            the tool
  samples          hello, hello_cpp, library, cpu_user, dk_client, plugin/host
                   with plugin/plugin.so
  man              manual pages; needs python3
  html             Documentation/ as HTML; needs python3-sphinx and perl
  config           search for compilers and libraries again, and print the results
  clean            remove everything that was built below $(O)
Install; folders: PREFIX= ($(PREFIX)), LIBDIR=, BINDIR=, INCLUDEDIR=, DESTDIR=
  install          libraries, headers, files for pkg-config and cmake, dkctl
                   and dkctl's completion in bash (COMPLETIONSDIR=), zsh
                   (ZSHCOMPLETIONSDIR=) and fish (FISHCOMPLETIONSDIR=), and the
                   manual pages (MANDIR=); README, samples and the YAML
                   specification of the netlink family (DOCDIR=)
  uninstall        remove the installed files
Module, for the kernel whose build folder is KDIR=
  modules          dispatchkey.ko and the sample drivers
  modules_install  dispatchkey.ko into updates/; headers and Module.symvers
                   into /usr/src/dispatchkey, for drivers outside of this tree
  dkms_install     the module's sources, from which dkms builds for each kernel
  modules_clean    remove what kbuild built
Packages
  dist             the committed sources as $(O)/dispatchkey-$(VERSION).tar.gz
  deb              Debian packages in $(O)/deb/, checked by lintian
  rpm              RPM packages in $(O)/rpm/; needs rpmbuild
  wheel            the Python package with the library in $(O)/wheel/, for pip
  venv             the same, installed in $(O)/venv/ for the Python that has PyTorch
Try and test
  demo             two accelerators in a virtual machine, one unplugged under load
  demo-opencl      a runtime of OpenCL devices and the CPU under load, with a device
                   removed and one added; DK_SECONDS= of load
  demo-unload      calls while functions are registered and unregistered, here
                   and in PyTorch 1.13.1; CALLS=, LIMIT= seconds for PyTorch
  demo-torch       a backend for PyTorch 1.13.1: a network is trained on a card
                   that is unplugged during the training; STEPS=
  demo-board       a program without an operating system on an emulated board;
                   BOARD=riscv64-virt or mps2-an385
  module-vm        build the modules of folder M= and load them in a virtual
                   machine with two cards; RUN= command there, KERNEL=6.1,
                   6.12, debug or kcsan, EDU= cards, TIMEOUT= seconds
  bench            times, instructions and memory of calls and registrations,
                   here and, if installed, in PyTorch 1.13.1; SEED=
  bench-baseline   update the instruction counts with which make check compares
  bench-readers    how much calls slow down while another thread registers; SEED=
  bench-kernel     instructions of calls and registrations in the kernel, and of
                   the kernel's primitives; KERNEL= 6.1, 6.12; WRITE=1: new baseline
  check            short tests of every part, the module's in a virtual machine
  check-all        everything: check, lint, sanitizers, other kernels, mutants;
                   LANES="asan vm ..." runs only these, SHARE=1 the next eighth of them
  check-torch      random programs here and in PyTorch 1.13.1, which is
                   installed if missing; PROGRAMS=, SEED=
  check-debug      the kernel tests and the torture on kernels with checkers;
                   SHARE=1: a part of it
  torture          calls during changes of all kinds, in userspace and in the kernel;
                   DURATION= seconds, KERNEL=6.1, 6.12, debug, kcsan or none,
                   SEED=, READERS=, WRITERS=, CYCLES=, RESOLVE=1 (by the rules)
  mutants          change one line of the sources at a time, and check that a
                   test fails; SHARE=1/8: every eighth, JOBS= at a time
  debug-kernel     build the kernels with checkers (minutes, into the cache)
  kselftest        the kernel tests on this machine (as root)
  lint             warnings of all compilers and checkers
  bare             build core and replay without a libc, and list what they need;
                   BARE_CC= compilers, BARE_CFLAGS= their options
  headers-check    compile every public header alone, as C and C++
  symbols-check    compare exported symbols with map and headers
  abi-check        compare symbols, their types and constants with lib/abi, those of
                   the last version; needs abidiff
  abi-baseline     replace lib/abi by the present symbols, types and constants
  compdb           compile_commands.json, for clangd
  tags             tags, for editors; needs ctags
Variables: O= output folder ($(O)), which must be new or empty at first; V=1 show commands,
  W=1 kernel warnings; CC, CFLAGS, CXX, CXXFLAGS, CPPFLAGS, LDFLAGS
endef
export help_text
help:
	@printf '%s\n' "$$help_text"

endif
