"""A study of a second or two, with something of everything."""

from __future__ import annotations

from linkedbandits.study import Study, read_study

TEXT = """
name = "small"
seed = 5
trials = {trials}
deltas = [0.2, 0.05]
linkages = ["ordered"]

[[instances]]
scenario = "one-sparse"
arms = 2

[[instances]]
name = "a hundred"
means = HUNDRED

[[instances]]
name = "mirrors"
means = [0.3, 0.8, 0.5]

[[policies]]
policy = "linked-elimination"

[[policies]]
policy = "uniform-sampling"
label = "fifty each"
parameters = {{ samples = 50 }}
linkages = ["ordered", "single"]
""".replace("HUNDRED", str([0.9] + [0.1] * 99))


def small_study(trials: int = 300, text: str = TEXT) -> Study:
    """Twelve cells; with 100 arms a block has 256 lanes, so these trials fall in two blocks."""
    return read_study(text.format(trials=trials), name="small")
