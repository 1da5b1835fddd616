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

"""Every fault of the campaign: what is done, to whom, when, and what has to follow."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
import re
import resource
import shutil
import signal
import time

from faults.graph import wait_for
from faults.relay import ECHO
from faults.rig import HERE, Member, PHASES, Rig
from pacsbo_ros.msg import GainMap, SafetyStatus
from pacsbo_ros.nodes.spinning import EVENTS, LATCHED

LIMIT = 0.1  # s from the fault to zero volts
HOLD = 4.0  # s, at least three more than every timeout of the graph
EPISODE = PHASES
ANY = ('any',)


class Effect(Enum):
    """Say what a fault has to lead to."""

    ZERO = 'zero volts'  # within the limit, wherever the episode was
    GOES_ON = 'the episode goes on'  # and is told like any other
    EITHER = 'either'  # depends on the moment


class Where(Enum):
    """Say where the end of the voltage is measured."""

    MOTOR = 'motor'
    WIRE = 'wire'  # the command on its way, for faults of the plant itself


@dataclass(frozen=True)
class Fault:
    """Describe one fault."""

    name: str
    inject: Callable[[Rig], float | None]  # returns when it began, if that is not at once
    effect: Effect = Effect.ZERO
    limit: float | None = LIMIT  # s; None where the beginning of the fault has no exact time
    phases: tuple[str, ...] = EPISODE
    heal: Callable[[Rig], object] = Rig.heal
    where: Where = Where.MOTOR
    hold: float = 0.3  # s for which the graph is left alone
    words: str = ''  # that have to be in the reason of the episode, where there is one
    never_told: bool = False  # no episode that it touched may be a datum
    ends: tuple[str, ...] = field(default=())  # processes that have to end by themselves, code 0


def signals(name: str, number: int) -> Callable[[Rig], float | None]:
    """Return what sends a signal to a process."""
    return lambda rig: rig.processes[name].signal(number)


def says(relay: str, mode: str) -> Callable[[Rig], float]:
    """Return what makes a relay behave in some way, and says since when it does."""
    def tell(rig: Rig) -> float:
        process = rig.processes[relay]
        said = len(process.output)
        process.popen.stdin.write(f'{mode}\n'.encode())
        process.popen.stdin.flush()
        line = wait_for(lambda: re.search(rf'^([\d.]+) {mode}$', process.output[said:], re.M),
                        f'{mode} of the relay')
        return float(line[1])
    return tell


def processes() -> Iterator[Fault]:
    """Kill, freeze, hang and end every process."""
    what = {'SIGKILL': signal.SIGKILL, 'SIGSTOP': signal.SIGSTOP, 'hung callback': signal.SIGUSR1}
    for name in ('monitor', 'operator', 'controller', 'plant'):
        where = Where.WIRE if name == 'plant' else Where.MOTOR
        for word, number in what.items():
            yield Fault(f'{name}: {word}', signals(name, number), where=where)
    for word, number in what.items():
        yield Fault(f'optimiser: {word}', signals('optimizer', number), Effect.GOES_ON, None)
    for name in ('monitor', 'controller', 'plant', 'optimizer'):
        for word in ('SIGINT', 'SIGTERM'):
            goes_on = name == 'optimizer'
            yield Fault(f'{name.replace("izer", "iser")}: {word}',
                        signals(name, getattr(signal, word)),
                        Effect.EITHER if goes_on else Effect.ZERO, None if goes_on else LIMIT, ANY,
                        where=Where.WIRE if name == 'plant' else Where.MOTOR, hold=1.0,
                        ends=(name,))
    yield Fault('operator calls stop', _stop, words='operator')


def _stop(rig: Rig) -> float:
    """Call stop; to look for it the first time is no part of the time that it takes."""
    rig.client.find('stop')
    began = time.monotonic()
    rig.client.call('stop')
    return began


def data() -> Iterator[Fault]:
    """Spoil what the sensor and the monitor say; needs both relays."""
    for word, number in (('SIGKILL', signal.SIGKILL), ('SIGSTOP', signal.SIGSTOP),
                         ('hung callback', signal.SIGUSR1)):
        yield Fault(f'state source: {word}', signals('sensor', number))
    harmless = ('lose every second', 'duplicate')
    modes = {'sensor': ('lose all', 'delay', 'slow', 'stale', 'NaN', 'infinite',
                        'a joint missing', 'clock steps back', 'reorder', *harmless),
             'verdict': ('lose all', 'delay', 'slow', 'stale', 'clock steps back',
                         'clock steps ahead', 'reorder', *harmless)}
    titles = {'sensor': 'joint states', 'verdict': 'verdicts'}
    for relay, words in modes.items():
        for mode in words:
            effect = (Effect.GOES_ON if mode in harmless else
                      Effect.EITHER if mode == 'reorder' else Effect.ZERO)
            yield Fault(f'{titles[relay]}: {mode}', says(relay, mode), effect,
                        LIMIT if effect is Effect.ZERO else None, ('middle',),
                        says(relay, 'pass'), hold=0.0 if effect is Effect.GOES_ON else HOLD,
                        never_told=effect is Effect.ZERO)

    def repeat(rig: Rig) -> float:
        began = time.monotonic()
        rig.processes['monitor'].signal(signal.SIGKILL)
        says('verdict', ECHO)(rig)
        return began

    def revive(rig: Rig) -> None:
        rig.heal()
        says('verdict', 'pass')(rig)
    yield Fault('monitor killed, its last verdict repeated', repeat, phases=('middle',),
                heal=revive, hold=HOLD, never_told=True)


def lies() -> Iterator[Fault]:
    """Let the sensor lie with fresh stamps: nothing of it may be told."""
    for mode in ('frozen', 'flipped arm', 'flipped pendulum', 'swapped'):
        yield Fault(f'joint states: {mode}', says('sensor', mode), limit=None,
                    phases=('middle',), heal=says('sensor', 'pass'), hold=1.0,
                    words='sensors cannot be right', never_told=True)


def reads() -> Iterator[Fault]:
    """Block the driver; the amplifier's watchdog has to act, and nothing may be told."""
    yield Fault('read of the plant blocked for 2 s', signals('controller', signal.SIGUSR2),
                phases=('start', 'middle'), hold=HOLD, never_told=True)


