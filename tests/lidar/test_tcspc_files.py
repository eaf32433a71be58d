"""Lists of photons as counters write them."""

from __future__ import annotations

import sys

import numpy as np
import ptufile
import pytest

import linkedbandits as lb
from linkedbandits.lidar import read_photons
from linkedbandits.lidar.tcspc_files import read_records
from tests.support.photon_files import histogram, write_t3

COUNTS, _ = histogram(rows=2, columns=3, bins=16, cycles=40)


@pytest.fixture
def scan(tmp_path):
    """An image in PicoQuant's format, 100 laser cycles a pixel, bins of 64 ps."""
    path = tmp_path / "scan.ptu"
    ptufile.imwrite(path, COUNTS.astype(np.uint8), 16 * 64e-12, 64e-12, pixel_time=100 * 16 * 64e-12)
    return path


def test_records_go_on_where_the_counter_of_cycles_runs_over(tmp_path):
    cycle, tick = np.array([0, 5, 1023, 1024, 1024, 5000]), np.array([0, 32767, 7, 8, 9, 12])
    write_t3(tmp_path / "a.out", cycle, tick)
    found = read_records(tmp_path / "a.out")
    assert [found[0].tolist(), found[1].tolist()] == [cycle.tolist(), tick.tolist()]


def test_records_that_are_cut_short_or_not_there_are_refused(tmp_path):
    (tmp_path / "a.out").write_bytes(b"12345")
    with pytest.raises(lb.CannotRead, match=r"a.out has 5 bytes, which are no records of 4"):
        read_records(tmp_path / "a.out")
    with pytest.raises(lb.CannotRead, match=r"absent\.out cannot be read"):
        read_records(tmp_path / "absent.out")


def test_a_scan_has_the_photons_of_each_pixel_and_its_cycles(scan):
    found = read_photons(scan, mode="every")
    assert np.array_equal(found.detections, COUNTS)
    assert (found.cycles == 100).all()
    assert found.bin_seconds == pytest.approx(64e-12)
    with ptufile.PtuFile(scan) as ptu:
        assert np.array_equal(found.detections, ptu.decode_image(channel=0, frame=0, keepdims=False))


def test_dead_time_of_a_scan_is_taken_from_the_stamps(scan):
    """One photon a cycle, as it is written: with a dead time of less than a bin each hides what is next to it."""
    found = read_photons(scan, mode="free-running", dead_time=30e-12)
    with ptufile.PtuFile(scan) as ptu:
        records = ptu.decode_records()
    photons = records[records["channel"] >= 0]
    at = np.sort(photons["time"].astype(np.int64) * 16 + photons["dtime"])
    counted = np.concatenate([[True], np.diff(at) > 1])
    assert found.detections.sum() == counted.sum()
    assert found.samples.sum() == 100 * 6 * 16 - at.size  # each hides one bin


def test_a_point_has_the_cycles_up_to_its_last_photon_or_as_many_as_are_given(tmp_path, monkeypatch):
    path = tmp_path / "scan.ptu"
    ptufile.imwrite(path, COUNTS[:1, :1].astype(np.uint8), 16 * 64e-12, 64e-12)
    monkeypatch.setattr(ptufile.PtuFile, "is_image", False)
    found = read_photons(path, cycles=5000)
    assert np.array_equal(found.detections[0, 0], COUNTS[0, 0])
    assert found.cycles.tolist() == [[5000]]
    assert read_photons(path).cycles.max() < 5000
    with pytest.raises(lb.InvalidParameter, match="more than the 3 given"):
        read_photons(path, cycles=3)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"cycles": 100}, "a scan says its own laser cycles"),
        ({"cycles": [[1, 2, 3]]}, "one number of cycles"),
        ({"bin_seconds": 55e-12}, "a bin is 64 ps wide, not 55 ps"),
        ({"channel": 7}, "no photon of channel 7; it has channels 0"),
        ({"shape": (3, 2)}, "2 lines, which are no whole images of 3"),
        ({"shape": (2, 300)}, "lines shorter than 300 pixels"),
        ({"mode": "free-running"}, "--dead-time"),
    ],
)
def test_what_a_scan_contradicts_is_refused(told, said, scan):
    with pytest.raises((lb.CannotRead, lb.InvalidParameter), match=said) as refused:
        read_photons(scan, **told)
    assert "scan.ptu" in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value", "said"), [("is_t3", False, "T2 mode"), ("is_bidirectional", True, "to and fro")]
)
def test_measurements_without_cycles_or_with_other_scans_are_refused(name, value, said, scan, monkeypatch):
    monkeypatch.setattr(ptufile.PtuFile, name, value)
    with pytest.raises(lb.CannotRead, match=said):
        read_photons(scan)


def test_several_channels_are_asked_for(scan, tmp_path):
    both = np.stack([COUNTS, COUNTS], axis=2).astype(np.uint8)
    ptufile.imwrite(tmp_path / "two.ptu", both, 16 * 64e-12, 64e-12)
    with pytest.raises(lb.CannotRead, match="channels 0, 1; choose one with --channel"):
        read_photons(tmp_path / "two.ptu")
    assert read_photons(tmp_path / "two.ptu", channel=1, mode="every").detections.sum() == COUNTS.sum()


@pytest.mark.parametrize("left", [0.05, 0.9, 0.999])
def test_a_file_that_is_cut_short_is_refused(left, scan):
    whole = scan.read_bytes()
    scan.write_bytes(whole[: int(left * len(whole))])
    with pytest.raises(lb.CannotRead, match=r"scan.ptu .*copy it again"):
        read_photons(scan)


def test_without_the_extra_it_is_named(scan, monkeypatch):
    monkeypatch.setitem(sys.modules, "ptufile", None)
    with pytest.raises(lb.MissingExtra, match=r"needs ptufile.*linkedbandits\[lidar\]"):
        read_photons(scan)
