# Every command of the project. A newcomer needs the first two: `make demo` and `make test`.

PREFIX ?= $(CURDIR)/target/prefix
CARGO  ?= cargo
# The features of the tests: `check` and `test` have the same ones, so that neither builds again what
# the other has built.
TESTED  = --workspace --features rmpp-sim/planted,mpi-lite/sim,mpi-lite/laboratory
TARGET  = $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)
BUILT   = $(TARGET)/release
TOOLS   = $(TARGET)/tools
STAGE   = $(CURDIR)/target/prefix
RANKS  ?= 4

# The steps of a target run in their order; cargo is parallel in itself.
.NOTPARALLEL:
.PHONY: demo wheel deb source sbom dist dist-check test test-transports test-schedulers install install-built check-prefix uninstall stage build prerequisites bench compare tune plots laboratory check soak fuzz mutants miri tsan doc clean

# Builds everything, compiles two C programs with our mpicc, runs them with our mpirun.
demo: stage
	@mkdir -p target/demo
	"$(STAGE)/bin/mpicc" -O2 -o target/demo/pingpong benches/c/pingpong.c
	"$(STAGE)/bin/mpicc" -O2 -o target/demo/farm benches/c/farm.c
	"$(STAGE)/bin/mpirun" -n 2 target/demo/pingpong
	"$(STAGE)/bin/mpirun" -n $(RANKS) target/demo/farm

# All tests that a change must pass; ONLY="stall launcher/" runs the programs whose names contain one
# of these. The installation and the tests are built at once, each by its profile.
test: prerequisites
	@$(MAKE) --no-print-directory stage & stage=$$!; \
	  $(CARGO) test $(TESTED) --no-run; tests=$$?; \
	  wait $$stage && exit $$tests
	@CARGO="$(CARGO)" MPILITE_PREFIX="$(STAGE)" "$(TARGET)/debug/queue" \
	  $(ONLY:%=--only %) -- $(TESTED)

# Every C program over every transport: `test` runs each over the usual ones and one of the others.
# Programs that check what no transport changes run over one, and here over two.
test-transports: prerequisites stage
	TEST_ALL_TRANSPORTS=1 MPILITE_PREFIX="$(STAGE)" \
	  $(CARGO) test --package mpi-lite-tests --test c

# Our programs under Slurm (`srun`, `salloc`, `sbatch`; three nodes in namespaces of this machine)
# and under Open MPI's mpirun, in C and in Python. Needs root; installs what is missing.
test-schedulers: stage
	@sh tests/prerequisites.sh schedulers
	@sh tests/mpi4py.sh "$(STAGE)" "$(TARGET)/mpi4py"
	MPILITE_PREFIX="$(STAGE)" TEST_PYTHON="$(TARGET)/mpi4py/bin/python" \
	  $(CARGO) test --package mpi-lite-tests --features schedulers --test schedulers

# Lists what the tests need and what is missing; as root it says what it installs, and does it.
prerequisites:
	@sh tests/prerequisites.sh

# The library has all transports, those of the laboratory too. Its kinds are named, since cargo
# optimises none as a whole that is to be a crate for Rust as well.
# Expanded by this target alone: whoever only cleans up needs no compiler.
build: export MPILITE_BUILD_COMMIT = $(shell \
  { [ -e .git ] && git rev-parse --short=12 HEAD 2>/dev/null; } || echo not known)
build: export MPILITE_BUILD_COMPILER = $(shell rustc --version)
build:
	@$(CARGO) build --profile tools --package launcher --package wrappers & tools=$$!; \
	  $(CARGO) rustc --release --package mpi-capi --features mpi-capi/laboratory \
	    --crate-type cdylib,staticlib; library=$$?; \
	  wait $$tools && exit $$library
	@$(CC) -shared -nostdlib -Wl,-soname,libmpi.so.12,-rpath,'$$ORIGIN',--disable-new-dtags \
	  -Wl,-z,defs,-z,noexecstack,-z,noseparate-code,--hash-style=gnu \
	  -o "$(BUILT)/libmpi.so.12" mpi-capi/mpich/libmpi.S "$(BUILT)/libmpi_abi.so"

# The installation that demo, test and bench use.
stage:
	@$(MAKE) --no-print-directory install PREFIX="$(STAGE)" DESTDIR=

