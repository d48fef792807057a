# SPDX-License-Identifier: BSD-3-Clause
# Each target makes the machine ready first (scripts/setup.sh), which costs nothing when it is.
.DEFAULT_GOAL := help
.PHONY: help setup build test demo format test-clients test-cluster test-apps record-apps fuzz test-sanitizers test-tsan test-asan test-clang test-aarch64 clean

help:  ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | expand -t 17

setup:  ## install what is missing: Debian packages (as root), .venv, an MPI of each kind in .mpi
	@scripts/setup.sh tests

build:  ## compile into build/release and install the tutti command into .venv
	@scripts/setup.sh
	@scripts/build.sh

test:  ## set up, build, and run every check and test
	@scripts/test.sh

demo:  ## three unmodified programs, plain and under `tutti run`, in one table and one plot
	@scripts/setup.sh
	@scripts/build.sh tutti_package
	@.venv/bin/python scripts/demo.py

format: setup  ## rewrite the sources as the format checks want them
	@scripts/format.sh

test-clients: setup  ## other people's programs under Tutti, all of it: half an hour
	@scripts/build.sh tutti_package
	@.venv/bin/python -m pytest -p no:cacheprovider tests/clients --whole -v

test-cluster: setup  ## every MPI on 2 to 4 hosts that are namespaces of this machine: 50 minutes
	@scripts/build.sh
	@.venv/bin/python -m pytest -p no:cacheprovider -rs tests/cluster --whole -v

test-apps: setup  ## whole applications, bare and under Tutti: the same results? Eight minutes
	@scripts/build.sh tutti_package
	@scripts/install_apps.sh
	@OMP_NUM_THREADS=1 .venv/bin/python -m pytest -p no:cacheprovider tests/clients/test_apps.py --whole -v

record-apps: setup  ## how long they take, in pairs: half an hour alone on a quiet machine; writes results/
	@scripts/build.sh tutti_package
	@scripts/install_apps.sh
	@.venv/bin/python scripts/record.py apps

SECONDS ?= 600
fuzz: setup  ## random collectives on random MPIs with random options: ten minutes, or SECONDS=N
	@scripts/build.sh
	@OMPI_MCA_btl=^ofi OMPI_MCA_mtl=^ofi .venv/bin/python scripts/fuzz.py --seconds $(SECONDS)

test-sanitizers: setup  ## the unit tests under each sanitizer, one after the other: an hour and more
	@scripts/sanitize.sh asan tsan

test-tsan: setup  ## the unit tests under ThreadSanitizer
	@scripts/sanitize.sh tsan

test-asan: setup  ## the unit tests under AddressSanitizer and UBSan
	@scripts/sanitize.sh asan

test-clang: setup  ## the unit tests built by Clang 15
	@scripts/sanitize.sh clang

test-aarch64: setup  ## the unit tests built for 64-bit Arm, in emulation (qemu-user)
	@scripts/aarch64.sh

clean:  ## remove what was built, but not .venv and .mpi
	rm -rf build dist
