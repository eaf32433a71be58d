"""Single-photon depth sensing: time bins are arms, laser cycles are plays, pixels are lanes."""

from linkedbandits.lidar.acquisitions import ACQUISITIONS, Acquisition, Task, acquisition_name, find_acquisition
from linkedbandits.lidar.captures import CAPTURES
from linkedbandits.lidar.depth_files import read_depth, write_depth
from linkedbandits.lidar.depth_maps import DepthMap, find_depths
from linkedbandits.lidar.estimators import ESTIMATORS, find_estimator
from linkedbandits.lidar.even_gates import EvenGates
from linkedbandits.lidar.frame import Frame, FrameSummary, capture
from linkedbandits.lidar.photon_reading import read_photons
from linkedbandits.lidar.photons import MODES, Photons
from linkedbandits.lidar.pulse import Pulse
from linkedbandits.lidar.pulse_gating import PulseGating
from linkedbandits.lidar.scene import SCENES, Scene, find_scene, read_scene
from linkedbandits.lidar.sensor import Sensor
from linkedbandits.lidar.shifted_gates import ShiftedGates
from linkedbandits.lidar.thompson_gating import ThompsonGating

__all__ = [
    "ACQUISITIONS",
    "CAPTURES",
    "ESTIMATORS",
    "MODES",
    "SCENES",
    "Acquisition",
    "DepthMap",
    "EvenGates",
    "Frame",
    "FrameSummary",
    "Photons",
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
    "find_depths",
    "find_estimator",
    "find_scene",
    "read_depth",
    "read_photons",
    "read_scene",
    "write_depth",
]
