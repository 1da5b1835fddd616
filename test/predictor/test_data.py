# Copyright 2026 the pacsbo_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
import importlib
from pathlib import Path
import subprocess
import sys
import time

import numpy as np
from pacsbo_ros import executors
from pacsbo_ros.core import Settings
from pacsbo_ros.predictor import load_predictor, workers
from pacsbo_ros.predictor.batch import run_batch
from pacsbo_ros.predictor.data import (
    Family,
    make_problem,
    NORMS,
    Plan,
    run,
    Trajectories,
)
import pytest

LINE = Plan(Family('matern32', 1, (0.05, 0.4)), seed=3, samples=9, candidates=60)
SPACE = Plan(Family('rbf', 4, (0.4, 0.8)), seed=5, samples=6, candidates=128, starts=2)
PLANE = Plan(Family('matern52', 2, (0.2, 0.5)), seed=4, samples=8, candidates=225)


def assert_same(a, b):
    for field in fields(Trajectories):
        np.testing.assert_array_equal(getattr(a, field.name), getattr(b, field.name),
                                      err_msg=field.name)


@pytest.mark.parametrize('plan', [LINE, PLANE, SPACE], ids=['1-D', '2-D', '4-D'])
def test_the_batch_does_what_the_optimiser_does(plan):
    together = run_batch(plan, range(6))
    alone = Trajectories.join([run(plan, i) for i in range(6)])
    for field in fields(Trajectories):
        np.testing.assert_allclose(
            getattr(together, field.name), getattr(alone, field.name), rtol=1e-6, atol=1e-9,
            err_msg=field.name)


