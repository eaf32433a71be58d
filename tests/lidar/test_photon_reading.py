"""From a file to photons: what the file says, what the caller says, and an error where neither does."""

from __future__ import annotations

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.lidar import Photons, read_photons
from tests.support.photon_files import cells_of, histogram, write_mat5, write_mat73

COUNTS, _ = histogram()
TOLD = {"cycles": 200, "bin_seconds": 55e-12}


@pytest.fixture
def file(tmp_path):
    np.save(tmp_path / "a.npy", COUNTS)
    return tmp_path / "a.npy"


def test_a_histogram_with_what_it_does_not_say(file):
    found = read_photons(str(file), **TOLD, zero_seconds=1e-10)
    assert np.array_equal(found.detections, COUNTS)
    assert (found.cycles == 200).all()
    assert (found.bin_seconds, found.mode, found.source, found.zero_seconds) == (
        55e-12,
        "synchronous",
        str(file),
        1e-10,
    )


def test_a_file_that_says_everything_needs_nothing_said(tmp_path):
    cycles = np.full((3, 4), 300)
    np.savez(tmp_path / "a.npz", counts=COUNTS, cycles=cycles, bin_width_ns=0.055)
    found = read_photons(tmp_path / "a.npz")
    assert found.bin_seconds == pytest.approx(55e-12)
    assert np.array_equal(found.cycles, cycles)
    with pytest.raises(lb.InvalidParameter, match="a bin is 55 ps wide, not 8 ps"):
        read_photons(tmp_path / "a.npz", bin_seconds=8e-12)


def test_bins_are_merged_as_they_are_read(file):
    found = read_photons(file, **TOLD, merge=4)
    assert (found.bins, found.bin_seconds) == (5, pytest.approx(220e-12))
    assert found.detections.sum() == COUNTS.sum()


def test_a_background_is_a_file_of_the_same_kind(file, tmp_path):
    np.save(tmp_path / "dark.npy", np.minimum(COUNTS, 1))
    found = read_photons(file, **TOLD, background=tmp_path / "dark.npy", background_cycles=2000)
    assert (found.background_cycles == 2000).all()
    assert (found.background > 0).all()
    assert (found.background < 0.01).all()
    np.save(tmp_path / "dark.npy", COUNTS[:2])
    with pytest.raises(lb.InvalidParameter, match=r"dark.npy has shape \(2, 4, 20\), but .*a.npy has \(3, 4, 20\)"):
        read_photons(file, **TOLD, background=tmp_path / "dark.npy")


LIST = {
    "row": np.array([0, 0, 1, 1]),
    "column": np.array([0, 1, 0, 0]),
    "cycle": np.array([3, 4, 4, 0]),
    "time": np.array([2, 7, 9, 1]),
}


@pytest.mark.parametrize("ending", ["npz", "csv", "mat", "npy"])
def test_a_list_of_photons_in_every_format(ending, tmp_path):
    path = tmp_path / f"list.{ending}"
    if ending == "npz":
        np.savez(path, **LIST)
    elif ending == "csv":
        path.write_text(
            "row,column,cycle,time\n" + "\n".join(",".join(map(str, line)) for line in zip(*LIST.values(), strict=True))
        )
    elif ending == "mat":
        write_mat5(path, **LIST)
    else:
        np.save(path, np.rec.fromarrays(list(LIST.values()), names=",".join(LIST)))
    found = read_photons(path, cycles=5, bin_seconds=1e-10, bins=10, shape=(2, 2))
    assert found.detections.sum(axis=2).tolist() == [[1, 1], [2, 0]]
    assert found.samples[1, 0].tolist() == [5, 5, 4, 4, 4, 4, 4, 4, 4, 4]
    free = read_photons(
        path, cycles=5, bin_seconds=1e-10, period=1e-9, shape=(2, 2), mode="free-running", dead_time=0.4e-9
    )
    assert free.samples[1, 0].tolist() == [5, 5, 4, 4, 4, 4, 5, 5, 5, 5]
    assert free.samples[0, 1].tolist() == [5] * 8 + [4, 4]


def test_times_with_a_unit_become_bins_and_numbered_pixels_need_a_shape(tmp_path):
    path = tmp_path / "list.npz"
    np.savez(path, pixel=[0, 3], cycle=[0, 1], time_ps=[150.0, 900.0], bins=10)
    found = read_photons(path, cycles=5, bin_seconds=1e-10, shape=(2, 2))
    assert np.argwhere(found.detections).tolist() == [[0, 0, 1], [1, 1, 9]]
    with pytest.raises(lb.CannotRead, match="--shape"):
        read_photons(path, cycles=5, bin_seconds=1e-10)


def test_a_list_may_be_columns_of_matlab_and_say_its_cycles(tmp_path):
    columns = {name: values[:, np.newaxis] for name, values in LIST.items()}
    write_mat5(tmp_path / "list.mat", **columns, cycles=np.array([[5, 6], [7, 8]]))
    found = read_photons(tmp_path / "list.mat", bin_seconds=1e-10, bins=10)
    assert found.cycles.tolist() == [[5, 6], [7, 8]]
    assert found.detections.sum() == 4


def test_a_time_of_exposure_makes_no_list_of_a_histogram(tmp_path):
    np.savez(tmp_path / "a.npz", counts=COUNTS, time=[0.5, 1.5])
    assert np.array_equal(read_photons(tmp_path / "a.npz", **TOLD).detections, COUNTS)
    np.savez(tmp_path / "a.npz", counts=COUNTS[0, 0], time=0.5)
    assert read_photons(tmp_path / "a.npz", **TOLD).shape == (1, 1)


