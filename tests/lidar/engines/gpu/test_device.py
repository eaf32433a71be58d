"""Cards that can be used, and kernels compiled for a sensor."""

from __future__ import annotations

import sys
import types

import pytest

from linkedbandits.errors import InvalidParameter, LinkedBanditError, MissingExtra
from linkedbandits.lidar import capture
from linkedbandits.lidar.engines.gpu import device
from linkedbandits.lidar.engines.gpu.device import Program, Shape
from linkedbandits.lidar.engines.gpu.tables import KERNELS
from tests.support.cupy_on_cpu import SHARED_BYTES, STATIC_BYTES
from tests.support.kernels_on_cpu import needs_compiler
from tests.support.same_law import TASK, cells


def test_without_cupy_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(MissingExtra, match=r"linkedbandits\[gpu\]"):
        capture(cells(1), TASK, engine="gpu")


def test_a_folder_of_that_name_is_no_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", types.ModuleType("cupy"))
    with pytest.raises(MissingExtra, match=r"linkedbandits\[gpu\]"):
        device.import_cupy()


class _Runtime:
    class CUDARuntimeError(Exception):
        pass

    def __init__(self, count):
        self._count = count

    def getDeviceCount(self):
        if self._count is None:
            raise self.CUDARuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")
        return self._count


class _Cupy:
    """As much of CuPy as is asked for cards."""

    def __init__(self, count, capability="90"):
        runtime = _Runtime(count)

        class cuda:
            pass

        cuda.runtime = runtime
        cuda.Device = lambda number: type("Device", (), {"compute_capability": capability})
        self.cuda = cuda


@pytest.mark.parametrize(
    ("cupy", "said"),
    [(_Cupy(None), "driver"), (_Cupy(0), "compute capability 8.0"), (_Cupy(1, "75"), "compute capability 8.0")],
)
def test_no_driver_or_too_old_a_card_is_said_plainly(monkeypatch, cupy, said):
    monkeypatch.setattr(device, "import_cupy", lambda: cupy)
    with pytest.raises(LinkedBanditError, match=said) as refused:
        device.devices()
    assert 'engine="compiled"' in str(refused.value)


def test_all_cards_that_can_be_used_are_found(monkeypatch):
    monkeypatch.setattr(device, "import_cupy", lambda: _Cupy(3))
    assert device.devices() == [0, 1, 2]


def test_a_source_has_what_it_includes_in_its_text_and_each_once():
    text = device.source_text("certify.cu")
    assert '#include "' not in text
    assert text.count("constexpr double LEAST_BACKGROUND") == 1


def test_every_source_can_be_made_one_text():
    for path in KERNELS.glob("*.cu"):
        assert '#include "' not in device.source_text(path.name)


def shape(bins=1000, half=6, phases=2, digits=1, likely=False):
    return Shape(bins, half, signals=7, phases=phases, digits=digits, likely=likely, certain=True)


def test_warps_have_some_tiles_of_bins_each():
    assert [shape(bins).warps for bins in (2, 256, 257, 1000, 2048, 4096)] == [2, 2, 3, 8, 16, 16]


def test_the_compiler_is_told_all_numbers():
    assert shape(likely=True).options == (
        "-std=c++17",
        "-DBINS=1000",
        "-DHALF=6",
        "-DSIGNALS=7",
        "-DPHASES=2",
        "-DDIGITS=1",
        "-DLIKELY=1",
        "-DCERTAIN=1",
        "-DBLOCKS=4",
        "-DWARPS=8",
    )


@pytest.mark.parametrize(("half", "digits", "blocks"), [(7, 1, 4), (8, 1, 2), (7, 2, 2)])
def test_wide_pulses_and_many_cycles_leave_room_for_fewer_blocks(half, digits, blocks):
    assert f"-DBLOCKS={blocks}" in shape(half=half, digits=digits).options


@needs_compiler
def test_a_kernel_may_have_as_much_memory_as_the_card_has_and_no_more(card_on_cpu):
    program = Program(shape(bins=40))
    most = SHARED_BYTES - STATIC_BYTES
    assert program.kernel("suffix.cu", "best_suffix", most).max_dynamic_shared_size_bytes == most
    assert program.kernel("suffix.cu", "first_open", 100).max_dynamic_shared_size_bytes == 48 * 1024 - STATIC_BYTES
    with pytest.raises(InvalidParameter, match="40 bins take 232,449 bytes"):
        program.kernel("suffix.cu", "best_suffix", most + 1)


@needs_compiler
@pytest.mark.parametrize("before", [[], [60_000], [SHARED_BYTES - STATIC_BYTES]])
@pytest.mark.parametrize("bytes_", [48 * 1024 - STATIC_BYTES, 48 * 1024 - STATIC_BYTES + 1, 48 * 1024, 100_000])
def test_a_launch_has_the_memory_it_needs_whatever_was_launched_before(card_on_cpu, before, bytes_):
    """What a kernel declares itself counts, too."""
    program = Program(shape(bins=40))
    for shared in (bytes_, *before):
        program.kernel("suffix.cu", "best_suffix", shared)
    assert program.kernel("suffix.cu", "best_suffix", bytes_).max_dynamic_shared_size_bytes >= bytes_


@needs_compiler
def test_a_number_that_the_compiler_knows(card_on_cpu):
    assert Program(shape(bins=40)).number("suffix.cu", "suffix_bytes_a_warp") == 4 * 3 * (41 + 41 // 32 + 1)


def test_kernels_of_a_device_are_compiled_once(card_on_cpu):
    assert device.program(0, shape()) is device.program(0, shape())
    assert device.program(0, shape()) is not device.program(1, shape())
