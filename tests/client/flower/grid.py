"""A grid in the test's own process."""

from collections.abc import Iterable
from types import SimpleNamespace

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid

try:
    from flwr.supercore.task_identity import TaskIdentity
except ImportError:
    # Older versions of Flower number a message when the grid sends it.
    TaskIdentity = SimpleNamespace()


class FakeGrid(Grid):
    """Nodes that are called in process, with ids in an order that is not theirs.

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
        # What Flower's own process sets before it calls a ServerApp.
        TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = 1
        self.app, self.run_config = app, run_config or {}
        self.failing, self.late = set(failing), set(late)
        # 37 is prime: consecutive multiples of it are shuffled numbers for any K below.
        self.partitions = {first + (37 * number) % 997: number for number in range(nodes)}
        self.messages: list[Message] = []

    def get_node_ids(self) -> Iterable[int]:
        return list(self.partitions)

    def trained(self) -> list[int]:
        """Return the partition ids of all that were asked to train, in order."""
        asked = [m for m in self.messages if m.metadata.message_type.startswith("train")]
        return sorted(self.partitions[m.metadata.dst_node_id] for m in asked)

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None):
        return [reply for message in messages if (reply := self._answer(message))]

    def _answer(self, message: Message) -> Message | None:
        self.messages.append(message)
        partition = self.partitions[message.metadata.dst_node_id]
        training = message.metadata.message_type.startswith("train")
        if training and partition in self.late:
            return None
        try:
            if training and partition in self.failing:
                raise RuntimeError("the battery is empty")
            context = Context(
                1,
                message.metadata.dst_node_id,
                {"partition-id": partition, "num-partitions": len(self.partitions)},
                RecordDict(),
                self.run_config,
            )
            return self.app(message, context)
        except Exception as error:
            # Flower's engine answers for a node that died, under a number of its own.
            reply = Message(Error(0, str(error)), reply_to=message)
            reply.metadata.__dict__["_src_node_id"] = 1
            return reply

    set_run = run = create_message = push_messages = pull_messages = None