def last_element() -> Iterator[Fault]:
    """Spoil commands and the dead man's handle; needs their relays."""
    for relay, title in (('command', 'commands'), ('hand', "operator's handle")):
        for mode in ('lose all', 'delay', 'slow', 'stale'):
            yield Fault(f'{title}: {mode}', says(relay, mode), phases=('middle',),
                        heal=says(relay, 'pass'), hold=HOLD)
        yield Fault(f'{title}: lose every second', says(relay, 'lose every second'),
                    Effect.GOES_ON, None, ('middle',), says(relay, 'pass'), hold=0.0)

    def stop(rig: Rig) -> float:
        rig.client.find('stop')  # before, because the mode begins to count
        says('command', 'lose zeros')(rig)
        return _stop(rig)
    yield Fault('commands: ten zeros lost after a stop', stop, phases=('middle',),
                heal=says('command', 'pass'), hold=HOLD)


def journals() -> Iterator[Fault]:
    """Replace, delete or write to the journal of a run that goes on."""
    def journal(rig: Rig) -> Path:
        return rig.run / 'episodes.jsonl'

    def spoils(change: Callable[[Path], object]) -> Callable[[Rig], None]:
        def inject(rig: Rig) -> None:
            journal(rig).with_name('copy').write_bytes(journal(rig).read_bytes())
            change(journal(rig))
        return inject

    def heal(rig: Rig) -> None:
        journal(rig).with_name('copy').replace(journal(rig))
        rig.heal()

    def write(path: Path) -> None:
        with path.open('ab') as file:
            file.write(b'{}')
    for title, change, words in (
            ('replaced', lambda path: shutil.copy(path, path.with_name('other')).replace(path),
             'another file'),
            ('deleted', Path.unlink, 'the file is gone'), ('written to', write, 'somebody else')):
        yield Fault(f'journal {title}', spoils(change), Effect.EITHER, None, ANY, heal,
                    words=words)