# To DESTDIR and PREFIX, by default target/prefix. DEBUG=no leaves out the debug information.
# `install-built` does it without a build.
install: check-prefix build install-built

# `uninstall` removes from DESTDIR and PREFIX what `make install` put there, if it is still the same,
# and folders left empty.
check-prefix install-built uninstall: export PREFIX := $(PREFIX)
check-prefix install-built uninstall: export DESTDIR := $(DESTDIR)
check-prefix install-built uninstall: export DEBUG := $(DEBUG)
check-prefix install-built uninstall: export BUILT := $(BUILT)
check-prefix install-built uninstall: export TOOLS := $(TOOLS)
check-prefix:
	@sh launcher/install.sh check
install-built:
	@sh launcher/install.sh install
uninstall:
	@sh launcher/install.sh uninstall

# A file in target/dist that pip puts into an environment: programs, library and header.
wheel: stage
	@python3 -B launcher/dist/wheel.py "$(STAGE)" "$(DIST)"

# Packages for Debian and its like: mpi-lite, mpi-lite-dev, mpi-lite-doc. DEBFULLNAME and DEBEMAIL
# name who makes them.
deb: stage
	@python3 -B launcher/dist/deb.py "$(STAGE)" "$(DIST)"

# The source with its crates, which builds without a network.
source:
	@sh launcher/dist/source.sh "$(DIST)"

# The crates that the installed files are built of, their licences and checksums: CycloneDX.
sbom:
	@python3 -B launcher/dist/sbom.py "$(DIST)"

# All that is given to others, in target/dist, with checksums. The same commit and the same tools give
# the same bytes.
DIST = $(TARGET)/dist
dist: stage
	@rm -rf "$(DIST)"
	@python3 -B launcher/dist/wheel.py "$(STAGE)" "$(DIST)"
	@python3 -B launcher/dist/deb.py "$(STAGE)" "$(DIST)"
	@sh launcher/dist/source.sh "$(DIST)"
	@python3 -B launcher/dist/sbom.py "$(DIST)"
	@cd "$(DIST)" && sha256sum * >"$(TARGET)/SHA256SUMS" && mv "$(TARGET)/SHA256SUMS" .
	@echo "$(DIST)/SHA256SUMS"

# Makes all of `dist` twice and compares; builds the source archive without a network and runs a
# program with it. Ten minutes.
dist-check: dist
	@sh launcher/dist/check.sh "$(DIST)"

# The date of everything in a package: that of the commit, or of an unpacked archive.
dist dist-check deb source sbom: export SOURCE_DATE_EPOCH := $(or $(SOURCE_DATE_EPOCH),$(shell \
  { [ -e .git ] && git log -1 --format=%ct 2>/dev/null; } || stat -c %Y Cargo.toml))
wheel deb dist dist-check source sbom: export CARGO := $(CARGO)

# Tables of latency, bandwidth, message rate and farm.
bench: stage
	MPILITE_PREFIX="$(STAGE)" $(CARGO) run --release --package mpi-lite-benches --bin bench

# The same beside the MPIs that are installed here, as ratios of one run; draws docs/plots and keeps
# the figures of each picture beside it, with machine, date, commit and versions.
# COMPARE=quick makes it short and draws into target/compare, as do fewer than five rounds;
# ONLY=section,section runs these alone; ONLY=node is one machine, ONLY=network-1500 the network
# with an Ethernet's packets. BEFORE=prefix puts the mpi-lite that is installed there into the place
# of the other MPIs.
compare: stage
	COMPARE="$(COMPARE)" ONLY="$(ONLY)" BEFORE="$(BEFORE)" MPILITE_PREFIX="$(STAGE)" \
	  $(CARGO) run --release --package mpi-lite-benches --bin compare

# Measures, in five minutes, up to which size which algorithm of a collective by messages is faster on
# this machine, and writes that to mpi-lite/boot/src/config/limits.table. QUICK=1 takes two minutes.
tune: stage
	QUICK="$(QUICK)" MPILITE_PREFIX="$(STAGE)" \
	  $(CARGO) run --release --package mpi-lite-benches --bin tune

# Draws docs/plots again from the figures that `make compare` kept beside the pictures.
plots:
	$(CARGO) run --release --package mpi-lite-benches --bin plots

