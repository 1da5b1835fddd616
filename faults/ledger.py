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

"""Compare what the journal of a run says with what really happened: nothing lost or invented."""
from __future__ import annotations

import json
import time

from faults.rig import Rig
from pacsbo_ros.nodes.spinning import stamp_seconds


def steady_offset() -> float:
    """Return what brings the stamp of a message to the steady clock of the motor's log."""
    return time.monotonic() - time.time()


def _key(message) -> tuple:
    return (message.iteration, message.reward, tuple(message.margins), tuple(message.peaks))


def complaints(rig: Rig) -> list[str]:
    """Return what is wrong with the journal of the present run; nothing if all is well."""
    client, run_id = rig.client, rig.run.name
    # In this order, because the run goes on: what was told must be in a journal read later.
    told = [_key(m) for m in client.messages['told_result'] if m.run_id == run_id]
    content = (rig.run / 'episodes.jsonl').read_bytes()
    if not content.endswith(b'\n'):
        return ['the last line is torn']
    try:
        lines = [json.loads(line) for line in content.splitlines()[1:]]
    except ValueError:
        return ['a line is damaged']
    found = []
    numbers = [line['trial']['iteration'] for line in lines]
    if numbers != list(range(1, len(lines) + 1)):
        found.append(f'iterations are {numbers}')
    journal = [(line['trial']['iteration'], line['measured']['reward'],
                tuple(line['measured']['margins']), tuple(line['measured']['peaks']))
               for line in lines]
    # A controller that was killed soon after its start may have been found too late to hear its
    # results; then what it told the optimiser counts, if the motor moved at that time.
    seen = [m for topic in ('episode_result', 'told_result') for m in client.messages[topic]
            if m.run_id == run_id and m.is_datum]
    data = {_key(m): (stamp_seconds(m.stamp) + steady_offset(), m) for m in seen}
    motor = rig.motor()
    for entry in journal:
        if entry not in data:
            found.append(f'episode {entry[0]} is in the journal with reward {entry[1]}, but '
                         'nobody reported it')
            continue
        then, result = data[entry]
        if not any(volts for when, volts in motor if then - result.duration - 0.1 < when < then):
            found.append(f'episode {entry[0]} is in the journal, but the motor was idle')
    found += [f'episode {key[0]} was told, but is not in the journal'
              for key in told if key not in journal]
    if len(set(told)) != len(told):
        found.append('an episode was told twice')
    return found


def moved_while_stopped(rig: Rig, allowance: float) -> list[str]:
    """Return the voltages that the motor got between a latched stop and its release."""
    # The monitor's own stamps, because an event may have come late.
    events = [(stamp_seconds(event.stamp) + steady_offset(), event)
              for event in rig.client.messages['safety_event']]
    motor = rig.motor()
    found = []
    for i, (stopped, event) in enumerate(events):
        if event.state == event.STOPPED:
            armed = next((then for then, later in events[i:] if later.ok), float('inf'))
            found += [f'{volts} V at {then - stopped:.3f} s after a stop' for then, volts in motor
                      if volts and stopped + allowance < then < armed]
    return found
