"""stub"""
from typing import Any
from linkedbandits.lidar.engines.compiled.compiling import machine_code
@machine_code
def decide(model: Any, cells: Any, rules: Any, memory: Any, samples: Any, successes: Any, cycles: int, log_prior: Any, signal: float, background: float, top: Any) -> None:
    return
