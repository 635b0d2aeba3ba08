# rest_fcgi: a server for Salt's API, over FastCGI and HTTP. The targets are listed below; src/README.md explains the code.
#
#   make              builds build/rest_fcgi and its two helper programs
#   make demo         sets up, builds, starts rest_fcgi behind an nginx of its own and sends example requests
#   make demo-stop    stops the rest_fcgi and the nginx that `make demo` started
#   make test         sets up, builds and runs every test, against one real Salt
#   make unit         builds and runs the unit tests; COMPONENTS="core auth" limits them
#   make wire         builds and runs the tests of the running program; SELECT=tls limits them by name
#   make test-salt    runs the tests with a real Salt on each release series, beside Salt's own client; SELECT limits them
#   make test-series  runs the most important tests with a real Salt on the release series that `make test` does not use
#   make record-salt  records the answers of Salt's own client again, in test/vectors
#   make sanitize     runs the tests under the address, undefined-behaviour and thread sanitizers
#   make nightly      runs the long tests: all of test-salt, hundreds of kills, coverage, `make each`, sanitizers, Debian 13
#   make ci-here      runs the checks of .ci/run without a new Debian
#   make soak         runs all kinds of requests for an hour with each engine; SOAK_SECONDS sets the time; tables in build/soak
#   make fuzz         fuzzes the parsers of untrusted input; test/fuzz/Makefile lists its variables
#   make bench        measures rest_fcgi and comparable servers; tables in build/bench; test/bench/Makefile lists its variables
#   make bench-check  compares the figures of `make bench` with the goals
#   make lint         checks format, dependencies, clang's warnings and clang-tidy; SINCE=COMMIT checks only later changes
#   make each         checks that each source file compiles alone; SINCE=COMMIT checks only later changes
#   make coverage     reports which lines the unit tests run
#   make format       formats the sources
#   make deps         installs the missing Debian packages, with sudo if it is needed
#   make deb          builds Debian's package into build/deb, with LTO=1
#   make install      installs into $(DESTDIR)$(PREFIX); PREFIX=/usr puts files where Debian expects them
#   make uninstall    removes the installed files; the configuration stays
#   make clean        removes build/
#   make help         prints this text
#
# Variables: V=1 shows commands; CXX=clang++ chooses the compiler; BUILD=DIR builds elsewhere; LTO=1 optimizes at link
# time, as packages do; SAN=address,undefined or SAN=thread adds sanitizers; SKIP_DEPS=1 installs nothing; DEMO_PORT=8080;
# PREFIX=/usr/local; AS_BUILT=1 installs or packs the programs of an earlier build; CXXFLAGS, LDFLAGS.

