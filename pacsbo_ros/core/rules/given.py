# Copyright the pacsbo_ros developers. Apache-2.0.
"""
The given norm of SafeOpt: B is what the user says, on every domain.

Spends nothing: certain, if the user is right.
"""

from __future__ import annotations

from pacsbo_ros.core.norm_rule import Bound, Evidence, NormRule
from pacsbo_ros.core.rule import rule


@rule('given')
class Given(NormRule):
    """Rely on `Settings.given_norm`."""

    name = 'given'
    assumption = 'the norm of every output is at most the given one'
    spends = 'nothing: certain, if the user is right'

    def bounds(self, evidence: Evidence) -> dict[str, list[Bound]]:
        """Give what was given."""
        given = [self.settings.given_norm[i] for i in evidence.members]
        return {domain: [Bound(B, B, B, B, 0, 0.0) for B in given]
                for domain in evidence.domains.names}
