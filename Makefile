# rest_fcgi: Salt's rest_wsgi as a FastCGI responder.
#
#   make            builds build/rest_fcgi
#   make demo       sets up, builds, starts the responder behind a private nginx and sends example requests
#   make demo-stop  stops what `make demo` left running
#   make test       sets up, builds and runs every test, against one real Salt
#   make test-salt  runs the tests with a real Salt against each living line, beside Salt's own client; SELECT limits them
#   make record-salt asks Salt's own client of each line again what test/vectors has of it
#   make nightly    runs what takes long: all of test-salt, hundreds of kills, ten minutes of each soak, coverage
#   make soak       all kinds of requests and streams for an hour with each engine; SOAK_SECONDS; tables in build/soak
#   make unit       builds and runs the unit tests only; ROOMS="core auth" limits them to some rooms
#   make wire       builds and runs the tests of the running program only; SELECT=tls limits them by name
#   make sanitize   runs the tests under the address, undefined-behaviour and thread sanitizers
#   make fuzz       looks for inputs that break what strangers' bytes are read by; FUZZ_SECONDS for each,
#                   FUZZ_TARGETS names some, FUZZ_CORPUS is the folder that they go on from
#   make bench      measures each case in turns with its rival: bare responders and loops, salt-api; tables and pictures in
#                   build/bench; BENCH_SECONDS of a round, BENCH_ROUNDS, BENCH_ONLY="ping mem*" limits the cases;
#                   BENCH_AGAINST=PROGRAM compares with an earlier build
#   make bench-check compares what `make bench` measured with the goals, and says which fall short
#   make lint       checks format, layering, clang's warnings and clang-tidy; SINCE=COMMIT only of what is new since then
#   make each       checks that each source compiles alone; SINCE=COMMIT likewise
#   make coverage   says which lines the unit tests run
#   make format     formats the sources in place
#   make deps       installs the Debian packages that are missing (with sudo where needed)
#   make install    installs into $(DESTDIR)$(PREFIX); with PREFIX=/usr, where Debian expects a service
#   make uninstall  removes that again, but for the configuration
#   make clean      removes build/
#   make help       prints this
#
# Variables: V=1 shows commands; CXX=clang++ chooses the compiler; SAN=address,undefined or SAN=thread adds
# sanitizers; BUILD=DIR builds elsewhere; DEMO_PORT=8080; PREFIX=/usr/local; SKIP_DEPS=1 installs nothing;
# AS_BUILT=1 installs what was built, whatever has changed since; CXXFLAGS and LDFLAGS are yours. With TRAINED=1 all is
# built twice, in build/trained: a training run with some of the benchmark's requests shows the compiler what matters.

