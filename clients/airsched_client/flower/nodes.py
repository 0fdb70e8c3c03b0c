"""The connected nodes, as they describe themselves."""

import logging
from collections.abc import Sequence

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from airsched_client.flower.device import QUERY, device_from
from airsched_client.flower.sources import Device

_log = logging.getLogger("flwr")


class Nodes:
    """Asks every node who it is, and remembers.

    Parameters
    ----------
    timeout
        Seconds to wait for the answers. A node that does not answer is not asked again: it would
        cost as long in every round.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._known: dict[int, Device] = {}
        self._silent: set[int] = set()

    def devices(self, grid: Grid, nodes: Sequence[int], *, anew: bool) -> list[Device]:
        """Return those of the nodes that describe themselves, in the same order in every run.

        Parameters
        ----------
        anew
            Asks all of them again.
        """
        if anew:
            self._known.clear()
        unknown = [n for n in nodes if n not in self._known and n not in self._silent]
        if unknown:
            self._ask(grid, unknown)
        # Node ids are drawn anew in every run; in their order, no run could be repeated.
        return sorted(
            (self._known[node] for node in nodes if node in self._known),
            key=lambda device: (device.index is None, device.index or 0, device.node_id),
        )

    def _ask(self, grid: Grid, nodes: list[int]) -> None:
        queries = [Message(RecordDict(), node, QUERY, ttl=self._timeout) for node in nodes]
        replies = list(grid.send_and_receive(queries, timeout=self._timeout))
        answered = {self._note(reply) for reply in replies}
        silent = [node for node in nodes if node not in answered]
        # A node that died has replied as well, but its error carries another node's id.
        if silent and len(replies) < len(queries):
            self._silent.update(silent)
            _log.warning(
                "nodes %s did not describe themselves within %g s: they are left out from now on",
                silent,
                self._timeout,
            )

    def _note(self, reply: Message) -> int:
        """Remember an answer; return who gave it, also one that cannot be used."""
        node: int = reply.metadata.src_node_id
        if reply.has_error():
            _log.warning("a node failed to describe itself: %s", reply.error.reason)
            return node
        try:
            self._known[node] = device_from(reply)
        except ValueError as error:
            _log.warning("node %s: %s", node, error)
        return node
