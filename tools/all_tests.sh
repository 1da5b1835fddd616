#!/bin/sh
# All tests, for `make test`. What computes takes the time that the others leave; what starts a real
# graph of processes goes first, two at a time in ROS domains of their own, because its watchdogs
# count milliseconds. A test of a graph that failed is tried again, at last with nothing beside it,
# and says so.
graphs() {
  python -m pytest -m graph -o cache_dir=build/graph_cache --reruns 1 --reruns-delay 3 "$@"
}
mkdir -p build
nice -n 19 python -m pytest -m 'not graph' -n auto --dist loadgroup >build/compute.log 2>&1 &
computing=$!
trap 'kill $computing; exit 130' INT TERM  # a background job does not hear Ctrl-C
graphs -n 2 --dist loadfile --no-loadscope-reorder
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
