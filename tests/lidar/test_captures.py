"""The public captures, in small files of their formats."""

from __future__ import annotations

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.lidar import captures, read_photons
from tests.support.photon_files import cells_of, histogram, write_mat5, write_t3

COUNTS, _ = histogram(rows=2, columns=3, bins=128, cycles=40)


@pytest.fixture
def scan(tmp_path):
    """A scan of 2 x 3 positions: pixel n has a photon at 40 ns + n times 80 ps in 20 cycles and one more."""
    folder = tmp_path / "free"
    folder.mkdir()
    for number in range(6):
        cycle = np.append(np.arange(20), 29)
        write_t3(folder / f"t3mode_0_000000_{number + 1}.out", cycle, np.full(21, 5000 + 10 * number))
    lines = [f"{number + 1},{number // 3},{number % 3}" for number in range(6)]
    (folder / captures.POSITIONS).write_text("\n".join(lines))
    return folder


def test_a_scan_of_wisc_is_an_image_with_the_second_coordinate_upwards(scan):
    found = read_photons(scan, merge=10)
    assert (found.shape, found.bins, found.mode) == ((3, 2), 1250, "free-running")
    assert found.bin_seconds == pytest.approx(80e-12)
    assert (found.cycles == 30).all()
    # position n = 3 y + x is in column y, and in the row that counts from the bottom
    assert found.detections.argmax(axis=2).tolist() == [[502, 505], [501, 504], [500, 503]]
    # blind for 50 ns after each of 21 photons: from 40 ns on in that cycle
    assert found.samples[0, 0, 400] == 30
    assert found.samples[0, 0, 502] == 30
    assert found.samples[0, 0, 600] == 30 - 21
    assert "up to its last photon" in found.notes[0]


def test_one_pixel_of_wisc_may_be_read_alone_with_its_cycles_given(scan):
    found = read_photons(scan / "t3mode_0_000000_1.out", cycles=1000, merge=100, mode="synchronous")
    assert (found.shape, found.cycles.tolist()) == ((1, 1), [[1000]])
    assert found.detections[0, 0, 50] == 21


def test_a_scan_of_wisc_with_two_photons_in_a_cycle_is_not_synchronous(scan):
    scan = scan.rename(scan.with_name("ext_5%"))
    assert read_photons(scan, merge=10).exact
    write_t3(scan / "t3mode_0_000000_2.out", np.array([0, 0, 29]), np.array([5000, 9000, 5000]))
    found = read_photons(scan, merge=10)
    assert not found.exact
    assert found.notes[-1].startswith("In 1 of 6 pixels photons behind the first of their cycle were left out.")
    assert "no depth is called sure" in found.notes[-1]


def test_the_mode_of_wisc_is_the_name_of_the_folder(scan):
    assert read_photons(scan.rename(scan.with_name("ext_5%")), merge=100).mode == "synchronous"
    shifted = scan.with_name("ext_5%").rename(scan.with_name("det"))
    with pytest.raises(lb.CannotRead, match="shifted windows"):
        read_photons(shifted)
    assert read_photons(shifted, mode="every", merge=100).mode == "every"


def test_a_scan_of_wisc_that_is_not_whole_is_refused(scan):
    (scan / captures.POSITIONS).write_text("1,0,0\n2,0,1")
    with pytest.raises(lb.CannotRead, match="2 lines for 6 pixels"):
        read_photons(scan)
    (scan / captures.POSITIONS).write_text("\n".join(f"{i},{i},{i}" for i in range(6)))
    with pytest.raises(lb.CannotRead, match="no grid of 6 x 6"):
        read_photons(scan)
    (scan / captures.POSITIONS).unlink()
    with pytest.raises(lb.CannotRead, match=r"there is no file .*positions_file.txt; .*copy it too"):
        read_photons(scan)
    (scan / "t3mode_0_000000_3.out").write_bytes(b"")
    (scan / captures.POSITIONS).write_text("\n".join(f"{i},{i // 3},{i % 3}" for i in range(6)))
    with pytest.raises(lb.InvalidParameter, match=r"t3mode_0_000000_3.out: there is not one photon"):
        read_photons(scan)
    empty = scan.with_name("empty")
    empty.mkdir()
    with pytest.raises(lb.CannotRead, match="has no files t3mode"):
        read_photons(empty)