def test_the_batch_does_what_the_optimiser_does_with_a_predictor_in_the_loop():
    plan = replace(LINE, length_scale=0.1, samples=12)
    eta = load_predictor('default', Settings(length_scales=(0.1,)))
    plan_of_window = replace(plan, samples=30)  # the window of the settings is that of the run
    together = run_batch(plan_of_window, range(3), eta.estimates)
    alone = Trajectories.join([run(plan_of_window, i, eta) for i in range(3)])
    np.testing.assert_allclose(together.mean_norm, alone.mean_norm, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(together.r, alone.r, rtol=1e-6)


def test_a_true_norm_bounds_every_sub_domain_and_grows_with_it():
    runs = run_batch(PLANE, range(8))
    live = runs.count > 0
    label = runs.label[live]
    assert np.all(label[:, 0] <= label[:, 1] * (1 + 1e-9))
    assert np.all(label[:, 1] <= label[:, 2] * (1 + 1e-9))
    np.testing.assert_array_equal(runs.label[:, 0, 2], runs.norm)
    assert np.all((runs.norm >= NORMS[0]) & (runs.norm <= NORMS[1]))


def test_starts_are_random_and_safe():
    problem = make_problem(LINE, 0)
    assert np.all(problem.h(problem.starts) >= problem.threshold)
    other = make_problem(LINE, 1)
    assert not np.allclose(problem.starts, other.starts)


# Workers --------------------------------------------------------------------------------------

def pool(count):
    return executors.executor_factory(count)


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(workers, 'CHUNK', 3)


@pytest.fixture(scope='module')
def expected():
    return Trajectories.join([run_batch(LINE, range(i, min(i + 3, 8))) for i in (0, 3, 6)])


@pytest.mark.parametrize('count', [1, 2])
def test_any_number_of_workers_makes_the_same_data(count, expected, small_chunks):
    assert_same(workers.trajectories(LINE, 0, 8, pool(count)), expected)


def test_what_was_made_is_not_made_again(tmp_path, expected, small_chunks):
    workers.trajectories(LINE, 0, 6, pool(1), tmp_path)

    @contextmanager
    def only_the_rest():
        with pool(1)() as executor:
            submit, tasks = executor.submit, []
            executor.submit = lambda f, task: (tasks.append(task.first), submit(f, task))[1]
            yield executor
            assert tasks == [6]
            del executor.submit

    assert_same(workers.trajectories(LINE, 0, 8, only_the_rest, tmp_path), expected)


@pytest.mark.parametrize('length', [0, 100, -40])
def test_a_damaged_file_is_made_again(tmp_path, expected, small_chunks, length):
    workers.trajectories(LINE, 0, 8, pool(1), tmp_path)
    path = min(tmp_path.glob('*.npz'))
    path.write_bytes(path.read_bytes()[:length])
    assert_same(workers.trajectories(LINE, 0, 8, pool(1), tmp_path), expected)
    assert len(list(tmp_path.glob('*.npz'))) == 3


@pytest.fixture
def mortal(monkeypatch):
    """Give the work that kills its worker; spawned workers inherit the path to its module."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return importlib.import_module('mortal_work')


def tasks_of(plan):
    return [workers.Task(plan, i, min(i + 3, 8)) for i in (0, 3, 6)]


def test_a_killed_worker_loses_no_result(tmp_path, expected, mortal):
    witness = tmp_path / 'died'
    work = partial(mortal.die_once, witness=str(witness))
    found = workers.collect(work, tasks_of(LINE), pool(2))
    assert witness.exists()
    assert_same(Trajectories.join(found), expected)


def test_workers_that_always_die_are_an_error_not_an_endless_loop(monkeypatch, mortal):
    monkeypatch.setattr(workers, 'ATTEMPTS', 2)
    with pytest.raises(workers.BrokenExecutor):
        workers.collect(mortal.always_die, tasks_of(LINE), pool(1))


def test_an_error_in_the_work_is_not_tried_again(mortal):
    with pytest.raises(ZeroDivisionError, match='a bug'):
        workers.collect(mortal.fail, tasks_of(LINE), pool(1))


def test_no_worker_outlives_a_parent_that_is_killed():
    code = """
import os, time
from pacsbo_ros.executors import executor_factory
if __name__ == '__main__':
    with executor_factory(1)() as executor:
        print(executor.submit(os.getpid).result(), flush=True)
        executor.submit(time.sleep, 3600).result()
"""
    parent = subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE, text=True)
    try:
        worker = int(parent.stdout.readline())
    finally:
        parent.kill()
        parent.wait()
    until = time.monotonic() + 60
    while is_alive(worker):
        assert time.monotonic() < until, f'worker {worker} still runs'
        time.sleep(0.05)


def is_alive(pid):
    """Tell whether the process runs: a zombie that nobody waits for does not."""
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False


def test_a_task_is_named_by_all_that_it_depends_on():
    eta = load_predictor('default', Settings())
    task = workers.Task(LINE, 0, 3)
    others = [replace(task, plan=PLANE), replace(task, last=4), replace(task, predictor=eta),
              replace(task, optimizer=True), replace(task, plan=replace(LINE, seed=9))]
    assert len({t.key() for t in (task, *others)}) == len(others) + 1


def test_a_dask_cluster_makes_the_same_data_and_survives_a_killed_worker(
        tmp_path, expected, mortal):
    distributed = pytest.importorskip('distributed')
    # Processes, so that one can be killed; the nanny starts it again.
    with distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None,
            host='127.0.0.1', silence_logs=50) as cluster:
        witness = tmp_path / 'died'
        found = workers.collect(partial(mortal.die_once, witness=str(witness)), tasks_of(LINE),
                                executors.executor_factory(1, cluster.scheduler_address))
    assert witness.exists()
    assert_same(Trajectories.join(found), expected)


def test_a_scheduler_that_does_not_answer_is_a_clear_error(monkeypatch):
    pytest.importorskip('distributed')
    monkeypatch.setattr(executors, 'CONNECT', 0.5)
    with pytest.raises(executors.UsageError, match=r"'tcp://127.0.0.1:1'; no Dask scheduler"), \
            executors.executor_factory(1, 'tcp://127.0.0.1:1')():
        pass


def test_a_scheduler_without_dask_is_a_clear_error(monkeypatch):
    monkeypatch.setitem(sys.modules, 'distributed', None)
    with pytest.raises(ValueError, match='pip install distributed'), \
            executors.executor_factory(1, 'tcp://127.0.0.1:1')():
        pass
