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
Numbers of a rule that were measured, shipped as data with the command that measured them.

`python -m studies.calibrate` writes `calibration/<name>.json`: `student` for a length scale that
is told, `averaged` for a grid of them. Whoever changes a rule runs it again: the file says for
which kinds of starts the share of unsafe runs was below delta, and with which confidence.
"""

from __future__ import annotations

from dataclasses import dataclass
import hashlib
from importlib.resources import files
import json
from typing import Any


@dataclass(frozen=True)
class Calibration:
    """Hold what was chosen, and why."""

    nominal: float  # part of what is spent that the posterior may use
    delta: float  # for which it was measured
    confidence: float  # that the share of unsafe runs is at most delta for every kind of start
    command: str
    functions: tuple[int, int]  # first and last number
    worlds: tuple[str, ...]
    dimensions: tuple[int, ...]
    starts: dict[str, dict[str, Any]]  # by kind: runs, unsafe, upper limit of the share
    tried: dict[str, Any]  # every nominal that was tested, in order: did it hold, and the counts
    made_by: dict[str, Any]
    sha256: str = ''  # of all else


def digest(data: dict[str, Any]) -> str:
    """Return the hash of a calibration."""
    rest = {k: v for k, v in data.items() if k != 'sha256'}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def calibrated(name: str) -> Calibration:
    """Read a calibration; ValueError if it was changed by hand."""
    path = files('pacsbo_ros.core').joinpath(f'calibration/{name}.json')
    data = json.loads(path.read_text(encoding='utf-8'))
    if data.get('sha256') != digest(data):
        raise ValueError(f'{path} does not match its hash; run python -m studies.calibrate')
    return Calibration(**{**data, **{k: tuple(data[k])
                                     for k in ('functions', 'worlds', 'dimensions')}})
