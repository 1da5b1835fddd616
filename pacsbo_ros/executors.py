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

"""Where the work of a command is done: in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
import multiprocessing
import os
import signal
import threading

CONNECT = 30.0  # s to wait for a Dask scheduler

MakeExecutor = Callable[[], AbstractContextManager[Executor]]


class UsageError(ValueError):
    """Say what the user has to change; shown without a traceback."""


def executor_factory(workers: int, scheduler: str = '') -> MakeExecutor:
    """Return what opens a pool of processes, or the Dask cluster at an address."""
    @contextmanager
    def cluster() -> Iterator[Executor]:
        try:
            from distributed import Client
        except ImportError as error:
            raise UsageError(
                f'scheduler is {scheduler!r}; this needs Dask: pip install distributed'
            ) from error
        try:
            client = Client(scheduler, timeout=CONNECT)
        except (OSError, ValueError) as error:
            raise UsageError(
                f'scheduler is {scheduler!r}; no Dask scheduler answers there ({error}): start '
                'one with `dask scheduler` and give the address that it prints') from error
        with client:
            executor = client.get_executor()
            try:
                yield executor
            except BaseException:
                executor.shutdown(wait=False)  # which cancels what nobody waits for any more
                raise
            executor.shutdown()

    kept: list[Executor] = []

    @contextmanager
    def pool() -> Iterator[Executor]:
        # Starting workers takes seconds, so one pool serves all stages until a worker dies.
        try:
            kept[-1].submit(int)
        except (BrokenExecutor, IndexError):
            # The pool does the parallel work: threads in each worker would fight for the cores.
            for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS'):
                os.environ.setdefault(name, '1')
            kept[:] = [ProcessPoolExecutor(
                workers, multiprocessing.get_context('spawn'), initializer=_begin_worker)]
        try:
            yield kept[-1]
        except BaseException:
            kept.pop().shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                child.terminate()
            raise

    return cluster if scheduler else pool


def _begin_worker() -> None:
    """Leave Ctrl-C to the parent, and end with it however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)
    threading.Thread(target=follow, daemon=True).start()


def add_executor_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the executor."""
    cores = os.cpu_count() or 1
    parser.add_argument('--workers', type=whole(1), default=cores,
                        help=f'processes (default: the number of cores, {cores})')
    parser.add_argument('--scheduler', default='', metavar='ADDRESS',
                        help='address of a Dask scheduler, whose workers are used instead')


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return what reads a whole number from the command line."""
    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least or (most is not None and value > most):
            limits = f'from {least}' if most is None else f'from {least} to {most}'
            raise argparse.ArgumentTypeError(f'{text}: a whole number {limits} was expected')
        return value
    return read


def carry_out(parser: argparse.ArgumentParser, action: Callable[[], int | None],
              after: str = 'the same command goes on where it was') -> int:
    """Do what a command is for; if it fails or is interrupted, say so in one line."""
    try:
        return action() or 0
    except (UsageError, OSError) as error:
        parser.exit(1, f'{parser.prog}: error: {error}\n')
    except KeyboardInterrupt:
        parser.exit(130, f'\n{parser.prog}: interrupted; {after}\n')
