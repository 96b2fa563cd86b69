"""A gauge of /metrics."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Gauge:
    """A gauge in the terms of Prometheus.

    Attributes:
        name: The name of the metric.
        help: A sentence for the HELP line.
        label: The name of the only label; empty for a metric without a label.
        values: Value of the label → value of the metric. The key is "" without a label.
    """

    name: str
    help: str
    label: str = ""
    values: dict[str, float] = field(default_factory=dict)
