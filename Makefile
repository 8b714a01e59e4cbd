# `make demo` and `make test` are all that is needed; each sets up what it lacks.

SWIFT ?= swift
SWIFT_FILES = Package.swift Sources Tests Examples Benchmarks/Package.swift Benchmarks/Sources
# A maker of exports of any size, when it is at hand; the checks that want it are skipped otherwise.
CLARITY_EXPORT_GENERATOR ?= $(abspath $(wildcard ../shared/tools/gen_export.py))
export CLARITY_EXPORT_GENERATOR

.PHONY: help setup build demo test test-pages pictures chaos bench conformance check-api fuzz lint format release package \
	install uninstall image test-image test-installed first-day clean

help:
	@echo 'make demo     builds, then runs the five jobs against a stand-in backend on this machine,'
	@echo '              in both dialects, with the faults that the deployed backend has, and against'
	@echo '              a FHIR server'
	@echo 'make test     builds and runs the tests; FILTER=OutboxTests only those whose names match'
	@echo 'make test-pages  tests the pages of `serve` in Chromium, some two minutes'
	@echo 'make pictures    makes the pictures of the pages in docs/pictures anew'
	@echo 'make chaos    breaks all that can be broken; CHAOS="--seed 7 --part kill"'
	@echo 'make bench    measures the release beside its peers, some seventy minutes, and writes Benchmarks/RESULTS.md'
	@echo 'make conformance  drives the stand-in backend by the deployed one'"'"'s schema, some five minutes'
	@echo 'make check-api  drives the API of the web pages by its description, some two minutes'
	@echo 'make fuzz     makes up what others may write, for FUZZ_SECONDS each, 60 without it, and looks for faults'
	@echo 'make lint     checks the form of the code, and the types of the JavaScript'
	@echo 'make format   puts the code into that form'
	@echo 'make release  leaves programs that run without Swift, and what belongs to them, in dist/'
	@echo 'make package  makes the Debian packages of dist/, in dist/packages'
	@echo 'make install  copies dist/ to PREFIX, below DESTDIR; make uninstall removes it again'
	@echo 'make image    makes a container image of the packages; make test-image runs it; both need root'
	@echo 'make test-installed  boots a Debian with the packages and breaks it, some ten minutes; needs root'
	@echo 'make first-day  sets the release up in a fresh Debian, at a terminal; needs root'
	@echo 'make clean    removes everything that was built, the demo'"'"'s data included'

setup:
	@scripts/setup

build: setup
	@scripts/build

demo: build
	@scripts/demo
	@scripts/demo --brief --dialect loop
	@scripts/demo --brief --dialect loop --quirks measured
	@scripts/demo --brief --fhir hapi

# More tests at once than a small machine can serve would wait past their time limits.
test: export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 8
test:
	@scripts/setup test
	@test -n "$(CLARITY_EXPORT_GENERATOR)" || echo 'skipped: checks against generated exports (no CLARITY_EXPORT_GENERATOR)'
	$(SWIFT) build --build-tests --explicit-target-dependency-import-check error
	$(SWIFT) test --skip-build --disable-xctest $(if $(FILTER),--filter '$(FILTER)')

test-pages:
	@scripts/setup pages
	@scripts/test-pages
	@scripts/test-assistant
	@scripts/test-fhir

pictures:
	@scripts/setup pages
	@scripts/make-pictures

chaos:
	@scripts/setup test
	@scripts/chaos $(CHAOS)

bench: setup
	@Benchmarks/run

conformance: setup
	@scripts/conformance

check-api: setup
	@scripts/check-api

FUZZ_SECONDS ?= 60
fuzz: setup
	@scripts/fuzz --seconds $(FUZZ_SECONDS) $(FUZZ)

lint: setup
	@scripts/setup lint
	$(SWIFT) format lint --strict --recursive $(SWIFT_FILES)
	@if command -v tsc >/dev/null; then tsc -p Tests/Pages; else echo 'skipped: the types of the pages (no tsc)'; fi

format: setup
	$(SWIFT) format --in-place --recursive $(SWIFT_FILES)

release: setup
	@scripts/release

package: release
	@scripts/setup package
	@scripts/package

# These take dist/ as it is, because root has no business building.
install uninstall:
	@scripts/install $@

image: package
	@scripts/setup image
	@scripts/image

test-image: image
	@scripts/test-image

test-installed: package
	@scripts/setup installed
	@scripts/test-installed $(SCENARIOS)

first-day: release
	@scripts/first-day

clean:
	rm -rf .build .demo dist
