#!/bin/sh
# All tests, for `make test`. What starts a real graph of processes goes first, one after the other,
# because its watchdogs count milliseconds and two graphs are more than two cores can do; what
# computes takes the time that these leave. A test of a graph that failed is tried again, at last
# with nothing beside it, and says so.
graphs() {
  python -m pytest -m graph -o cache_dir=build/graph_cache --reruns 1 --reruns-delay 3 \
    --durations 15 "$@"
}
mkdir -p build
# Linux compares nice values within a session only (autogroup), so that counts too where it is there.
setsid nice -n 19 sh -c '{ echo 19 >/proc/self/autogroup; } 2>/dev/null
  exec python -m pytest -m "not graph" -n auto --dist loadgroup' >build/compute.log 2>&1 &
computing=$!
trap 'kill $computing; exit 130' INT TERM  # a background job does not hear Ctrl-C
graphs
graph=$?
wait $computing
compute=$?
cat build/compute.log
if [ $graph != 0 ]; then
  echo 'make test: what failed is tried once more, alone'
  graphs --last-failed --last-failed-no-failures none
  graph=$?
fi
[ $graph = 0 ] && [ $compute = 0 ]
