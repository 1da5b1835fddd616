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
        """Return what was given."""
        given = [self.settings.given_norm[i] for i in evidence.members]
        return {domain: [Bound(B, B, B, B, 0, 0.0) for B in given]
                for domain in evidence.domains.names}
