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

"""A line of the campaign's table."""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Row:
    """One line of the table."""

    name: str
    effect: str
    limit: float | None = None  # s
    repeats: int = 0
    times: list[float] = field(default_factory=list)  # s from fault to zero volts
    outcomes: Counter[str] = field(default_factory=Counter)
    recovered: int = 0
    stalls: int = 0  # repeats that did not count, because the machine itself stood still
    machine: float = 0.0  # s for which it stood still at most in those that did
    disturbed: list[str] = field(default_factory=list)  # why an episode ended that should not
    seconds: float = 0.0
    complaints: list[str] = field(default_factory=list)  # anything that must not be

    @property
    def good(self) -> bool:
        """Tell whether everything was as it has to be."""
        return not self.complaints and self.recovered == self.repeats

    def complain(self, words: str) -> None:
        """Note something that must not be."""
        self.complaints.append(f'{self.name}, repeat {self.repeats}: {words}')