# By default, make runs as many jobs in parallel as the host has processors. `make -j N` sets another number.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif
ifneq ($(filter clean,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

ifeq ($(origin CXX),default)
CXX := g++
endif
CXXFLAGS  ?= -O2 -g1
PYTHON    ?= /usr/bin/python3
PREFIX    ?= /usr/local
BUILD     ?= build
DEMO_PORT ?= 8080
LTO       ?=
SAN       ?=

Q     := $(if $(V),,@)
say    = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)')
phase  = @printf '[%s] %s\n' '$(1)' '$(2)'
comma := ,
space := $(subst ,, )

.PHONY: all help FORCE
.DELETE_ON_ERROR:
HELPERS := $(BUILD)/rest_fcgi_pam $(BUILD)/rest_fcgi_run
all: $(BUILD)/rest_fcgi $(HELPERS)

help:
	@sed -n '1,/^$$/{/^#/{s/^# \{0,1\}//p}}' Makefile

# ---- Flags

WARNINGS  := -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast \
             -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Wformat=2 -Wundef \
             -Wno-missing-field-initializers # the other fields of a designated initializer have defaults
# Two warnings are off, because g++ 12 gives them wrongly if sanitizers are on (GCC bug 105562, and fences in Asio). The
# sanitizer check `vptr` is off, because it cannot open its pipe in tests that use up all file descriptors.
SANITIZE  := $(if $(SAN),-fsanitize=$(SAN) $(if $(findstring undefined,$(SAN)),-fno-sanitize=vptr) \
             -fno-omit-frame-pointer -Wno-unknown-warning-option -Wno-maybe-uninitialized -Wno-tsan)
# With `-z now` and `-fno-plt`, calls into libraries need no stubs. A ping then takes 6 % less CPU.
HARDENING := -fstack-protector-strong $(if $(SAN),,-D_FORTIFY_SOURCE=2) -fPIE -fno-plt
LANGUAGE  := -std=c++20 -pthread -Iinclude -Isrc $(WARNINGS)
FLAGS     := $(LANGUAGE) $(HARDENING) $(SANITIZE)
LINK      := -pthread -pie -fno-plt -Wl,-z,relro,-z,now $(SANITIZE)
LIBS      := -lfcgi -lsimdjson -lyaml-cpp -lyaml -lboost_program_options -lfmt -lssl -lcrypto -lcrypt -lpcre2-8 -lsqlite3 -lcurl -lz -lzmq -lsystemd
COVERAGE  ?=
# Test code is compiled without optimization, which is faster, and without checks for undefined behaviour.
TEST_FLAGS := -O0 -U_FORTIFY_SOURCE $(if $(findstring undefined,$(SAN)),-fno-sanitize=undefined)
# These warnings are off, because g++ -O2 gives them wrongly for precompiled headers of the standard library.
FALSE_ALARMS := -Wno-array-bounds -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread

# If the compiler or its flags change, make builds all files again.
FLAGS_NOW := $(CXX) $(FLAGS) $(CXXFLAGS) $(LDFLAGS) $(LTO) $(shell $(CXX) --version 2>/dev/null | sed -n 1p)
keep = @mkdir -p $(@D); printf '%s\n' $(1) | cmp -s - $@ || printf '%s\n' $(1) > $@
$(BUILD)/flags: FORCE
	$(call keep,'$(FLAGS_NOW)')

# ---- Sources. g++ compiles all files of a component at once, so that it parses their headers only once.

COMPONENTS  ?= $(filter-out helper,$(sort $(patsubst src/%/,%,$(wildcard src/*/ src/*/*/ src/*/*/*/))))
TESTED      ?= $(COMPONENTS) # the components whose unit tests are built
SOURCES     := $(sort $(foreach component,$(COMPONENTS),$(wildcard src/$(component)/*.cc)))
tests_of     = $(sort $(wildcard test/$(1)/*_test.cc))
# g++ compiles the shared test code and the fuzz targets file by file.
SUPPORT     := $(sort $(wildcard test/support/*.cc)) \
               $(if $(filter engine,$(COMPONENTS)),$(filter-out test/fuzz/fuzzer.cc,$(sort $(wildcard test/fuzz/*.cc))))
TESTS       := $(foreach component,$(TESTED),$(call tests_of,$(component))) $(SUPPORT)
PAM_SOURCES := src/helper/pam.cc src/auth/pam_wire.cc src/core/users.cc
RUN_SOURCES := src/helper/run.cc src/process/run_wire.cc

UNITY       := $(BUILD)/unity
unit         = $(UNITY)/$(1)$(subst /,-,$(2)).cc
UNITS       := $(foreach component,$(COMPONENTS),$(call unit,,$(component)))
TEST_UNITS  := $(foreach component,$(TESTED),$(if $(call tests_of,$(component)),$(call unit,test/,$(component))))
# $(call unity,UNIT,SOURCES) defines the make rule for the generated source file UNIT, which includes all files of SOURCES.
define unity
$(1): FORCE
	@mkdir -p $$(@D)
	@printf '#include "%s"\n' $(2) | cmp -s - $$@ || printf '#include "%s"\n' $(2) > $$@
endef
$(foreach component,$(COMPONENTS),$(eval $(call unity,$(call unit,,$(component)),$(sort $(wildcard src/$(component)/*.cc)))))
$(foreach component,$(TESTED),$(eval $(call unity,$(call unit,test/,$(component)),$(call tests_of,$(component)))))
$(eval $(call unity,$(UNITY)/rest_fcgi_pam.cc,$(PAM_SOURCES)))
$(eval $(call unity,$(UNITY)/rest_fcgi_run.cc,$(RUN_SOURCES)))

OBJECTS      := $(UNITS:.cc=.o)
TEST_OBJECTS := $(TEST_UNITS:.cc=.o) $(SUPPORT:%.cc=$(BUILD)/%.o)

# ---- Compiling

# If object files are missing, make prints how many: [12/33] is the twelfth of 33. `counted` has a line for each file begun. If make
# also compiles files that have changed, the lines after the last number have none.
MISSING := $(OBJECTS) $(HELPERS:$(BUILD)/%=$(UNITY)/%.o) $(BUILD)/src/main.o $(BUILD)/pch/src/standard.h.gch \
           $(if $(filter unit sanitized %/unit_tests,$(MAKECMDGOALS)),$(TEST_OBJECTS) $(BUILD)/pch/test/standard.h.gch)
MISSING := $(words $(filter-out $(wildcard $(MISSING)),$(MISSING)))$(shell rm -f $(BUILD)/counted)
count     = echo >>$(BUILD)/counted; wc -l <$(BUILD)/counted
compiling = @n=$$(flock $(BUILD)/counted sh -c '$(count)'); [ $$n -le $(MISSING) ] && n="[$$n/$(MISSING)] " || n=; \
            printf '  CXX     %s%s\n' "$$n" '$(1)'
# Sources and tests are compiled with precompiled headers of the standard library. `make each` does not use these headers.
PCH := $(if $(findstring clang,$(CXX)),,1)
$(BUILD)/pch/src/standard.h.gch: private OPTIONS = $(FLAGS) $(CXXFLAGS)
$(BUILD)/pch/test/standard.h.gch: private OPTIONS = $(FLAGS) $(CXXFLAGS) $(TEST_FLAGS)
$(BUILD)/pch/src/standard.h.gch $(BUILD)/pch/test/standard.h.gch: src/standard.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(call compiling,the precompiled headers of $(notdir $(patsubst %/,%,$(@D))))
	$(Q)$(CXX) $(OPTIONS) -x c++-header $< -o $@
pch = $(if $(PCH),$(BUILD)/pch/$(1)/standard.h.gch)

# $(call compile,KIND,FLAGS,NAME) compiles a file. KIND is `src` or `test`. NAME is the name that make prints.
define compile
	@mkdir -p $(@D)
	$(call compiling,$(3))
	$(Q)$(CXX) $(FLAGS) $(CXXFLAGS) $(2) $(if $(PCH),-include $(BUILD)/pch/$(1)/standard.h) -I. -MMD -MP -c $< -o $@
endef
SRC_FLAGS = $(COVERAGE) $(if $(PCH),$(FALSE_ALARMS)) $(if $(LTO),-flto=auto)
$(UNITY)/test/%.o: $(UNITY)/test/%.cc $(BUILD)/flags $(call pch,test)
	$(call compile,test,$(TEST_FLAGS),tests of $*)
$(UNITY)/%.o: $(UNITY)/%.cc $(BUILD)/flags $(call pch,src)
	$(call compile,src,$(SRC_FLAGS),$*)
$(BUILD)/src/main.o: src/main.cc $(BUILD)/flags $(call pch,src)
	$(call compile,src,$(SRC_FLAGS),$<)
$(BUILD)/test/%.o: test/%.cc $(BUILD)/flags $(call pch,test)
	$(call compile,test,$(TEST_FLAGS),$<)

# The parts of the HTML page of `GET /` become string literals in a generated header. page.cc needs INDEX_FLAGS to find it.
INDEX_HTML  := $(BUILD)/generated/netapi/page.h
INDEX_FLAGS := -I$(BUILD)/generated
PAGE        := $(addprefix deploy/page/,head.html style.css body.html $(addsuffix .js,base server jobs result run list minions keys \
                 events main) tail.html)
$(INDEX_HTML): $(PAGE)
	@mkdir -p $(@D)
	@for part in $(PAGE); do printf 'R"html('; cat $$part; printf ')html",\n'; done > $@
$(UNITY)/netapi.o: $(INDEX_HTML)
$(UNITY)/netapi.o: private FLAGS += $(INDEX_FLAGS)

# ---- Programs

# If a source file is added or removed, make links the programs again.
$(BUILD)/objects: FORCE
	$(call keep,$(OBJECTS) $(TEST_OBJECTS))
link = $(Q)$(CXX) $(LINK) $(LDFLAGS)

# Debian's package libfcgi has the fix for CVE-2025-23016 from this version on.
LIBFCGI := 2.4.2-2+deb12u1
$(BUILD)/rest_fcgi: $(OBJECTS) $(BUILD)/src/main.o $(BUILD)/objects
	$(Q)found=$$(dpkg-query -W -f '$${Version}' libfcgi-dev 2>/dev/null) || exit 0; dpkg --compare-versions "$$found" ge $(LIBFCGI) || \
	  { echo "libfcgi-dev: found $$found, expected $(LIBFCGI) or later (CVE-2025-23016)" >&2; exit 1; }
	$(call say,LD,$@)
	$(link) $(CXXFLAGS) $(if $(LTO),-flto=auto,-fno-lto) $(FALSE_ALARMS) $(filter %.o,$^) $(LIBS) -o $@

# The shared test code is an archive, so that the linker leaves out unused files, which may need components not in COMPONENTS.
$(BUILD)/unit_tests: $(OBJECTS) $(TEST_OBJECTS) $(BUILD)/objects
	$(call say,LD,$@)
	$(Q)rm -f $(BUILD)/support.a && $(AR) rc $(BUILD)/support.a $(filter $(BUILD)/test/support/%.o,$^)
	$(link) $(filter-out $(BUILD)/test/support/%,$(filter %.o,$^)) $(BUILD)/support.a $(LIBS) -o $@

# `judge` is a program of the wire tests (test/wire). It says whether the embedded engine permits a call.
$(BUILD)/judge: $(OBJECTS) $(BUILD)/test/wire/support/judge.o
	$(call say,LD,$@)
	$(link) $(filter %.o,$^) $(LIBS) -o $@

# rest_fcgi_pam starts for each login, and rest_fcgi_run for each program of a job. With static C++ libraries, both start twice as
# fast.
STATIC := -static-libstdc++ -static-libgcc

# With sanitizers, rest_fcgi_pam links libcrypt, because PAM's modules would load it too late for the address sanitizer.
$(BUILD)/rest_fcgi_pam: $(UNITY)/rest_fcgi_pam.o
	$(call say,LD,$@)
	$(link) $^ -lpam $(if $(SAN),-Wl$(comma)--no-as-needed -lcrypt,$(STATIC)) -o $@

$(BUILD)/rest_fcgi_run: $(UNITY)/rest_fcgi_run.o
	$(call say,LD,$@)
	$(link) $^ $(if $(SAN),,$(STATIC)) -o $@

# If rest_fcgi runs in the build folder, it reads its Python files from this folder.
LOADER := $(addprefix deploy/,module_loader.py salt_exceptions.py salt_functions.py minion_options.json)
$(BUILD)/rest_fcgi $(BUILD)/unit_tests: | $(BUILD)/modules $(BUILD)/salt_ssh_client.py
$(BUILD)/salt_ssh_client.py: deploy/salt_ssh_client.py
	@mkdir -p $(@D) && cp $< $@
$(BUILD)/modules: $(LOADER) $(wildcard deploy/modules/*.py)
	@rm -rf $@ && mkdir -p $@ && cp $(filter deploy/modules/%,$^) $@ && cp $(LOADER) $(BUILD)

# ---- Debian's packages

DEPS_BUILD    := g++ libfcgi-dev libsimdjson-dev libyaml-cpp-dev libyaml-dev libboost-dev libboost-program-options-dev libfmt-dev \
                 libssl-dev libcrypt-dev libpam0g-dev libpcre2-dev libsqlite3-dev libzmq3-dev cppzmq-dev libmsgpack-cxx-dev \
                 libcurl4-openssl-dev zlib1g-dev libsystemd-dev
DEPS_DEMO     := nginx curl openssl
DEPS_DEB      := build-essential debhelper lintian
DEPS_TEST     := doctest-dev python3 python3-pytest python3-pytest-xdist python3-pytest-timeout python3-venv python3-yaml \
                 apache2 libapache2-mod-fcgid systemd logrotate man-db etcd-server try:chromium-driver prometheus \
                 git openssh-client try:openssh-server strace \
                 python3-dev ssl-cert e2fsprogs \
                 $(DEPS_DEB) iproute2 net-tools procps # a real minion reads the network and processes with these
DEPS_COVERAGE := doctest-dev etcd-server gcovr
DEPS_FUZZ     := clang libclang-rt-dev python3
DEPS_BENCH    := python3 python3-pytest python3-venv wrk libbenchmark-dev
DEPS_LINT     := python3 python3-pytest doctest-dev clang clang-format clang-tidy shellcheck

# `need` installs Debian packages. `then` runs targets in a second make, after the packages are installed.
need = $(Q)SKIP_DEPS=$(SKIP_DEPS) sh deploy/deps.sh $(1)
then = $(Q)+$(MAKE) --no-print-directory $(1)

.PHONY: deps demo demo-stop
deps:
	$(call need,$(sort $(DEPS_BUILD) $(DEPS_DEMO) $(DEPS_TEST) $(DEPS_BENCH) $(DEPS_LINT)))

DEMO = BUILD='$(BUILD)' DEMO_PORT='$(DEMO_PORT)' sh deploy/demo/demo.sh
demo:
	$(call phase,1/3,packages. The demo takes about two and a half minutes on two cores)
	$(call need,$(DEPS_BUILD) $(DEPS_DEMO))
	$(call phase,2/3,compiler)
	$(call then,$(BUILD)/rest_fcgi $(BUILD)/rest_fcgi_run)
	$(call phase,3/3,demo)
	$(Q)$(DEMO) start

demo-stop:
	$(Q)$(DEMO) stop

# ---- Tests, lint, benchmarks, fuzzers

include test/Makefile test/lint/Makefile test/bench/Makefile test/fuzz/Makefile

# ---- Installing

.PHONY: deb install uninstall clean
deb:
	$(call need,$(DEPS_BUILD) $(DEPS_DEB))
	$(Q)BUILD='$(BUILD)' AS_BUILT='$(AS_BUILT)' DEPS='$(DEPS_BUILD)' LIBFCGI='$(LIBFCGI)' sh deploy/deb.sh

SYSCONFDIR ?= $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)
INSTALL = BUILD='$(BUILD)' DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' SYSCONFDIR='$(SYSCONFDIR)' sh deploy/install.sh
# If root runs `make install`, make compiles nothing, because the files in the user's clone would belong to root.
install: $(if $(AS_BUILT)$(filter 0,$(shell id -u)),,all)
	$(Q)$(if $(AS_BUILT),,CHECK_BUILD=1) $(INSTALL) install

uninstall:
	$(Q)$(INSTALL) uninstall

clean:
	$(Q)$(DEMO) stop
	$(Q)rm -rf $(BUILD)

-include $(OBJECTS:.o=.d) $(TEST_OBJECTS:.o=.d) $(FUZZER:.o=.d) $(HELPERS:$(BUILD)/%=$(UNITY)/%.d) $(BUILD)/src/main.d \
  $(BUILD)/test/wire/support/judge.d
