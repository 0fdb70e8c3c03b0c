"""Problems with a surface whose reflections are about as strong as the direct channels."""

import numpy as np

from app.scheduling import IrsProblem
from lab.channels import iid_channels


def surface_problem(rng, gamma_db=-6, elements=8, antennas=4, devices=10, **fixed):
    return IrsProblem(
        iid_channels(rng, antennas, devices),
        iid_channels(rng, antennas, elements),
        iid_channels(rng, elements, devices) / np.sqrt(elements),
        np.ones(devices),
        10 ** (gamma_db / 10),
        **fixed,
    )
