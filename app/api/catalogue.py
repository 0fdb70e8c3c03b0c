"""What ``GET /algorithms`` answers, from the scheduling routes and the registry."""

from collections.abc import Mapping

from app.api.algorithms import AlgorithmChoice
from app.api.requests import RoundRequest
from app.api.responses import AlgorithmInfo, Algorithms, ParameterInfo

_HIDDEN = ("default", "title")


def _describe(model: type[AlgorithmChoice], endpoints: list[str]) -> AlgorithmInfo:
    scheduler = model.scheduler
    return AlgorithmInfo(
        name=scheduler.name,
        summary=scheduler.summary,
        reference=scheduler.reference,
        endpoints=endpoints,
        max_devices=scheduler.max_devices,
        max_elements=scheduler.max_elements,
        takes_priorities=scheduler.takes_priorities,
        parameters=[
            ParameterInfo(
                name=parameter,
                default=schema["default"],
                json_schema={key: value for key, value in schema.items() if key not in _HIDDEN},
            )
            for parameter, schema in model.model_json_schema()["properties"].items()
            if parameter != "name"
        ],
    )


def catalogue(requests: Mapping[str, type[RoundRequest]]) -> Algorithms:
    """Describe each algorithm once for all the paths that take the same one."""
    endpoints: dict[type[AlgorithmChoice], list[str]] = {}
    for path, request in requests.items():
        for model in request.choices.values():
            endpoints.setdefault(model, []).append(path)
    return Algorithms(algorithms=[_describe(*item) for item in endpoints.items()])
