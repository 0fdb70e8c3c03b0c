"""One colour and one marker per policy, for every picture of the loop and the experiments."""

from zlib import crc32

COLORS = {
    "perfect": "black",
    "optimal": "black",
    "dual_pursuit": "tab:red",
    "matching_pursuit": "tab:blue",
    "matching_pursuit:search=bidirectional": "teal",
    "dc": "tab:purple",
    "dc:solver=clarabel": "tab:pink",
    "sdr": "tab:green",
    "sdr:reading=prefix": "tab:olive",
    "auto": "tab:cyan",
    "random": "tab:orange",
    "round_robin": "goldenrod",
    "proportional_fair": "hotpink",
    "exhaustive": "tab:brown",
    "all_devices": "tab:gray",
    "digital": "darkgreen",
    "intersection": "saddlebrown",
    "frontier": "tab:red",
    "gsds": "sienna",
    "mm_subgradient": "darkkhaki",
    "mm_exact": "darkorchid",
    "gibbs_sca": "steelblue",
    "gibbs_sca_refined": "navy",
}
"""By policy as the loop names it, and by rival as the experiments do.

Only policies that are never in one picture share a colour.
"""

OTHERS = ("slateblue", "chocolate", "darkcyan", "crimson", "olivedrab", "indigo", "deeppink")
"""For policies of one's own."""

MARKERS = {
    "perfect": "d",
    "optimal": "*",
    "dual_pursuit": "o",
    "matching_pursuit": "s",
    "matching_pursuit:search=bidirectional": "v",
    "dc": "^",
    "dc:solver=clarabel": "P",
    "sdr": "D",
    "sdr:reading=prefix": "X",
    "auto": "P",
    "intersection": "^",
    "gsds": "s",
    "mm_subgradient": "v",
    "mm_exact": "P",
    "gibbs_sca": "s",
    "gibbs_sca_refined": "v",
}


def color_of(policy: str) -> str:
    """Return the colour of a policy, or else of its algorithm, the same in every picture."""
    name = policy.partition(":")[0]
    other = OTHERS[crc32(name.encode()) % len(OTHERS)]
    return COLORS.get(policy, COLORS.get(name, other))


def marker_of(policy: str) -> str:
    """Return the marker of a policy, or else of its algorithm; a circle if there is none."""
    return MARKERS.get(policy, MARKERS.get(policy.partition(":")[0], "o"))
