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

"""Errors of a task: one line, with the nearest right word."""
from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class TaskError(ValueError):
    """A task that cannot be run; one line that names the value and the remedy."""


def unknown(what: str, given: str, known: Iterable[str]) -> TaskError:
    """Return the error for a word that is not known, with the nearest one that is."""
    names = list(known)
    near = get_close_matches(str(given), names, 1, 0.5)
    hint = f'did you mean {near[0]!r}?' if near else f'there are {", ".join(names) or "none"}'
    return TaskError(f'{what} {str(given)!r} is not known; {hint}')
