"""The paper's network: a ring of devices around an antenna array, Rician and correlated.

Bereyhi et al., *Matching Pursuit Based Scheduling for Over-the-Air Federated Learning* (2022),
section "Network Setting". Device k at distance l_k and azimuth θ_k from the server has the channel

    h_k = √PL(l_k) · ( √(κ/(1+κ)) a_N(θ_k) + √(1/(1+κ)) g̃_k ),   g̃_k ~ CN(0, R_k)

    PL(l) = (l/l_0)^−α,   l_0 = min_k l_k
    [a_N(θ)]_n = exp(j2π d n sin θ),   n = 0 … N−1
    [R_k]_{n,m} = exp(j2π d (n−m) sin θ_k) · exp(−2 ς_k² [π d (n−m) cos θ_k]²)

Devices are placed uniformly by area in the ring between R_in and R_out and stay there; the
scattered part is redrawn every round. The same generator gives the same network and fading.

**Reflecting surface** (optional; the paper's appendix mentions one without saying where): a
second uniform array of M elements, parallel to the server's and with the same spacing d, at a given
distance and azimuth from the server. With l and θ as seen from the surface, its links follow the
same model, device k → surface and surface → server:

    g_k = √PL(l) · ( √(κ/(1+κ)) a_M(θ) + √(1/(1+κ)) g̃_k )
    T = √PL(l_s) · ( √(κ/(1+κ)) a_N(θ_s) a_M(θ_s)ᵀ + √(1/(1+κ)) R_N^½ W (R_M^½)ᵀ )

W has independent CN(0, 1) entries. These links have their own path-loss exponent α, because a
surface is placed in plain view. PL(l) = 1 below l_0.

**Channel estimates** (optional): the server knows ĥ_k = h_k − e_k with e_k uniform in the complex
ball ‖e_k‖ ≤ ``csi_error``. With a surface the error is in the direct channel, so the same bound
holds for the tuned channel at any phases.

**Cell** (optional): device k's power limit is P_k = P·10^(−(u_k − min u)/10), u_k uniform from 0 to
``power_spread_db``, so the best has P. A neighbouring cell at azimuth θ_i adds interference of mean
power I = σ²·10^(``interference_db``/10) at an antenna, with the same line of sight and scattering
averaged over its devices and over time: the noise has the covariance

    R = σ² I_N + I·( κ/(1+κ) a_N(θ_i) a_N(θ_i)ᴴ + 1/(1+κ) R_i )
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from airsched_client.federated.band import subcarrier_channels, tap_powers

Complex = NDArray[np.complex128]
Real = NDArray[np.float64]


@dataclass(frozen=True)
class NetworkParameters:
    """Parameters of the network; the defaults are those of the paper's Table 1.

    Parameters
    ----------
    devices, antennas
        K and N.
    inner_radius, outer_radius
        R_in and R_out of the ring, in metres.
    rician_factor_db
        κ in dB, the same for all devices.
    spacing
        d, the distance between neighbouring antennas in wavelengths.
    path_loss_exponent
        α of the direct channels.
    angular_deviation
        Interval in degrees that each device's ς_k is drawn from, uniformly.
    csi_error
        Bound on ‖h_k − ĥ_k‖: what to send to the service as ``csi_error``.
    elements
        M, elements of the reflecting surface; 0 for none.
    irs_distance, irs_azimuth
        Position of the surface, in metres and degrees as seen from the server.
    irs_path_loss_exponent
        α of the links to and from the surface.
    subcarriers, taps
        F, and the number of paths that arrive one after the other: see :mod:`.band`. One tap makes
        the subcarriers alike.
    power_spread_db
        Device limits lie up to this many dB below P.
    interference_db, interference_azimuth
        Mean power of the neighbouring cell's interference at an antenna, in dB over σ², and its
        direction in degrees; None for no interference.
    """

    devices: int = 20
    antennas: int = 6
    inner_radius: float = 10.0
    outer_radius: float = 100.0
    rician_factor_db: float = 3.0
    spacing: float = 0.5
    path_loss_exponent: float = 3.0
    angular_deviation: tuple[float, float] = (12.0, 15.0)
    csi_error: float = 0.0
    elements: int = 0
    irs_distance: float = 50.0
    irs_azimuth: float = 0.0
    irs_path_loss_exponent: float = 2.2
    subcarriers: int = 1
    taps: int = 4
    power_spread_db: float = 0.0
    interference_db: float | None = None
    interference_azimuth: float = 0.0

    def __post_init__(self) -> None:
        if self.devices < 1 or self.antennas < 1 or self.elements < 0:
            raise ValueError("devices and antennas must be at least 1, elements at least 0")
        if not 0 < self.inner_radius <= self.outer_radius:
            raise ValueError("the radii must satisfy 0 < inner_radius <= outer_radius")
        if not 0 <= self.angular_deviation[0] <= self.angular_deviation[1]:
            raise ValueError("angular_deviation must be an ascending pair of degrees >= 0")
        if self.csi_error < 0 or self.irs_distance <= 0:
            raise ValueError("csi_error must be at least 0 and irs_distance positive")
        if self.subcarriers < 1 or self.taps < 1:
            raise ValueError("subcarriers and taps must be at least 1")
        if self.subcarriers > 1 and (self.elements or self.csi_error):
            raise ValueError(
                "a band has exact channels and no surface: leave out csi_error and elements"
            )
        if self.power_spread_db < 0:
            raise ValueError("power_spread_db must be at least 0")
        if self.subcarriers > 1 and self.is_cell:
            raise ValueError(
                "a band has one power limit and white noise: leave out power_spread_db and"
                " interference_db"
            )

    @property
    def is_cell(self) -> bool:
        """Whether devices differ in power, or there is interference."""
        return self.power_spread_db > 0 or self.interference_db is not None


@dataclass(frozen=True, eq=False)
class Channels:
    """The channels of one round.

    Parameters
    ----------
    direct
        (N, K) complex, column k is h_k: the true channels; (F, N, K) over a band.
    estimates
        (N, K) complex, column k is ĥ_k: what the server knows; equal to ``direct`` if exact.
    irs_to_server, devices_to_irs
        (N, M) and (M, K) complex, T and G = [g_1 … g_K]; None without a surface.
    power_shares
        (K,) P_k/P, at most 1; None if all are 1.
    interference
        (N, N) complex, (R − σ²I)/σ²: the covariance of the interference, in units of the noise
        variance; None if there is none.
    """

    direct: Complex
    estimates: Complex
    irs_to_server: Complex | None = None
    devices_to_irs: Complex | None = None
    power_shares: Real | None = None
    interference: Complex | None = None

    def tuned(self, phases: Complex) -> Complex:
        """Return H(μ) = H + T diag(μ) G, (N, K), for phase shifts μ, (M,) of unit modulus."""
        if self.irs_to_server is None or self.devices_to_irs is None:
            raise ValueError("this network has no reflecting surface: set elements")
        return self.direct + (self.irs_to_server * phases) @ self.devices_to_irs


class Network:
    """Devices placed in the ring, and their fading.

    Parameters
    ----------
    parameters
        The parameters of the network.
    rng
        Draws the positions and the angular deviations.

    Attributes
    ----------
    positions
        (K, 2) metres; the server is at the origin, its array along the second axis.
    angular_deviations
        (K,) radians, ς_k.
    reference_distance
        l_0, metres.
    power_shares, interference
        As in :class:`Channels`.
    """

    def __init__(self, parameters: NetworkParameters, rng: np.random.Generator) -> None:
        self.parameters = parameters
        inner, outer = parameters.inner_radius, parameters.outer_radius
        # The area within l grows with l², so l² is uniform.
        distances = np.sqrt(rng.uniform(inner**2, outer**2, parameters.devices))
        azimuths = rng.uniform(-np.pi, np.pi, parameters.devices)
        self.positions: Real = distances[:, None] * _direction(azimuths)
        self.angular_deviations: Real = np.radians(
            rng.uniform(*parameters.angular_deviation, parameters.devices)
        )
        self.reference_distance = float(distances.min())
        self._direct = self._links(
            self.positions, parameters.antennas, parameters.path_loss_exponent
        )
        if parameters.elements:
            surface = parameters.irs_distance * _direction(np.radians([parameters.irs_azimuth]))
            exponent = parameters.irs_path_loss_exponent
            self._to_surface = self._links(self.positions - surface, parameters.elements, exponent)
            # One deviation for the one path between the two arrays: the middle of the interval.
            spread = np.radians([np.mean(parameters.angular_deviation)])
            self._surface_gain = self.path_loss(np.array([parameters.irs_distance]), exponent)
            self._surface_ends = [
                _ends(surface, spread, size, parameters.spacing)
                for size in (parameters.antennas, parameters.elements)
            ]

        self.power_shares: Real | None = None
        if parameters.power_spread_db:
            # Drawn last, so that the positions are the same with or without limits.
            below_db = rng.uniform(0, parameters.power_spread_db, parameters.devices)
            self.power_shares = 10 ** ((below_db.min() - below_db) / 10)
        self.interference: Complex | None = None
        if parameters.interference_db is not None:
            self.interference = self._interference(parameters.interference_db)

    def path_loss(self, distances: Real, exponent: float) -> Real:
        """Return PL(l) = (l/l_0)^−α, and 1 below l_0."""
        return np.maximum(distances / self.reference_distance, 1.0) ** -exponent

    def mean_and_covariance(self) -> tuple[Complex, Complex]:
        """Return E h_k, (N, K), and the covariance of h_k, (K, N, N)."""
        mean, root = self._direct
        return mean, root @ root.conj().swapaxes(1, 2)

    def average_gains(self) -> Real:
        """Return E‖h_k‖² = N·PL(l_k), (K,)."""
        distances = np.hypot(*self.positions.T)
        return self.parameters.antennas * self.path_loss(
            distances, self.parameters.path_loss_exponent
        )

    def fade(self, rng: np.random.Generator) -> Channels:
        """Draw the channels of one round."""
        parameters = self.parameters
        if parameters.subcarriers > 1:
            band = self._fade_band(rng)
            return Channels(band, band)
        direct = _draw(self._direct, rng)
        estimates = direct - parameters.csi_error * _in_unit_ball(rng, direct.shape)
        drawn = Channels(
            direct, estimates, power_shares=self.power_shares, interference=self.interference
        )
        if not parameters.elements:
            return drawn
        (server, server_root), (surface, surface_root) = self._surface_ends
        scattered = server_root[0] @ _gaussian(rng, (server.size, surface.size))
        line_of_sight, rest = _rician(parameters.rician_factor_db)
        link = line_of_sight * server @ surface.T + rest * scattered @ surface_root[0].T
        return replace(
            drawn,
            irs_to_server=np.sqrt(self._surface_gain) * link,
            devices_to_irs=_draw(self._to_surface, rng),
        )

    def _fade_band(self, rng: np.random.Generator) -> Complex:
        """Return (F, N, K): the line of sight arrives first, the scattered power over all taps."""
        taps, (mean, root) = self.parameters.taps, self._direct
        drawn = np.einsum("knm,lmk->lnk", root, _gaussian(rng, (taps, *mean.shape)))
        scattered = np.sqrt(tap_powers(taps))[:, None, None] * drawn
        return mean + subcarrier_channels(scattered, self.parameters.subcarriers)

    def _interference(self, strength_db: float) -> Complex:
        """Return (R − σ²I)/σ², (N, N)."""
        parameters = self.parameters
        place = _direction(np.radians([parameters.interference_azimuth]))
        spread = np.radians([np.mean(parameters.angular_deviation)])
        response, root = _ends(place, spread, parameters.antennas, parameters.spacing)
        line_of_sight, scattered = _rician(parameters.rician_factor_db)
        columns = np.hstack([line_of_sight * response, scattered * root[0]])
        return np.asarray(10 ** (strength_db / 10) * columns @ columns.conj().T)

    def _links(self, places: Real, size: int, exponent: float) -> tuple[Complex, Complex]:
        """Return the mean, (size, K), and a root of the covariance, (K, size, size)."""
        parameters = self.parameters
        response, root = _ends(places, self.angular_deviations, size, parameters.spacing)
        amplitude = np.sqrt(self.path_loss(np.hypot(*places.T), exponent))
        line_of_sight, scattered = _rician(parameters.rician_factor_db)
        return line_of_sight * amplitude * response, scattered * amplitude[:, None, None] * root


def array_response(azimuths: Real, size: int, spacing: float) -> Complex:
    """Return a(θ_k) as columns, (size, K)."""
    phase = 2 * np.pi * spacing * np.sin(azimuths)
    return np.asarray(np.exp(1j * np.arange(size)[:, None] * phase))


def scattering_covariance(azimuths: Real, deviations: Real, size: int, spacing: float) -> Complex:
    """Return R_k for azimuths and angular deviations in radians, (K, size, size)."""
    apart = np.subtract.outer(np.arange(size), np.arange(size))[None]
    sine, cosine = np.sin(azimuths)[:, None, None], np.cos(azimuths)[:, None, None]
    spread = (deviations[:, None, None] * np.pi * spacing * apart * cosine) ** 2
    return np.exp(2j * np.pi * spacing * apart * sine - 2 * spread)


def _direction(azimuths: Real) -> Real:
    return np.stack([np.cos(azimuths), np.sin(azimuths)], axis=-1)


def _rician(factor_db: float) -> tuple[float, float]:
    """Return √(κ/(1+κ)) and √(1/(1+κ))."""
    factor = 10 ** (factor_db / 10)
    return float(np.sqrt(factor / (1 + factor))), float(np.sqrt(1 / (1 + factor)))


def _ends(places: Real, deviations: Real, size: int, spacing: float) -> tuple[Complex, Complex]:
    """Return the array responses towards the places, and Hermitian roots of the R_k."""
    azimuths = np.arctan2(places[:, 1], places[:, 0])
    values, vectors = np.linalg.eigh(scattering_covariance(azimuths, deviations, size, spacing))
    # R_k is semidefinite; rounding can leave an eigenvalue a little below zero.
    scaled = vectors * np.sqrt(np.maximum(values, 0))[:, None]
    return array_response(azimuths, size, spacing), scaled @ vectors.conj().swapaxes(1, 2)


def _draw(links: tuple[Complex, Complex], rng: np.random.Generator) -> Complex:
    mean, root = links
    return np.asarray(mean + np.einsum("knm,mk->nk", root, _gaussian(rng, mean.shape)))


def _gaussian(rng: np.random.Generator, shape: tuple[int, ...]) -> Complex:
    """Independent CN(0, 1) entries."""
    entries = rng.standard_normal((2, *shape)) / np.sqrt(2)
    return np.asarray(entries[0] + 1j * entries[1])


def _in_unit_ball(rng: np.random.Generator, shape: tuple[int, ...]) -> Complex:
    """Columns uniform in the unit ball of ℂᴺ, which has 2N real dimensions."""
    vectors = _gaussian(rng, shape)
    radii = rng.uniform(size=shape[1]) ** (1 / (2 * shape[0]))
    return np.asarray(vectors * (radii / np.linalg.norm(vectors, axis=0)))
