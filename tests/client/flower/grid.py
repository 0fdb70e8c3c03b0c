"""A grid in the test's own process, whose nodes can fail."""

from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from examples.flower.in_process import InProcessGrid


class FakeGrid(InProcessGrid):
    """Remembers the messages.

    Parameters
    ----------
    failing
        Partition ids of nodes whose training fails; the error has a source id of its own.
    late
        Partition ids of nodes whose training never answers.
    """

    def __init__(
        self, app: ClientApp, nodes: int, run_config=None, *, failing=(), late=(), first=7
    ):
        super().__init__(app, nodes, run_config, first=first)
        self.failing, self.late = set(failing), set(late)
        self.messages: list[Message] = []

    def trained(self) -> list[int]:
        """Return the partition ids of all that were asked to train, in order."""
        asked = [m for m in self.messages if m.metadata.message_type.startswith("train")]
        return sorted(self.partitions[m.metadata.dst_node_id] for m in asked)

    def call(self, message: Message, context: Context) -> Message | None:
        self.messages.append(message)
        if message.metadata.message_type.startswith("train"):
            partition = context.node_config["partition-id"]
            if partition in self.late:
                return None
            if partition in self.failing:
                raise RuntimeError("the battery is empty")
        return super().call(message, context)
