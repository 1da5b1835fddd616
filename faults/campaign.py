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

"""Inject a fault again and again and note what became of motor, episode, journal and run."""
from __future__ import annotations

import time

from faults.cases import Effect, Fault, LIMIT, Where
from faults.graph import wait_for
from faults.ledger import complaints, moved_while_stopped
from faults.rig import Rig, RunEnded
from faults.rows import Row
from pacsbo_ros.robots.contract import Outcome

SETTLE = 0.3  # s without voltage after a fault was told
BEFORE = 0.05  # s; a result that comes sooner is of an episode that the fault did not meet
MOST_STALLS = 20  # repeats of a fault that may be lost to the machine


def run(rig: Rig, fault: Fault, repeats: int) -> Row:
    """Inject a fault in a run of its own, repeats times in turn over its phases."""
    row = Row(fault.name, fault.effect.value, fault.limit)
    start = time.monotonic()
    rig.begin()
    while row.repeats < repeats:
        row.repeats += 1
        phase = fault.phases[(row.repeats - 1) % len(fault.phases)]
        said, since = len(row.complaints), time.monotonic()
        try:
            _once(rig, fault, phase, row)
        except RunEnded:  # no more gains to propose: the next run, please
            row.recovered += 1
            _judge(rig, row)
            rig.begin(anew=True)
        except AssertionError as error:
            row.complain(f'{error}; {rig.words()}')
            rig.begin(anew=True)
        whose = rig.stalls.words(since, time.monotonic())
        row.complaints[said:] = [f'{words} ({whose})' for words in row.complaints[said:]]
    _judge(rig, row)
    # A busy machine may end an episode by itself; a fault that ends most of them is not harmless.
    if 2 * len(row.disturbed) > row.repeats:
        row.complain(f'episodes ended: {set(row.disturbed)}')
    row.seconds = time.monotonic() - start
    return row


def _judge(rig: Rig, row: Row) -> None:
    """Compare journal, messages and motor of the run so far."""
    row.complaints += [f'{row.name}: {words}' for words in
                       (*complaints(rig), *moved_while_stopped(rig, LIMIT))]


def _once(rig: Rig, fault: Fault, phase: str, row: Row) -> None:
    episode = rig.wait_for_phase(phase)
    try:
        counts = _inject(rig, fault, episode, row)
    finally:  # also if the run ends or something does not come: the next one begins healed
        fault.heal(rig)
    rig.recover()
    row.recovered += counts


def _inject(rig: Rig, fault: Fault, episode: float, row: Row) -> bool:
    """Break it, wait, and note what came of it; False if the machine stood still meanwhile."""
    begun = time.monotonic()
    begun = fault.inject(rig) or begun
    if fault.words:
        rig.answer = ''
        wait_for(lambda: _heard(rig, fault.words, begun), f'"{fault.words}"')
        time.sleep(SETTLE)
    else:
        time.sleep(fault.hold)
    if fault.effect is Effect.GOES_ON:
        wait_for(lambda: rig.tend() or rig.results(episode), 'a result')
    end = time.monotonic()
    if rig.stalls.stalled(begun, end) and row.stalls < MOST_STALLS:
        row.stalls += 1
        row.repeats -= 1
        return False
    row.machine = max(row.machine, rig.stalls.worst(begun, end))
    results = rig.results(episode)
    row.outcomes[Outcome(results[0].outcome).name if results else 'no result'] += 1
    if fault.effect is Effect.ZERO:
        elapsed = _time_to_zero(rig, fault, begun, end, row)
        row.times += [elapsed] if fault.limit is not None else []
    elif fault.effect is Effect.GOES_ON and not results[0].is_datum:
        row.disturbed.append(results[0].reason)
    late = rig.results(begun + BEFORE)
    if fault.never_told and late and late[0].is_datum:
        row.complain(f'told as data: {late[0].reason}')
    for name in fault.ends:
        wait_for(lambda n=name: not rig.processes[n].alive, f'the end of {name}', 10.0)
        code = rig.processes[name].popen.returncode
        if code != 0:
            row.complain(f'{name} ended with code {code}')
    return True


def _heard(rig: Rig, words: str, since: float) -> bool:
    """Tell whether somebody has given these words as a reason."""
    client = rig.client
    said = [m.note if topic == 'controller_state' else m.reason
            for topic in ('safety_event', 'controller_state', 'episode_result', 'optimizer_state')
            for then, m in zip(client.times[topic], client.messages[topic], strict=False)
            if then >= since]
    if any(words in reason for reason in (rig.answer, *said)):
        return True
    rig.tend()  # another stop may have come first
    return False


def _time_to_zero(rig: Rig, fault: Fault, begun: float, end: float, row: Row) -> float:
    """Return the time from the fault to the last change of the voltage, which must be to zero."""
    if fault.where is Where.MOTOR:
        changes = [(then, volts) for then, volts in rig.motor() if then <= end]
    else:
        client = rig.client
        changes = [(then, m.values[0]) for then, m in zip(
            client.times['plant/command'], client.messages['plant/command'], strict=False)
            if then <= end]
    nonzero = [i for i, (_, volts) in enumerate(changes) if volts]
    last = nonzero[-1] + 1 if nonzero else 0
    if last == len(changes):
        row.complain(f'{changes[-1][1]} V are left' if changes else 'nothing was recorded')
        return end - begun
    elapsed = max(0.0, changes[last][0] - begun)
    if fault.limit is not None and elapsed > fault.limit:
        row.complain(f'zero volts after {1e3 * elapsed:.1f} ms')
    return elapsed
