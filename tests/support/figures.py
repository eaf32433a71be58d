"""The figures that a service has for Prometheus."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families


def figures_in(text: str) -> dict[tuple[object, ...], float]:
    """By name and labels, the latter in order: ``figures["linkedbandits_plays_asked_total",]``."""
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