def doubles() -> Iterator[Fault]:
    """Start a second process of a kind."""
    def second(name: str, **parameters) -> Callable[[Rig], None]:
        def start(rig: Rig) -> None:
            member = rig.members.get(name) or Member('pacsbo_ros.nodes.pacsbo_optimizer', {
                'candidates': 300, 'run_dir': f'{rig.run}-second-{rig.random.random()}'})
            rig.start('second', Member(member.what, {**member.parameters, **parameters},
                                       member.remap))
        return start

    def end_second(rig: Rig) -> None:
        if 'second' in rig.processes:
            rig.processes.pop('second').end()
        rig.heal()

    for name, parameters, words in (
            ('monitor', {'auto_arm': True}, 'two safety monitors'),
            ('controller', {}, 'two nodes send heartbeats'), ('optimizer', {}, 'two optimisers')):
        yield Fault(f'second {name.replace("izer", "iser")}', second(name, **parameters),
                    limit=None, phases=ANY, heal=end_second, hold=8.0, words=words)


def disk() -> Iterator[Fault]:
    """Let the run folder be full."""
    def full(rig: Rig) -> None:
        size = (rig.run / 'episodes.jsonl').stat().st_size
        resource.prlimit(rig.processes['optimizer'].popen.pid, resource.RLIMIT_FSIZE,
                         (size + 20, size + 20))
    yield Fault('run folder full', full, Effect.EITHER, None, ANY, words='is not saved')


def views() -> Iterator[Fault]:
    """Kill and freeze what only shows the run."""
    yield Fault('messages with codes that nobody knows', _unknown_codes, Effect.GOES_ON, None,
                ('middle',))
    for name in ('dashboard', 'markers'):
        for word in ('SIGKILL', 'SIGSTOP'):
            yield Fault(f'{name}: {word}', signals(name, getattr(signal, word)), Effect.GOES_ON,
                        None, ('middle',))


def _unknown_codes(rig: Rig) -> None:
    """Send what cannot be shown, then what can: the page has to have heard both."""
    node = rig.client.node
    events = node.create_publisher(SafetyStatus, 'safety_event', EVENTS)
    maps = node.create_publisher(GainMap, 'gain_map', LATCHED)
    page = rig.processes['dashboard']
    wait_for(lambda: events.get_subscription_count() > 1 and maps.get_subscription_count(),
             'the page')
    said = len(page.output)
    events.publish(SafetyStatus(state=99, reason='what'))
    maps.publish(GainMap(names=['a'], lower=[0.0]))
    wait_for(lambda: 'not shown' in page.output[said:] or 'cannot be shown' in page.output[said:],
             'words on what cannot be shown')
    for publisher in (events, maps):
        node.destroy_publisher(publisher)


GROUPS: dict[str, tuple[Callable[[], Iterator[Fault]], dict]] = {
    'processes': (processes, {}),
    'data': (data, {'relays': ('sensor', 'verdict'), 'operator': False}),
    'lies': (lies, {'relays': ('sensor',), 'operator': False, 'duration': 4.0}),
    'reads': (reads, {'controller': str(HERE / 'blocked.py')}),
    'last element': (last_element, {'relays': ('command', 'hand')}),
    'journal': (journals, {'operator': False}),
    'doubles': (doubles, {'operator': False}),
    'disk': (disk, {'operator': False}),
    'views': (views, {'views': True, 'operator': False}),
}
