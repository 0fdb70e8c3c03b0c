"""The algorithms as a request names them, and as ``GET /algorithms`` lists them."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache, cached_property, partial, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, create_model

from app.scheduling import (
    IRS_SCHEDULERS,
    SCHEDULERS,
    WIDEBAND_SCHEDULERS,
    Parameters,
    Scheduler,
)


class AlgorithmChoice(BaseModel):
    """An algorithm and its parameters; every scheduler has its own subclass."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    scheduler: ClassVar[Scheduler]

    name: str

    @cached_property
    def resolved(self) -> dict[str, Any]:
        """The name and every parameter, as the answer echoes them."""
        return self.model_dump()

    @cached_property
    def parameters(self) -> Parameters:
        """The scheduler's own parameters."""
        values = {name: value for name, value in self.resolved.items() if name != "name"}
        return self.scheduler.parameters(**values)


Choices = Mapping[str, type[AlgorithmChoice]]


def _choice_model(scheduler: Scheduler, prefix: str) -> type[AlgorithmChoice]:
    """Build the request model of one scheduler from the annotations of its parameters."""
    hints = get_type_hints(scheduler.parameters, include_extras=True)
    parameters: dict[str, Any] = {"name": (Literal[scheduler.name], ...)}
    parameters |= {
        item.name: (_fail_fast(hints[item.name]), item.default)
        for item in fields(scheduler.parameters)
    }
    model = create_model(
        prefix + "".join(word.title() for word in scheduler.name.split("_")),
        __base__=AlgorithmChoice,
        __doc__=scheduler.summary,
        **parameters,
    )
    model.scheduler = scheduler
    return model


def _fail_fast(hint: Any) -> Any:
    """Return ``hint`` such that of a sequence only the first wrong element is reported."""
    if get_origin(hint) is Sequence:
        (element,) = get_args(hint)
        return Annotated[list[element], Field(fail_fast=True)]  # type: ignore[valid-type]
    if get_origin(hint) in (Union, UnionType):
        return reduce(or_, map(_fail_fast, get_args(hint)))
    return hint


CHOICES: Choices = {name: _choice_model(item, "") for name, item in SCHEDULERS.items()}
IRS_CHOICES: Choices = {name: _choice_model(item, "Irs") for name, item in IRS_SCHEDULERS.items()}
WIDEBAND_CHOICES: Choices = {
    name: _choice_model(item, "Wideband") for name, item in WIDEBAND_SCHEDULERS.items()
}


def choose(choices: Choices, value: object) -> AlgorithmChoice:
    """Take an object with a name and parameters, or a name alone for the defaults."""
    choice = {"name": value} if isinstance(value, str) else value
    name = choice.get("name") if isinstance(choice, dict) else None
    if not isinstance(name, str):
        raise ValueError("must be the name of an algorithm, or an object with a name")
    if name not in choices:
        raise ValueError(f"{name[:100]!r} is not one of {', '.join(choices)}")
    return _default(choices[name]) if choice is not value else choices[name].model_validate(choice)


@cache
def _default(model: type[AlgorithmChoice]) -> AlgorithmChoice:
    """Return an algorithm with its default parameters; a frozen value, the same every time."""
    return model.model_validate({"name": model.scheduler.name})


def algorithm_in(choices: Choices) -> PlainValidator:
    """Return the validator of a choice among these, for ``Annotated[AlgorithmChoice, …]``."""
    objects: Any = Annotated[reduce(or_, choices.values()), Field(discriminator="name")]
    names: Any = Literal[tuple(choices)]
    return PlainValidator(partial(choose, choices), json_schema_input_type=names | objects)
