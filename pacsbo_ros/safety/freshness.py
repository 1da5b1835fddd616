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

"""
Tell how old the newest trustworthy message of a source is.

    delay      steady time of arrival minus the sender's stamp: lateness plus the clocks' offset
    least      the delay of a message that is not late at all
    lateness   delay - least; beyond JITTER the whole of it counts as age

Where sender and receiver read the same system clock, least is the receiver's own offset and every
lateness is known, that of the first message too. Elsewhere it is learnt from the quickest message
of that sender, and may creep by DRIFT while messages come, never while they do not.

| what happens | what it means |
|---|---|
| a message again, or one that was overtaken | it does not count, however long the silence was |
| a message that comes late | its lateness is age; beyond max_delay it does not count |
| a gap | nothing is forgotten: what comes after it is judged like what came before |
| the common clock steps | nothing, but for messages that were under way |
| another machine's clock steps ahead | it looks quicker; what is older is refused from then on |
| another machine's clock steps back | nothing of it counts until a person lets it: renew() |
| a restart: a new source | it counts at once; what it replaced never counts again |
| two sources in turn | rivals |
| a bridge | a constant delay cannot be told from an offset between two clocks; a growing one can |
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math

DRIFT = 5e-4  # by how much two clocks may run at different speeds
JITTER = 0.02  # s by which an ordinary message may be late
LATE = 0.025  # s beyond which a state says nothing of the robot's present one
Offset = Callable[[int, float], float | None]
SENDERS = 64  # that are remembered; two that live are rivals long before


@dataclass
class _Sender:
    """What is known of one process that sends."""

    order: float = -math.inf  # of its newest message that counted
    least: float = math.inf  # s
    counted: float = -math.inf  # when its newest message counted
    heard: float = -math.inf  # when any message of it came


class Freshness:
    """Judge the messages of one topic."""

    def __init__(self, max_delay: float = 0.05, forget: float = 1.0,
                 offset: Offset = lambda *_: None) -> None:
        """
        Let lateness up to max_delay [s] count as age; name rivals for forget seconds.

        offset takes a sender and the delay of its message, and returns the receiver's steady minus
        its system clock where the sender has the same system clock, None for any other.
        """
        self._offset = offset
        self.max_delay = max_delay
        self.forget = forget
        self._made = -math.inf  # when the newest message would have come had it not been late
        self._source: int | None = None
        self._senders: dict[int, _Sender] = {}
        self._rivalled = -math.inf
        self.refused = 0.0  # s, lateness of the newest message if that was its only fault
        self.lateness = 0.0  # s, of the newest message that counted

    def accept(self, now: float, stamp: float, order: float, source: int = 0) -> bool:
        """Note a message that was stamped and numbered by its sender; tell if it counts."""
        self.refused = 0.0
        if not math.isfinite(stamp) or not math.isfinite(order):
            return False
        sender = self._hear(now, source)
        if order <= sender.order:
            return False
        delay = now - stamp
        offset = self._offset(source, delay)
        if offset is not None:
            least = offset
        else:
            creep = DRIFT * min(now - sender.counted, self.forget)
            least = min(sender.least + creep, delay) if math.isfinite(sender.least) else delay
        lateness = delay - least
        if abs(lateness) > self.max_delay:
            self.refused = lateness
            return False
        sender.order, sender.least, sender.counted = order, least, now
        self.lateness = lateness
        self._made = now - (lateness if lateness > JITTER else 0.0)
        return True

    def _hear(self, now: float, source: int) -> _Sender:
        """Return what is known of a sender; one that comes back after another is a rival."""
        known = source in self._senders
        sender = self._senders.setdefault(source, _Sender())
        if source != self._source and known and now - sender.heard <= self.forget:
            self._rivalled = now
        sender.heard, self._source = now, source
        if len(self._senders) > SENDERS:
            del self._senders[min(self._senders, key=lambda s: self._senders[s].heard)]
        return sender

    def renew(self) -> None:
        """Let a person vouch for the source: learn its clock anew, and forget no number."""
        for sender in self._senders.values():
            sender.least = math.inf
        self._senders.pop(0, None)  # it has no numbers: its stamps go on from anywhere

    def rivals(self, now: float) -> bool:
        """Tell whether more than one process was sending of late."""
        return now - self._rivalled <= self.forget

    def age(self, now: float) -> float:
        """Return the age of the newest message that counted; infinite before the first."""
        return now - self._made
