# The two commands for a newcomer are `make demo` and `make test`; each sets up what it needs. CONTRIBUTING.md has the rest.
.PHONY: demo test build bench fuzz format lint asan tsan setup setup-demo setup-test clean help
.NOTPARALLEL:  # the tools that each line calls use all cores

FUZZ_SECONDS ?= 60

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make demo     build, compare the methods on a U-Net that does not fit, train GPT-2 in half its memory
demo: setup-demo build
	@scripts/demo.sh

## make test     everything that CI checks: tests, sanitizers, linters
test: setup-test
	@scripts/test.sh

## make build    the program, at build/bin/checkmate, and the Python package, at build/python
build: setup
	@scripts/build.sh release checkmate_tool checkmate_package checkmate_shared
	@echo "build: there are build/bin/checkmate and build/python/checkmate"

## make bench    the benchmarks, at build/bin/*_bench; runs the first of them
bench: setup-test
	@scripts/build.sh release scale_bench solve_bench layout_bench micro_bench
	@echo "bench: there are build/bin/scale_bench, solve_bench, layout_bench and micro_bench; running scale_bench"
	@build/bin/scale_bench

## make fuzz     each reader against random input, FUZZ_SECONDS (60) each
fuzz: setup-test
	@scripts/build.sh fuzz
	@scripts/fuzz.sh $(FUZZ_SECONDS)

## make format   clang-format over all our code
format: setup-test
	@scripts/format.sh

## make lint     clang-format and clang-tidy; records in scripts/clang_tidy_passed what passed, to be committed
lint: setup-test
	@scripts/format.sh --check
	@python3 scripts/lint.py --record

## make asan     the tests under the address and undefined-behaviour sanitizers
asan: setup-test
	@scripts/build.sh asan
	@ctest --preset asan

## make tsan     the tests under the thread sanitizer
tsan: setup-test
	@scripts/build.sh tsan
	@ctest --preset tsan

## make setup    install what make build needs; setup-demo and setup-test install what those need
setup:
	@scripts/setup.sh build

setup-demo setup-test:
	@scripts/setup.sh $(@:setup-%=%)

## make clean    remove everything that was built
clean:
	rm -rf build