# As many compilers as there are processors, unless make is told otherwise; those that it starts share them.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif
ifneq ($(filter clean,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

CXX      ?= g++
ifeq ($(origin CXX),default)
CXX      := g++
endif
PYTHON   ?= /usr/bin/python3
PREFIX   ?= /usr/local
DEMO_PORT ?= 8080
BUILD    ?= build
SAN      ?=
# The responder is optimized as a whole when it is linked (a tenth less CPU for a ping); what else is linked from the same
# objects, tests say, is not.
CXXFLAGS ?= -O2 -g1 -flto=auto -ffat-lto-objects
TRAINED  ?=
ifneq ($(TRAINED),)
override BUILD := $(BUILD)/trained
PLAIN_CXXFLAGS := $(CXXFLAGS)
override CXXFLAGS += -fprofile-use -fprofile-correction -fprofile-partial-training -Wno-missing-profile
endif
# All but the helpers, which are programs of their own.
ROOMS    ?= $(filter-out helper,$(sort $(patsubst src/%/,%,$(wildcard src/*/ src/*/*/ src/*/*/*/))))

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)')

WARNINGS := -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast \
            -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Wformat=2 -Wundef \
            -Wno-missing-field-initializers # fields that a designated initializer leaves out have defaults
# All names are bound at the start (-z now), so that calls into libraries need no stubs: 6 percent less CPU for a ping.
NO_STUBS := -fno-plt
HARDENING := -fstack-protector-strong $(if $(SAN),,-D_FORTIFY_SOURCE=2) -fPIE $(NO_STUBS)
# With sanitizers g++ finds uninitialized values where there are none (GCC bug 105562); clang++ does not know the word.
# What a virtual table pointer points to is not looked at: that takes a pipe, and says nonsense where no descriptor is left.
# The thread sanitizer does not see the fences in Asio (-Wno-tsan); the locks beside them it sees.
SANITIZE := $(if $(SAN),-fsanitize=$(SAN) $(if $(findstring undefined,$(SAN)),-fno-sanitize=vptr) -fno-omit-frame-pointer -Wno-unknown-warning-option -Wno-maybe-uninitialized -Wno-tsan)
# Beast's parser holds that after `0 CR LF` more than one byte comes, and ends the process where a peer sends one; without
# Boost's assertions it waits for the next.
LANGUAGE := -std=c++20 -pthread -Iinclude -Isrc -DBOOST_DISABLE_ASSERTS $(WARNINGS)
FLAGS    := $(LANGUAGE) $(HARDENING) $(SANITIZE)
LINK     := -pthread -pie -fno-lto $(NO_STUBS) -Wl,-z,relro,-z,now $(SANITIZE)
LIBS     := -lfcgi -lsimdjson -lyaml-cpp -lyaml -lboost_program_options -lfmt -lssl -lcrypto -lcrypt -lpcre2-8 -lsqlite3 -lz

SOURCES  := $(sort $(foreach room,$(ROOMS),$(wildcard src/$(room)/*.cc)))
# One file a room is compiled, which includes all of the room's (see UNITY below), and one for its tests. With EACH=1 each
# file is compiled alone, and rooms of APART always are.
EACH     ?=
APART    ?=
JOINED   := $(if $(EACH),,$(filter-out $(APART),$(ROOMS)))
unit_of  = $(BUILD)/unity/$(subst /,-,$(1)).cc
tests_of = $(BUILD)/test/unity/$(subst /,-,$(1)).cc
ALONE    := $(foreach room,$(filter-out $(JOINED),$(ROOMS)),$(wildcard src/$(room)/*.cc))
UNITS    := $(foreach room,$(JOINED),$(call unit_of,$(room)))
# What fuzzers found is tried again where all rooms are there.
TEST_ROOMS ?= $(ROOMS) $(if $(filter engine,$(ROOMS)),fuzz)
FUZZ_TESTS := $(filter-out test/fuzz/fuzzer.cc,$(wildcard test/fuzz/*.cc))
TESTS    := $(sort $(foreach room,$(TEST_ROOMS),$(wildcard test/$(room)/*_test.cc)) $(wildcard test/support/*.cc) \
            $(if $(filter fuzz,$(TEST_ROOMS)),$(FUZZ_TESTS)))
OBJECTS  := $(UNITS:.cc=.o) $(ALONE:%.cc=$(BUILD)/%.o)
MAIN     := $(BUILD)/src/main.o
PAM_SOURCES := src/helper/pam.cc src/helper/pam_stack.cc src/auth/pam_wire.cc src/core/secret.cc src/core/users.cc
RUN_SOURCES := src/helper/run.cc src/process/run_wire.cc
HELPER_SOURCES := $(sort $(PAM_SOURCES) $(RUN_SOURCES))
HELPERS  := $(BUILD)/rest_fcgi_pam $(BUILD)/rest_fcgi_run
HELPER_OBJECTS := $(HELPERS:$(BUILD)/%=$(BUILD)/unity/%.o)
# What is no room's stands alone: what tests share, and what the fuzzer shares with its tests.
TESTED   := $(if $(EACH),,$(foreach room,$(filter-out $(APART) fuzz,$(TEST_ROOMS)),$(if $(wildcard test/$(room)/*_test.cc),$(room))))
TEST_OBJECTS := $(patsubst %.cc,%.o,$(foreach room,$(TESTED),$(call tests_of,$(room))) \
                $(addprefix $(BUILD)/,$(filter-out $(foreach room,$(TESTED),$(wildcard test/$(room)/*_test.cc)),$(TESTS))))

.PHONY: all objects unit wire help deps demo demo-stop test sanitize bench bench-check lint format install uninstall clean
.DELETE_ON_ERROR:

all: $(BUILD)/rest_fcgi $(HELPERS)

help:
	@sed -n '1,/^$$/{/^#/{s/^# \{0,1\}//p}}' Makefile

# Linked again when a file came or went, also when ROOMS left some out.
$(BUILD)/rest_fcgi $(BUILD)/unit_tests: $(BUILD)/objects
$(BUILD)/objects: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(OBJECTS) $(TEST_OBJECTS) | cmp -s - $@ || printf '%s\n' $(OBJECTS) $(TEST_OBJECTS) > $@

# Where programs of a build tree look for what is in Python: the execution modules, and who runs salt-ssh.
$(BUILD)/rest_fcgi $(BUILD)/unit_tests: | $(BUILD)/modules $(BUILD)/salt_ssh_client.py
$(BUILD)/salt_ssh_client.py: deploy/salt_ssh_client.py
	@mkdir -p $(@D) && cp $< $@

LOADER := $(addprefix deploy/,module_loader.py salt_exceptions.py salt_functions.py minion_options.json)
$(BUILD)/modules: $(LOADER) $(wildcard deploy/modules/*.py)
	@rm -rf $@ && mkdir -p $@ && cp $(filter deploy/modules/%,$^) $@ && cp $(LOADER) $(BUILD)

$(BUILD)/rest_fcgi: $(OBJECTS) $(MAIN)
	$(call say,LD,$@)
	$(Q)$(CXX) $(LINK) $(CXXFLAGS) $(FALSE_ALARMS) $(LDFLAGS) $(filter %.o,$^) $(LIBS) -o $@

# What tests share is taken from an archive: where ROOMS leaves rooms out, some of it would not link.
SHARED_BY_TESTS := $(BUILD)/test/support/%.o
$(BUILD)/unit_tests: $(OBJECTS) $(TEST_OBJECTS)
	$(call say,LD,$@)
	$(Q)rm -f $(BUILD)/support.a && $(AR) rc $(BUILD)/support.a $(filter $(SHARED_BY_TESTS),$^)
	$(Q)$(CXX) $(LINK) $(LDFLAGS) $(filter-out $(SHARED_BY_TESTS),$(filter %.o,$^)) $(BUILD)/support.a $(LIBS) -lzmq -o $@

# Tells tests of rules what the embedded engine would permit.
$(BUILD)/judge: $(OBJECTS) $(BUILD)/test/wire/support/judge.o
	$(call say,LD,$@)
	$(Q)$(CXX) $(LINK) $(LDFLAGS) $(filter %.o,$^) $(LIBS) -o $@

# libpam is linked into this small program alone. The address sanitizer stands before crypt(3), which it looks for at the
# start; modules of PAM load it later.
LOADED_EARLY := -Wl,--no-as-needed -lcrypt
$(BUILD)/rest_fcgi_pam: $(BUILD)/unity/rest_fcgi_pam.o
	$(call say,LD,$@)
	$(Q)$(CXX) $(LINK) $(LDFLAGS) $^ -lpam $(if $(SAN),$(LOADED_EARLY)) -o $@

# Started for each program that a job runs: what it need not load makes it twice as quick to start.
$(BUILD)/rest_fcgi_run: $(BUILD)/unity/rest_fcgi_run.o
	$(call say,LD,$@)
	$(Q)$(CXX) $(LINK) $(LDFLAGS) $^ $(if $(SAN),,-static-libstdc++ -static-libgcc) -o $@

# Where the responder looks for the helper, unless it is told.
$(BUILD)/prefix: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(PREFIX)' | cmp -s - $@ || printf '%s\n' '$(PREFIX)' > $@
PROCESS := $(BUILD)/src/process/program.o $(BUILD)/unity/process.o
WITH_PREFIX := $(BUILD)/src/auth/pam_eauth.o $(BUILD)/unity/auth.o
$(WITH_PREFIX): $(BUILD)/prefix
$(PROCESS): $(BUILD)/prefix
$(PROCESS): private FLAGS += -DREST_FCGI_PREFIX='"$(PREFIX)"'
$(WITH_PREFIX): private FLAGS += -DREST_FCGI_PAM_HELPER='"$(PREFIX)/lib/rest_fcgi/rest_fcgi_pam"'

objects: $(OBJECTS)

unit: $(BUILD)/unit_tests $(HELPERS)
	$(Q)$(BUILD)/unit_tests

# Debian's names of what each part needs.
DEPS_BUILD := g++ libfcgi-dev libsimdjson-dev libyaml-cpp-dev libyaml-dev libboost-dev libboost-program-options-dev libfmt-dev \
              libssl-dev libcrypt-dev libpam0g-dev libpcre2-dev libsqlite3-dev libzmq3-dev cppzmq-dev libmsgpack-cxx-dev \
              libcurl4-openssl-dev zlib1g-dev # a well kept client for HTTP and TLS, for etcd; loaded where that is used
DEPS_DEMO  := nginx curl openssl
DEPS_TEST  := doctest-dev python3 python3-pytest python3-pytest-xdist python3-pytest-timeout python3-venv python3-yaml apache2-bin libapache2-mod-fcgid systemd logrotate man-db \
              etcd-server try:chromium-driver \
              git openssh-client try:openssh-server \
              iproute2 net-tools procps # what a real minion reads the network and processes with
DEPS_COVERAGE := doctest-dev etcd-server gcovr
DEPS_FUZZ  := clang libclang-rt-dev python3
DEPS_BENCH := python3 python3-pytest python3-venv wrk etcd-server apache2-bin libapache2-mod-fcgid libbenchmark-dev valgrind strace
DEPS_LINT  := python3 python3-pytest doctest-dev clang clang-format clang-tidy shellcheck

# Installs packages first, then goes on in a make of its own, so that nothing starts to compile before, also with -j.
need = $(Q)SKIP_DEPS=$(SKIP_DEPS) sh deploy/deps.sh $(1)
then = $(Q)+$(MAKE) --no-print-directory $(1)
comma := ,
space := $(subst ,, )

deps:
	$(call need,$(sort $(DEPS_BUILD) $(DEPS_DEMO) $(DEPS_TEST) $(DEPS_BENCH) $(DEPS_LINT)))

DEMO = BUILD='$(BUILD)' DEMO_PORT='$(DEMO_PORT)' sh deploy/demo/demo.sh
demo:
	$(call need,$(DEPS_BUILD) $(DEPS_DEMO))
	$(call then,$(BUILD)/rest_fcgi $(BUILD)/rest_fcgi_run)
	$(Q)$(DEMO) start

demo-stop:
	$(Q)$(DEMO) stop

RUN_TESTS = CXX='$(CXX)' REST_FCGI_BINARY='$(BUILD)/rest_fcgi' REST_FCGI_SANITIZED='$(SAN)' $(PYTHON) test/run.py
# Compilers work while the Python index is asked. The first line's Salt is the one that all rows are tried against.
test:
	$(call need,$(DEPS_BUILD) $(DEPS_DEMO) $(DEPS_TEST))
	$(call then,$(BUILD)/rest_fcgi $(HELPERS) $(BUILD)/unit_tests $(BUILD)/judge salts)
	$(Q)$(RUN_TESTS) --unit $(BUILD)/unit_tests test/compile_fail test/lint test/wire

.PHONY: test-salt test-lines record-salt nightly salts
SALT_LINES ?= 3006
salts:
	$(Q)$(PYTHON) test/wire/support/salts.py $(SALT_LINES)
	$(Q)$(PYTHON) test/wire/support/foreign_clients.py

EVERY_LINE := 3006 3007 3008
LIVE := REST_FCGI_NEWEST_SALT=1 REST_FCGI_SALT_LIVE=1 REST_FCGI_SALT_ROWS=all REST_FCGI_SALT_LINES='$(EVERY_LINE)'
test-salt:
	$(call need,$(DEPS_BUILD) $(DEPS_DEMO) $(DEPS_TEST))
	$(call then,$(BUILD)/rest_fcgi $(HELPERS) $(BUILD)/judge salts REST_FCGI_NEWEST_SALT=1 SALT_LINES='$(EVERY_LINE)')
	$(Q)$(LIVE) $(RUN_TESTS) $(if $(SELECT),--select '$(SELECT)') test/wire/salt_engine

# The main rows, and what else differs from line to line, on the lines that `make test` leaves out.
OTHER_LINES := $(wordlist 2,9,$(EVERY_LINE))
test-lines:
	$(call need,$(DEPS_BUILD) $(DEPS_DEMO) $(DEPS_TEST))
	$(call then,$(BUILD)/rest_fcgi $(HELPERS) salts SALT_LINES='$(OTHER_LINES)')
	$(Q)REST_FCGI_SALT_LINES='$(OTHER_LINES)' $(RUN_TESTS) --select '$(subst $(space), or ,$(OTHER_LINES))' test/wire/salt_engine

record-salt:
	$(call need,$(DEPS_TEST))
	$(Q)$(PYTHON) test/record_salt.py $(EVERY_LINE)

# What is measured runs alone.
nightly:
	$(call need,$(DEPS_BUILD) $(DEPS_DEMO) $(DEPS_TEST))
	$(call then,$(BUILD)/rest_fcgi $(HELPERS) $(BUILD)/unit_tests $(BUILD)/judge salts REST_FCGI_NEWEST_SALT=1 SALT_LINES='$(EVERY_LINE)')
	$(Q)REST_FCGI_LONG=1 $(LIVE) $(RUN_TESTS) --unit $(BUILD)/unit_tests test/wire
	$(Q)REST_FCGI_QUIET=1 $(RUN_TESTS) --workers 1 test/wire/test_slow_peers.py
	$(call then,coverage)

# One engine after the other: two at once would have a processor each, and tell nothing.
.PHONY: soak
SOAK_SECONDS ?= 3600
soak:
	$(call need,$(DEPS_BUILD) $(DEPS_DEMO) $(DEPS_TEST))
	$(call then,$(BUILD)/rest_fcgi $(HELPERS) salts)
	$(Q)SOAK_SECONDS=$(SOAK_SECONDS) $(RUN_TESTS) --workers 1 test/wire/test_soak.py

SELECT ?=
wire: $(BUILD)/rest_fcgi $(HELPERS) $(BUILD)/judge
	$(Q)$(RUN_TESTS) $(if $(SELECT),--select '$(SELECT)') test/wire

# What runs under which sanitizer, and how it is told to complain, stands in test/sanitize.sh. The thread sanitizer runs
# the unit tests of all rooms but those in which no threads meet.
ONE_THREAD := http yaml lowstate config master/salt/packed master/salt/calls $(addprefix master/embedded/,python host target modules runners)
THREADED := $(filter-out $(ONE_THREAD),$(ROOMS))
ASAN := BUILD=$(BUILD)/asan SAN=address$(comma)undefined CXXFLAGS='-O0 -g1'
TSAN := BUILD=$(BUILD)/tsan SAN=thread CXXFLAGS='-O0 -g1' TEST_ROOMS='$(THREADED)'
sanitize: sanitize-address sanitize-thread

.PHONY: sanitize-address sanitize-thread sanitizers sanitized instrumented
sanitize-thread: | $(if $(filter sanitize,$(MAKECMDGOALS)),sanitize-address) # one after the other
sanitize-address:
	$(call need,$(DEPS_BUILD) $(DEPS_DEMO) $(DEPS_TEST))
	$(call then,$(ASAN) sanitized)

sanitize-thread:
	$(call need,$(DEPS_BUILD) $(DEPS_DEMO) $(DEPS_TEST))
	$(call then,$(TSAN) sanitized)

# What they compile, and no more.
sanitizers:
	$(call then,$(ASAN) instrumented)
	$(call then,$(TSAN) instrumented)

instrumented: $(BUILD)/rest_fcgi $(HELPERS) $(BUILD)/unit_tests
sanitized: instrumented
	$(Q)BUILD='$(BUILD)' SAN='$(SAN)' PYTHON='$(PYTHON)' sh test/sanitize.sh

# What is compiled is as large as that for the sanitizers. test/fuzz/run.py says what is left where.
FUZZ_SECONDS ?= 10
FUZZ_TARGETS ?=
FUZZ_CORPUS ?= $(BUILD)/fuzz/corpus
FUZZ := BUILD=$(BUILD)/fuzz CXX=clang++ SAN=fuzzer-no-link$(comma)address$(comma)undefined CXXFLAGS='-O1 -g1' PCH=
.PHONY: fuzz fuzzed
fuzz:
	$(call need,$(DEPS_BUILD) $(DEPS_FUZZ))
	$(call then,$(FUZZ) FUZZ_CORPUS='$(FUZZ_CORPUS)' fuzzed)

FUZZER := $(addprefix $(BUILD)/,$(patsubst %.cc,%.o,test/fuzz/fuzzer.cc $(filter-out %_test.cc,$(FUZZ_TESTS)) test/support/fake_master.cc))
$(BUILD)/fuzzer: $(OBJECTS) $(FUZZER)
	$(call say,LD,$@)
	$(Q)$(CXX) $(LINK) -fsanitize=fuzzer $(LDFLAGS) $^ $(LIBS) -o $@

fuzzed: $(BUILD)/fuzzer
	$(Q)$(PYTHON) test/fuzz/run.py $(BUILD)/fuzzer '$(FUZZ_CORPUS)' $(FUZZ_SECONDS) $(FUZZ_TARGETS)

STREAM_PROGRAMS := $(BUILD)/bare_streams $(BUILD)/stream_listeners
RIVALS := $(BUILD)/bare $(BUILD)/least $(BUILD)/bare_http $(BUILD)/bare_salt $(BUILD)/bare_etcd
$(STREAM_PROGRAMS): test/bench/listeners.h
$(BUILD)/bare $(BUILD)/least: test/bench/bare.h
$(RIVALS) $(STREAM_PROGRAMS): $(BUILD)/%: test/bench/%.cc $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CXX,$@)
	$(Q)$(CXX) $(FLAGS) $(CXXFLAGS) $(LINK) -Wl,--as-needed $(LDFLAGS) $< -lfcgi -lsimdjson -lsqlite3 -lcrypto -lzmq -lcurl -o $@

$(BUILD)/inner: $(OBJECTS) test/bench/inner.cc
	$(call say,CXX,$@)
	$(Q)$(CXX) $(FLAGS) $(LINK) $(CXXFLAGS) $(LDFLAGS) test/bench/inner.cc $(OBJECTS) $(LIBS) -lbenchmark -o $@

# Of one round, their number, and the cases; empty: 2, 5 and all.
BENCH_SECONDS ?=
BENCH_ROUNDS ?=
BENCH_ONLY ?=
BENCH_AGAINST ?=
BENCH = BENCH_BUILD='$(BUILD)' BENCH_SECONDS='$(BENCH_SECONDS)' BENCH_ROUNDS='$(BENCH_ROUNDS)' BENCH_AGAINST='$(BENCH_AGAINST)' $(PYTHON) -W ignore test/bench/bench.py
bench:
	$(call need,$(DEPS_BUILD) $(DEPS_DEMO) $(DEPS_BENCH))
	$(call then,$(BUILD)/rest_fcgi $(HELPERS) $(RIVALS) $(STREAM_PROGRAMS) $(BUILD)/inner)
	$(Q)$(BENCH) run $(foreach word,$(BENCH_ONLY),'$(word)')

bench-check:
	$(Q)$(BENCH) check

FORMATTED := $(sort $(shell find include src test -name '*.cc' -o -name '*.h'))
SCRIPTS   = $(sort $(wildcard deploy/*.sh deploy/demo/*.sh test/*.sh .ci/run))
lint:
	$(call need,$(DEPS_BUILD) $(DEPS_LINT))
	$(Q)$(PYTHON) test/lint/layering.py
	$(call say,FORMAT,$(words $(FORMATTED)) files)
	$(Q)clang-format --dry-run -Werror $(FORMATTED)
	$(call say,SHELL,$(SCRIPTS))
	$(Q)shellcheck $(SCRIPTS)
	$(call then,tidy)

# clang-tidy gives clang's warnings, too, so that no source is parsed twice; tests get the warnings alone. It reads a room
# at once, as the compiler does. What passed is looked at again when it changed, or a header that it includes.
CLANG  := $(BUILD)/clang
# SINCE=COMMIT leaves out what has not changed since then, and includes nothing that has.
SINCE  ?=
NEW    := $(if $(SINCE),$(shell $(PYTHON) test/lint/affected.py $(SINCE)),$(SOURCES) src/main.cc $(HELPER_SOURCES) $(TESTS))
NEW_UNITS := $(foreach room,$(JOINED),$(if $(filter $(wildcard src/$(room)/*.cc),$(NEW)),$(call unit_of,$(room)))) \
             $(if $(filter $(PAM_SOURCES),$(NEW)),$(BUILD)/unity/rest_fcgi_pam.cc) \
             $(if $(filter $(RUN_SOURCES),$(NEW)),$(BUILD)/unity/rest_fcgi_run.cc)
TIDIED := $(NEW_UNITS:$(BUILD)/%.cc=$(CLANG)/%.ok) $(patsubst %.cc,$(CLANG)/%.ok,$(filter $(ALONE) src/main.cc,$(NEW)))
WARNED := $(patsubst %.cc,$(CLANG)/%.ok,$(filter $(TESTS),$(NEW)))
.PHONY: tidy
tidy: $(TIDIED) $(WARNED)

# clang-tidy does not tell what it read; the compiler does.
define look
	@mkdir -p $(@D)
	$(call say,TIDY,$<)
	$(Q)clang-tidy --quiet $< -- $(LANGUAGE) -I. $(ROOM_FLAGS) 2>$(@:.ok=.log) || { cat $(@:.ok=.log); false; }
	$(Q)$(CXX) $(LANGUAGE) -I. -MM -MP -MF $(@:.ok=.d) -MT $@ $<
	@touch $@
endef
$(CLANG)/unity/%.ok: $(BUILD)/unity/%.cc .clang-tidy $(CLANG)/flags
	$(look)
$(filter $(CLANG)/src/%,$(TIDIED)): $(CLANG)/%.ok: %.cc .clang-tidy $(CLANG)/flags
	$(look)

$(WARNED): $(CLANG)/%.ok: %.cc $(CLANG)/flags
	@mkdir -p $(@D)
	$(call say,CLANG,$<)
	$(Q)clang++ -fsyntax-only $(LANGUAGE) -MMD -MP -MF $(@:.ok=.d) -MT $@ $<
	@touch $@

# Each file includes what it uses: alone, and without a precompiled header, it compiles. That of tests is what lint proves,
# which reads each of them like that; of the other files those that SINCE leaves. EACH_OF=FILES looks at others.
EACH_OF ?= $(filter $(SOURCES) src/main.cc $(HELPER_SOURCES),$(NEW))
LONE := $(patsubst %.cc,$(BUILD)/each/%.ok,$(sort $(EACH_OF)))
.PHONY: each
each: $(LONE)
$(LONE): $(BUILD)/each/%.ok: %.cc $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,EACH,$<)
	$(Q)$(CXX) -fsyntax-only $(FLAGS) -O0 -U_FORTIFY_SOURCE -MMD -MP -MF $(@:.ok=.d) -MT $@ $<
	@touch $@

# Tests are not looked at themselves, and compiled as ever.
coverage:
	$(call need,$(DEPS_BUILD) $(DEPS_COVERAGE))
	$(call then,BUILD=$(BUILD)/coverage COVERAGE=--coverage CXXFLAGS='-O0 -g1' LDFLAGS=--coverage covered)

COVERAGE ?=
$(BUILD)/src/%.o $(BUILD)/unity/%.o: private override CXXFLAGS += $(COVERAGE)

.PHONY: covered coverage
covered: $(BUILD)/unit_tests $(HELPERS)
	$(Q)find $(BUILD) -name '*.gcda' -delete
	$(Q)$(BUILD)/unit_tests --minimal || echo 'some tests failed'
	$(Q)gcovr --root . --object-directory $(BUILD) --filter src/ --filter include/ --gcov-ignore-parse-errors \
	  --txt $(BUILD)/coverage.txt
	$(Q)tail -n 2 $(BUILD)/coverage.txt
	$(Q)echo 'line by line: $(BUILD)/coverage.txt'

$(CLANG)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(LANGUAGE)' | cmp -s - $@ || printf '%s\n' '$(LANGUAGE)' > $@

format:
	$(call need,clang-format)
	$(Q)clang-format -i $(FORMATTED)

# Where Debian expects it with PREFIX=/usr.
SYSCONFDIR ?= $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)
INSTALL = BUILD='$(BUILD)' DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' SYSCONFDIR='$(SYSCONFDIR)' sh deploy/install.sh
# Nothing is compiled as root on the way: what lay in the user's clone afterwards would be root's. What was built with
# another prefix would look for its helper elsewhere.
ROOT := $(filter 0,$(shell id -u))
TO_BUILD := $(MAKE) $(if $(TRAINED),TRAINED=1,$(if $(filter-out build,$(BUILD)),BUILD=$(BUILD))) $(if $(filter-out /usr/local,$(PREFIX)),PREFIX=$(PREFIX))
install: $(if $(AS_BUILT)$(ROOT),,$(BUILD)/rest_fcgi $(HELPERS))
	$(if $(AS_BUILT),,$(Q)[ -x $(BUILD)/rest_fcgi ] && [ -x $(word 1,$(HELPERS)) ] && [ -x $(word 2,$(HELPERS)) ] && [ "$$(cat $(BUILD)/prefix)" = '$(PREFIX)' ] && \
	  [ -z "$$(find src include -name '*.[ch]*' -newer $(BUILD)/rest_fcgi)" ] || \
	  { echo 'make install: not built yet, or not as it is now. Run this first, as yourself:  $(strip $(TO_BUILD))' >&2; exit 1; })
	$(Q)$(INSTALL) install

uninstall:
	$(Q)$(INSTALL) uninstall

clean:
	$(Q)$(DEMO) stop
	$(Q)rm -rf $(BUILD)

# Everything is rebuilt when the compiler, its version or its flags change.
FLAGS_NOW := $(CXX) $(FLAGS) $(CXXFLAGS) $(LDFLAGS) $(shell $(CXX) --version | sed -n 1p)
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(FLAGS_NOW)' | cmp -s - $@ || printf '%s\n' '$(FLAGS_NOW)' > $@
.PHONY: FORCE

# The compiler takes what the training run left beside each object only for the very source that ran.
ifneq ($(TRAINED),)
$(BUILD)/flags: $(BUILD)/training
$(BUILD)/training: $(sort $(shell find include src -name '*.cc' -o -name '*.h'))
	$(call need,$(DEPS_BUILD) $(DEPS_DEMO) $(DEPS_BENCH))
	@mkdir -p $(@D)
	$(Q)find $(@D) -name '*.gcda' -delete
	$(call then,TRAINED= BUILD='$(BUILD)' CXXFLAGS='$(PLAIN_CXXFLAGS) -fprofile-generate -fprofile-update=prefer-atomic' $(BUILD)/rest_fcgi)
	$(Q)$(BENCH) train
	@touch $@
endif

# Tests run in no time; what counts is how long they take to compile. Undefined behaviour is looked for in what they call.
$(BUILD)/test/%: private override CXXFLAGS += -O0 -fno-lto -U_FORTIFY_SOURCE $(if $(findstring undefined,$(SAN)),-fno-sanitize=undefined)

# The standard library's headers are parsed once. That each file includes what it uses is what lint proves, where nothing
# of the kind is. PCH= builds without, for a compiler cache. Where g++ optimizes what it took from a precompiled header, it
# warns of memory errors inside the standard library that are none, and so it does when trained; with EACH=1 they are on.
PCH ?= $(if $(EACH),,1)
PRECOMPILED := $(if $(PCH),$(BUILD)/test/standard.h $(BUILD)/src/standard.h)
$(PRECOMPILED:=.gch): src/standard.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CXX,$@)
	$(Q)$(CXX) $(FLAGS) $(CXXFLAGS) -x c++-header $< -o $@

FALSE_ALARMS := -Wno-array-bounds -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread
$(BUILD)/src/%.o $(BUILD)/unity/%.o: private FLAGS += $(if $(PCH)$(TRAINED),$(FALSE_ALARMS))
precompiled = $(filter $(BUILD)/$(1)/%,$(PRECOMPILED))
compile = $(Q)$(CXX) $(FLAGS) $(CXXFLAGS) $(addprefix -include ,$(call precompiled,$(1))) -MMD -MP -c $< -o $@
# UNITY: what is written here is compiled in place of a room's files, so that headers are parsed once a room.
# $(call unity,FILE,SOURCES)
define unity
$(1): FORCE
	@mkdir -p $$(@D)
	@printf '#include "%s"\n' $(2) | cmp -s - $$@ || printf '#include "%s"\n' $(2) > $$@
endef
$(foreach room,$(JOINED),$(eval $(call unity,$(call unit_of,$(room)),$(sort $(wildcard src/$(room)/*.cc)))))
$(foreach room,$(TESTED),$(eval $(call unity,$(call tests_of,$(room)),$(sort $(wildcard test/$(room)/*_test.cc)))))
$(eval $(call unity,$(BUILD)/unity/rest_fcgi_pam.cc,$(PAM_SOURCES)))
$(eval $(call unity,$(BUILD)/unity/rest_fcgi_run.cc,$(RUN_SOURCES)))

$(BUILD)/unity/%.o: $(BUILD)/unity/%.cc $(BUILD)/flags $(addsuffix .gch,$(call precompiled,src))
	$(call say,CXX,$*)
	$(call compile,src) -I.

$(BUILD)/test/unity/%.o: $(BUILD)/test/unity/%.cc $(BUILD)/flags $(addsuffix .gch,$(call precompiled,test))
	$(call say,CXX,tests of $*)
	$(call compile,test) -I.

$(BUILD)/src/%.o: src/%.cc $(BUILD)/flags $(addsuffix .gch,$(call precompiled,src))
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(call compile,src)

$(BUILD)/test/%.o: test/%.cc $(BUILD)/flags $(addsuffix .gch,$(call precompiled,test))
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(call compile,test)

-include $(OBJECTS:.o=.d) $(MAIN:.o=.d) $(BUILD)/test/wire/support/judge.d $(FUZZER:.o=.d) $(HELPER_OBJECTS:.o=.d) $(TEST_OBJECTS:.o=.d) $(WARNED:.ok=.d) $(TIDIED:.ok=.d) $(LONE:.ok=.d)