@pytest.mark.parametrize(
    ("change", "told", "said"),
    [
        ({"time": [1.5, 2.0]}, {}, "times with fractions have no unit.*time_ps"),
        ({"time": [1.0, np.nan]}, {}, "not finite"),
        ({"time": [1, 12]}, {}, "beyond the 10 bins"),
        ({"cycle": [0, 7]}, {}, "beyond the 5 cycles"),
        ({"cycle": [0, 1.5]}, {}, "cycles are not whole numbers"),
        ({"cycle": [0]}, {}, "the laser cycle of each"),
        ({"pixel": [0, 9]}, {}, "outside of 1 rows and 2 columns"),
        ({"pixel": [0]}, {}, "2 times and 1 pixels"),
        ({}, {"bins": None}, "--bins"),
        ({}, {"cycles": None}, r"also those without a photon.*--cycles"),
    ],
)
def test_lists_without_a_meaning_are_refused_by_name(change, told, said, tmp_path):
    np.savez(tmp_path / "list.npz", **({"pixel": [0, 1], "cycle": [0, 1], "time": [1, 2]} | change))
    settings = {"cycles": 5, "bin_seconds": 1e-10, "bins": 10, "shape": (1, 2)} | told
    with pytest.raises((lb.CannotRead, lb.InvalidParameter), match=said) as refused:
        read_photons(tmp_path / "list.npz", **settings)
    assert "list.npz" in str(refused.value)


@pytest.mark.parametrize("version", [5, 7.3])
def test_cells_of_time_stamps_are_a_histogram(version, tmp_path):
    path = tmp_path / "cells.mat"
    cells = cells_of(COUNTS)
    cells[0, 0] = np.empty((0, 0))
    if version == 5:
        write_mat5(path, Ts=cells)
    else:
        write_mat73(path, {}, {"Ts": cells})
    found = read_photons(path, **TOLD, bins=20)
    assert not found.detections[0, 0].any()
    assert np.array_equal(found.detections[1:], COUNTS[1:])
    merged = read_photons(path, **TOLD, bins=20, merge=4)
    expected = Photons.from_histogram(found.detections, **TOLD).merged(4)
    assert np.array_equal(merged.samples, expected.samples)
    for missing, said in [("cycles", "--cycles"), ("bin_seconds", "--bin-width"), ("bins", "--bins")]:
        with pytest.raises(lb.CannotRead, match=rf"cells.mat.*{said}"):
            read_photons(path, **(TOLD | {"bins": 20} | {missing: None}))


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"cycles": None}, "does not say how many laser cycles it holds.*--cycles 1000"),
        ({"bin_seconds": None}, "does not say how wide its bins are;.*--bin-width 55ps"),
        ({"bin_seconds": 0.055}, r"bin_seconds=0.055.*--bin-width 55ps"),
        ({"mode": "magic"}, "unknown mode"),
        ({"kind": "magic"}, "unknown capture 'magic'; choose one of wisc"),
        ({"merge": 0}, "merge=0"),
        ({"bins": 1}, "bins=1"),
        ({"cycles": 20}, r"a.npy: the pixel in row 0, column \d has \d+ photons in 20 cycles"),
    ],
)
def test_what_is_missing_or_wrong_is_said_with_the_remedy(told, said, file):
    with pytest.raises(lb.LinkedBanditError, match=said):
        read_photons(file, **(TOLD | told))


def test_a_bin_width_without_a_unit_is_not_believed(tmp_path):
    np.savez(tmp_path / "a.npz", counts=COUNTS, bin_width=55)
    with pytest.raises(lb.CannotRead, match="how wide its bins are, but for a width of 55 without a unit"):
        read_photons(tmp_path / "a.npz", cycles=200)


def test_all_that_is_not_said_is_asked_for_at_once(tmp_path):
    np.save(tmp_path / "a.npy", COUNTS)
    with pytest.raises(lb.CannotRead) as refused:
        read_photons(tmp_path / "a.npy")
    for words in ("how many laser cycles it holds and how wide its bins are", "--cycles 1000", "--bin-width 55ps"):
        assert words in str(refused.value)
    np.savez(tmp_path / "list.npz", row=[0, 0], column=[0, 1], cycle=[3, 4], time=[5, 6])
    with pytest.raises(lb.CannotRead) as refused:
        read_photons(tmp_path / "list.npz")
    for option in ("--cycles 1000", "--bin-width 55ps", "--bins 1000"):
        assert option in str(refused.value)
    with pytest.raises(lb.CannotRead) as refused:
        read_photons(tmp_path / "list.npz", period=1e-7)
    assert "--bins" not in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(lb.CannotRead, match=r"there is no file .*absent.npy"):
        read_photons(tmp_path / "absent.npy", **TOLD)


def test_a_background_without_its_cycles_is_told_how_to_say_them(tmp_path):
    counts, _ = histogram()
    np.savez(tmp_path / "a.npz", counts=counts, cycles=200)
    np.save(tmp_path / "dark.npy", 10 * counts)
    for cycles in (None, 200):  # the file says none; more photons than the other's cycles
        with pytest.raises(lb.LinkedBanditError, match=r"the background .*dark.npy.*--background-cycles 1000"):
            read_photons(tmp_path / "a.npz", cycles=cycles, bin_seconds=1e-9, background=tmp_path / "dark.npy")
