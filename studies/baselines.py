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

"""What PACSBO is compared with, behind the same ask/tell interface."""
from __future__ import annotations

import numpy as np
from pacsbo_ros.core import MAXIMISER, Settings
from pacsbo_ros.core.choice import choice, View

CONSTANT_BETA = 2.0  # of SafeOpt as its users run it


def constant_beta(settings: Settings) -> Settings:
    """
    Return the settings whose copy `with_norm(β)` has the band μ ± βσ for ever.

    Users of SafeOpt give the noise variance to the Gaussian process and a constant β. In our
    terms λ = R², and a noise bound of zero leaves nothing to add to B.
    """
    return settings.replace(lam=float(settings.noise_bound) ** 2, noise_bound=0.0)


@choice('random')
def random_search(view: View) -> tuple[int, str]:
    """Draw a point of the box, safe or not; the same number of samples gives the same one."""
    rng = np.random.default_rng([view.seed, 8, view.samples.count])
    away = view.X - rng.random(view.X.shape[1])
    return int(np.argmin(np.einsum('ij,ij->i', away, away))), MAXIMISER
