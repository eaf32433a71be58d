"""Single-photon depth sensing: time bins are arms, laser cycles are plays, pixels are lanes."""

from linkedbandits.lidar.acquisitions import ACQUISITIONS, Acquisition, Task, acquisition_name, find_acquisition
from linkedbandits.lidar.captures import CAPTURES
from linkedbandits.lidar.depth_files import read_depth, write_depth
from linkedbandits.lidar.depth_maps import DepthMap, find_depths
from linkedbandits.lidar.engines import ENGINES
from linkedbandits.lidar.estimators import ESTIMATORS, find_estimator
from linkedbandits.lidar.even_gates import EvenGates
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.frame import Frame, FrameSummary, capture
from linkedbandits.lidar.gates import AnySubset, Gates, Suffixes, Windows, parse_gates
from linkedbandits.lidar.locating import Located, locate
from linkedbandits.lidar.photon_reading import read_photons
from linkedbandits.lidar.photons import PHOTON_MODES, Photons
from linkedbandits.lidar.pulse import MeasuredPulse, Pulse, read_pulse
from linkedbandits.lidar.pulse_gating import PulseGating
from linkedbandits.lidar.scene import SCENES, Scene, find_scene, read_scene
from linkedbandits.lidar.sensor import Sensor
from linkedbandits.lidar.shifted_gates import ShiftedGates
from linkedbandits.lidar.thompson_gating import ThompsonGating, WrappedThompsonGating

__all__ = [
    "ACQUISITIONS",
    "CAPTURES",
    "ENGINES",
    "ESTIMATORS",
    "PHOTON_MODES",
    "SCENES",
    "Acquisition",
    "AnySubset",
    "DepthMap",
    "EvenGates",
    "Expected",
    "Frame",
    "FrameSummary",
    "Gates",
    "Located",
    "MeasuredPulse",
    "Photons",
    "Pulse",
    "PulseGating",
    "Scene",
    "Sensor",
    "ShiftedGates",
    "Suffixes",
    "Task",
    "ThompsonGating",
    "Windows",
    "WrappedThompsonGating",
    "acquisition_name",
    "capture",
    "find_acquisition",
    "find_depths",
    "find_estimator",
    "find_scene",
    "locate",
    "parse_gates",
    "read_depth",
    "read_photons",
    "read_pulse",
    "read_scene",
    "write_depth",
]