def test_a_histogram_of_wisc_says_its_settings_in_its_name(tmp_path):
    folder = tmp_path / "ext"
    folder.mkdir()
    path = folder / "raw-hist-img_r-2-c-3_tres-8ps_tlen-1024ps.npy"
    np.save(path, COUNTS.astype(float))
    np.save(folder / "n-laser-cycles-img_r-2-c-3.npy", np.full((2, 3), 40.0))
    found = read_photons(path)
    assert (found.bin_seconds, found.mode) == (8e-12, "synchronous")
    assert (found.cycles == 40).all()
    free = folder.rename(tmp_path / "free") / path.name
    assert read_photons(free, dead_time=80e-12, cycles=100).mode == "free-running"
    np.save(tmp_path / "a.npy", COUNTS)
    with pytest.raises(lb.CannotRead, match="is no raw-hist-img"):
        read_photons(tmp_path / "a.npy", kind="wisc")


@pytest.fixture
def shin(tmp_path):
    """Cells D of bins and F of frames, as in the file scene_man_flower_N100.mat."""
    cells = cells_of(COUNTS)
    frames = np.empty_like(cells)
    for place in np.ndindex(*cells.shape):
        frames[place] = np.arange(cells[place].size).reshape(-1, 1)
    frames[1, 2] = np.full((cells[1, 2].size, 1), 49)
    write_mat5(tmp_path / "scene.mat", D=cells, F=frames)
    return tmp_path / "scene.mat"


def test_the_capture_of_shin_is_recognised_and_sure_of_nothing(shin):
    found = read_photons(shin)
    assert np.array_equal(found.detections, COUNTS)
    assert (found.bin_seconds, found.mode, found.exact) == (389e-12, "every", False)
    assert (found.cycles == 50).all()
    assert "A cycle is a frame" in found.notes[-1]
    assert read_photons(shin, kind="shin-2016", cycles=100, mode="synchronous").exact


def test_cells_of_other_files_are_not_taken_for_that_capture(shin, tmp_path):
    write_mat5(tmp_path / "other.mat", A=cells_of(COUNTS), B=cells_of(COUNTS))
    with pytest.raises(lb.CannotRead, match=r"A \(2, 3\) of cells.*not the cells D and F"):
        read_photons(tmp_path / "other.mat", kind="shin-2016")
    with pytest.raises(lb.CannotRead, match=r"which cells of .*--array"):
        read_photons(tmp_path / "other.mat", cycles=100)
    told = {"cycles": 100, "bin_seconds": 1e-10, "bins": 128}
    assert np.array_equal(read_photons(tmp_path / "other.mat", array="B", **told).detections, COUNTS)
    broken = cells_of(COUNTS)
    broken[0, 0] = np.array([[0.5]])
    write_mat5(tmp_path / "other.mat", Ts=broken)
    with pytest.raises(lb.InvalidParameter, match="not whole numbers of bins"):
        read_photons(tmp_path / "other.mat", **told)
    frames = cells_of(COUNTS)
    frames[0, 0] = np.array([[1]])
    write_mat5(tmp_path / "other.mat", D=cells_of(COUNTS), F=frames)
    with pytest.raises(lb.CannotRead, match="D and F have different numbers"):
        read_photons(tmp_path / "other.mat")


@pytest.fixture
def small_stb(monkeypatch):
    monkeypatch.setattr(captures, "STB_SHAPE", COUNTS.shape)
    monkeypatch.setattr("linkedbandits.lidar.photon_reading.STB_SHAPE", COUNTS.shape)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_counts_without_a_header_are_those_of_sp_transientbench(kind, small_stb, tmp_path):
    path = tmp_path / "view.raw"
    np.moveaxis(COUNTS, 2, 0).astype(kind).tofile(path)
    told = {"kind": "sp-transientbench", "cycles": 100}
    found = read_photons(path, axes="bins,rows,columns", **told)
    assert np.array_equal(found.detections, COUNTS)
    assert found.bin_seconds == 0.75e-9
    with pytest.raises(lb.CannotRead, match="no header that says its axes"):
        read_photons(path, **told)
    with pytest.raises(lb.InvalidParameter, match="in some order"):
        read_photons(path, axes="bins,rows", **told)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(lb.CannotRead, match=r"which are not 2 x 3 x 128 counts"):
        read_photons(path, axes="bins,rows,columns", **told)


def test_arrays_of_sp_transientbench_have_its_shape(small_stb, tmp_path):
    np.save(tmp_path / "view.npy", COUNTS)
    assert read_photons(tmp_path / "view.npy", kind="sp-transientbench", cycles=100).bin_seconds == 0.75e-9
    np.save(tmp_path / "view.npy", COUNTS[:, :2])
    with pytest.raises(lb.CannotRead, match=r"not \(2, 3, 128\) as that capture"):
        read_photons(tmp_path / "view.npy", kind="sp-transientbench", cycles=100)