# The experiments of the papers, for all transports, in twenty minutes: writes docs/laboratory.md and
# docs/laboratory. QUICK=1 takes five minutes, ONLY=ping-pong,path runs these alone; both write to
# target/laboratory. AGAIN=1 writes the page of the figures that are kept there.
laboratory: stage
	QUICK="$(QUICK)" ONLY="$(ONLY)" AGAIN="$(AGAIN)" MPILITE_PREFIX="$(STAGE)" \
	  $(CARGO) run --release --package mpi-lite-benches --bin laboratory

# What a change must pass before the tests are worth running.
check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(TESTED) --all-targets \
	  --features mpi-lite-tests/schedulers,mpi-lite-benches/parts -- -D warnings
	$(CARGO) test $(TESTED) --test tidy
	@CARGO="$(CARGO)" sh tests/deny.sh
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items

# Hours of simulation, exploration and fuzzing with new seeds, a system of 10,000 nodes (17 GB), and
# the models of shared memory with more interruptions.
# SOAK_SEED says where to begin, SOAK how many times as much of each.
SOAK ?= 1
SOAK_SEED := $(or $(SOAK_SEED),$(shell date +%s))
# Optimised as a whole, with all assertions on, in a folder of its own.
SOAK_TEST = CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true \
  CARGO_TARGET_DIR=target/soak \
  nice $(CARGO) test --release --package rmpp-sim --features planted --test sim
soak:
	@echo "soak: base seed $(SOAK_SEED); make soak SOAK_SEED=$(SOAK_SEED) does it again"
	RMPP_FIRST_SEED=$(SOAK_SEED) RMPP_SEEDS=$$(($(SOAK) * 1100000)) \
	  $(SOAK_TEST) -- --nocapture simulation::all_invariants
	RMPP_FUZZ_SEED=$(SOAK_SEED) RMPP_FUZZ_RUNS=$$(($(SOAK) * 10000000)) \
	  $(SOAK_TEST) -- --nocapture fuzz::
	RMPP_FIRST_SEED=$(SOAK_SEED) RMPP_DEPTH=$(SOAK) RMPP_STATES=$$(($(SOAK) * 300000)) \
	  $(SOAK_TEST) -- --nocapture --test-threads=1 exploration::small_cases_keep_the_invariants_in \
	  exploration::small_cases_keep_the_invariants_with_all
	RMPP_FIRST_SEED=$(SOAK_SEED) RMPP_DEPTH=$(SOAK) RMPP_STATES=$$(($(SOAK) * 10000)) \
	  $(SOAK_TEST) -- --nocapture exploration::small_cases_keep_the_invariants_with_each
	RMPP_NODES=10000 $(SOAK_TEST) -- --nocapture --test-threads=1 cluster::
	LOOM_MAX_PREEMPTIONS=3 nice $(CARGO) test --package mpi-lite --test models

# Fuzzing guided by coverage: FUZZ_SECONDS for each target, all in ten minutes by default;
# TARGETS="ring seals" chooses. Needs the nightly toolchain.
fuzz:
	@CARGO="$(CARGO)" sh tests/fuzz/run.sh

# One mutant after the other of the protocol and of mpi-lite's matching, requests and ring: a sample
# of MUTANTS, drawn by MUTANTS_SEED; SHARD=k/n runs a part. docs/mutants.md names those that no test
# catches.
mutants:
	@CARGO="$(CARGO)" sh tests/mutants.sh

# Unit tests under Miri, which finds undefined behaviour: those of what mpi-lite does with raw
# memory, the channels of shared memory above all; the core has no unsafe code. There, ranks share a
# heap instead of a mapping; and a Box whose word a local peer reads is no aliasing that stacked
# borrows knows.
MIRI = $(CARGO) +nightly miri
miri:
	@$(MIRI) --version >/dev/null 2>&1 || \
	  { echo "miri: not installed; rustup +nightly component add miri rust-src"; exit 1; }
	MIRIFLAGS="-Zmiri-ignore-leaks -Zmiri-permissive-provenance -Zmiri-disable-isolation -Zmiri-tree-borrows" \
	  $(MIRI) test --package mpi-lite --lib -- transport::shm::tests memory:: slab:: pool::

# What threads do at once under ThreadSanitizer. Needs the nightly toolchain and its rust-src.
tsan: stage
	@CARGO="$(CARGO)" MPILITE_PREFIX="$(STAGE)" sh tests/tsan/run.sh

clean:
	$(CARGO) clean
