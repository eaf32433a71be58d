"""Single-photon depth sensing: time bins are arms, laser cycles are plays, pixels are lanes."""

from linkedbandits.lidar.acquisitions import ACQUISITIONS, Acquisition, Task, acquisition_name, find_acquisition
from linkedbandits.lidar.estimators import ESTIMATORS, find_estimator
from linkedbandits.lidar.even_gates import EvenGates
from linkedbandits.lidar.frame import Frame, FrameSummary, capture
from linkedbandits.lidar.pulse import Pulse
from linkedbandits.lidar.pulse_gating import PulseGating
from linkedbandits.lidar.scene import SCENES, Scene, find_scene, read_scene
from linkedbandits.lidar.sensor import Sensor
from linkedbandits.lidar.shifted_gates import ShiftedGates
from linkedbandits.lidar.thompson_gating import ThompsonGating

__all__ = [
    "ACQUISITIONS",
    "ESTIMATORS",
    "SCENES",
    "Acquisition",
    "EvenGates",
    "Frame",
    "FrameSummary",
    "Pulse",
    "PulseGating",
    "Scene",
    "Sensor",
    "ShiftedGates",
    "Task",
    "ThompsonGating",
    "acquisition_name",
    "capture",
    "find_acquisition",
    "find_estimator",
    "find_scene",
    "read_scene",
]
