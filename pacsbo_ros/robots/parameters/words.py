# Copyright the pacsbo_ros developers. Apache-2.0.
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
