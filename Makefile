# rest_fcgi: Salt's rest_wsgi as a FastCGI responder.
#
#   make            builds build/rest_fcgi
#   make demo       sets up, builds, starts the responder behind a private nginx and sends example requests
#   make demo-stop  stops what `make demo` left running
#   make test       sets up, builds and runs every test
#   make unit       builds and runs the unit tests only; ROOMS="core auth" limits them to some rooms
#   make sanitize   runs the tests under the address, undefined-behaviour and thread sanitizers
#   make bench      measures requests a second against a bare libfcgi responder
#   make lint       checks format, layering, clang's warnings and clang-tidy
#   make format     formats the sources in place
#   make deps       installs the Debian packages that are missing (with sudo where needed)
#   make install    installs into $(DESTDIR)$(PREFIX)
#   make clean      removes build/
#   make help       prints this
#
# Variables: V=1 shows commands; CXX=clang++ chooses the compiler; SAN=address,undefined or SAN=thread adds
# sanitizers; BUILD=DIR builds elsewhere; DEMO_PORT=8080; PREFIX=/usr/local; CXXFLAGS and LDFLAGS are yours.

CXX      ?= g++
ifeq ($(origin CXX),default)
CXX      := g++
endif
PYTHON   ?= /usr/bin/python3
PREFIX   ?= /usr/local
DEMO_PORT ?= 8080
BUILD    ?= build
SAN      ?=
CXXFLAGS ?= -O2 -g1
ROOMS    ?= $(sort $(patsubst src/%/,%,$(wildcard src/*/ src/master/*/)))

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)')

WARNINGS := -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast \
            -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Wformat=2 -Wundef
HARDENING := -fstack-protector-strong $(if $(SAN),,-D_FORTIFY_SOURCE=2) -fPIE
SANITIZE := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)
FLAGS    := -std=c++20 -pthread -Iinclude -Isrc $(WARNINGS) $(HARDENING) $(SANITIZE)
LINK     := -pthread -pie -Wl,-z,relro,-z,now $(SANITIZE)
LIBS     := -lfcgi -lsimdjson -lyaml-cpp -lboost_program_options -lspdlog -lfmt -lcrypto -lcrypt -lpcre2-8

SOURCES  := $(sort $(foreach room,$(ROOMS),$(wildcard src/$(room)/*.cc)))
TESTS    := $(sort $(foreach room,$(ROOMS),$(wildcard test/$(room)/*_test.cc)) $(wildcard test/support/*.cc))
OBJECTS  := $(SOURCES:%.cc=$(BUILD)/%.o)
MAIN     := $(BUILD)/src/main.o
TEST_OBJECTS := $(TESTS:%.cc=$(BUILD)/%.o)

.PHONY: all objects unit help deps demo demo-stop test sanitize bench lint format install clean
.DELETE_ON_ERROR:

all: $(BUILD)/rest_fcgi

help:
	@sed -n '1,/^$$/{/^#/{s/^# \{0,1\}//p}}' Makefile

$(BUILD)/rest_fcgi: $(OBJECTS) $(MAIN)
	$(call say,LD,$@)
	$(Q)$(CXX) $(LINK) $(LDFLAGS) $^ $(LIBS) -o $@

$(BUILD)/unit_tests: $(OBJECTS) $(TEST_OBJECTS)
	$(call say,LD,$@)
	$(Q)$(CXX) $(LINK) $(LDFLAGS) $^ $(LIBS) -o $@

objects: $(OBJECTS)

unit: $(BUILD)/unit_tests
	$(Q)$(BUILD)/unit_tests

# Everything is rebuilt when the compiler or its flags change.
FLAGS_NOW := $(CXX) $(FLAGS) $(CXXFLAGS) $(LDFLAGS)
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(FLAGS_NOW)' | cmp -s - $@ || printf '%s\n' '$(FLAGS_NOW)' > $@
.PHONY: FORCE

$(BUILD)/%.o: %.cc $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) $(FLAGS) $(CXXFLAGS) -MMD -MP -c $< -o $@

-include $(OBJECTS:.o=.d) $(MAIN:.o=.d) $(TEST_OBJECTS:.o=.d)
