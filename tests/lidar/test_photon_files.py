"""Every format gives the same array, and what cannot be meant is refused with what to say."""

from __future__ import annotations

import sys

import h5py
import numpy as np
import pytest
import tifffile

import linkedbandits as lb
from linkedbandits.lidar.photon_files import cycles_in, find_histogram, read_contents, width_in, width_without_unit
from tests.support.photon_files import histogram, write_mat5, write_mat73

COUNTS, _ = histogram()


def write(path, counts=COUNTS):
    """The counts in the format of the ending, as a sensor would export them."""
    kind = path.name.partition(".")[2]
    if kind == "npy":
        np.save(path, counts.astype(np.uint16))
    elif kind == "npz":
        np.savez(path, histogram=counts, exposure=np.ones((2, 2)))
    elif kind == "v5.mat":
        write_mat5(path, hist=counts.astype(float), exposure=np.ones((2, 2)))
    elif kind == "v73.mat":
        write_mat73(path, {"hist": counts, "exposure": np.ones((2, 2))})
    elif kind in {"h5", "hdf5"}:
        with h5py.File(path, "w") as file:
            file["camera/histogram"] = counts
    elif kind == "csv":
        rows, columns, bins = counts.shape
        lines = [",".join(["row", "column", *(f"bin {i}" for i in range(bins))])]
        places = [(r, c) for r in range(rows) for c in range(columns)]
        lines += [",".join(map(str, [r, c, *counts[r, c]])) for r, c in reversed(places)]
        path.write_text("\n".join(lines))
    else:
        tifffile.imwrite(path, np.moveaxis(counts, 2, 0).astype(np.uint16), photometric="minisblack")
    return path


FORMATS = ("a.npy", "a.npz", "a.v5.mat", "a.v73.mat", "a.h5", "a.hdf5", "a.csv", "a.tif", "a.tiff", "A.NPY")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_the_same_counts(name, tmp_path):
    contents = read_contents(write(tmp_path / name.lower()).rename(tmp_path / name))
    assert np.array_equal(find_histogram(contents, None, None, None), COUNTS)


@pytest.mark.parametrize("name", FORMATS[:-1])
def test_every_format_is_refused_by_name_if_it_is_cut_short_empty_or_absent(name, tmp_path):
    path = tmp_path / name
    with pytest.raises(lb.CannotRead, match=f"there is no file .*{name}"):
        read_contents(path)
    whole = write(path).read_bytes()
    path.write_bytes(b"")
    with pytest.raises(lb.CannotRead, match=f"{name} is empty; export"):
        read_contents(path)
    path.write_bytes(whole[: len(whole) // 3])
    with pytest.raises(lb.CannotRead, match=name) as refused:
        find_histogram(read_contents(path), None, None, None)
    assert any(remedy in str(refused.value) for remedy in ("copy it again", "export it again", "each pixel one line"))


@pytest.mark.parametrize(
    ("shape", "hint"),
    [
        ((30, 2, 4), "--axes bins,rows,columns$"),
        ((2, 30, 4), "--axes rows,bins,columns$"),
        ((6, 6, 6), "--axes rows,columns,bins$"),
        ((4, 30), "--axes pixels,bins with --shape 2,2, or --axes columns,bins for one row$"),
        ((30, 4), "--axes bins,pixels with --shape 2,2, or --axes bins,columns for one row$"),
        ((2, 2, 2, 9), "no other axis$"),
    ],
)
def test_the_longest_axis_is_suggested_for_the_bins(shape, hint, tmp_path):
    np.save(tmp_path / "a.npy", np.ones(shape, dtype=int))
    with pytest.raises(lb.CannotRead, match=hint):
        find_histogram(read_contents(tmp_path / "a.npy"), None, None, None)


def test_what_is_no_number_is_not_called_cut_short(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,two\n")
    np.save(tmp_path / "a.npy", np.array([{}, []], dtype=object))
    np.savez(tmp_path / "a.npz", counts=np.array([{}, []], dtype=object))
    for name, said in [
        ("a.csv", "'two' in line 2, column 2 is no number"),
        ("a.npy", "Python objects"),
        ("a.npz", "objects"),
    ]:
        with pytest.raises(lb.CannotRead, match=said) as refused:
            read_contents(tmp_path / name)
        assert "cut short" not in str(refused.value)


def test_one_pixel_in_a_list_needs_no_shape(tmp_path):
    (tmp_path / "a.csv").write_text("1,2,3\n")
    contents = read_contents(tmp_path / "a.csv")
    assert find_histogram(contents, None, None, None).shape == (1, 1, 3)
    with pytest.raises(lb.CannotRead, match="1 pixel, and not 2 rows of 4"):
        find_histogram(contents, None, None, (2, 4))


def test_a_list_of_pixels_needs_its_shape(tmp_path):
    path = tmp_path / "plain.csv"
    np.savetxt(path, COUNTS.reshape(12, -1), fmt="%d", delimiter=";")
    contents = read_contents(path)
    assert np.array_equal(find_histogram(contents, None, None, (3, 4)), COUNTS)
    assert np.array_equal(find_histogram(contents, None, "pixels,bins", (3, 4)), COUNTS)
    with pytest.raises(lb.CannotRead, match="12 pixels; say how many rows and columns they are: --shape 3,4"):
        find_histogram(contents, None, None, None)
    with pytest.raises(lb.CannotRead, match="not 5 rows of 4"):
        find_histogram(contents, None, None, (5, 4))


def test_axes_can_be_said_and_are_guessed_only_where_it_is_clear(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.moveaxis(COUNTS, 2, 0))
    contents = read_contents(path)
    assert np.array_equal(find_histogram(contents, None, "bins, rows, columns", None), COUNTS)
    with pytest.raises(lb.CannotRead, match=r"which axis of \(20, 3, 4\) has the bins is not clear.*--axes"):
        find_histogram(contents, None, None, None)
    for axes, said in [("bins,rows", "are 2, but"), ("rows,columns,time", "no axes"), ("rows,rows,bins", "no axes")]:
        with pytest.raises(lb.InvalidParameter, match=said):
            find_histogram(contents, None, axes, None)
    np.save(path, COUNTS[0])
    assert find_histogram(read_contents(path), None, "columns,bins", None).shape == (1, 4, 20)
    np.save(path, COUNTS[0, 0])
    assert find_histogram(read_contents(path), None, None, None).shape == (1, 1, 20)


def test_which_array_is_meant_is_asked_where_it_is_not_clear(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, first=COUNTS, second=2 * COUNTS, cycles=np.full((3, 4), 100))
    contents = read_contents(path)
    assert np.array_equal(find_histogram(contents, "second", None, None), 2 * COUNTS)
    with pytest.raises(lb.CannotRead, match=r"first \(3, 4, 20\), second \(3, 4, 20\).*--array NAME"):
        find_histogram(contents, None, None, None)
    with pytest.raises(lb.CannotRead, match="no array 'third'"):
        find_histogram(contents, "third", None, None)
    assert cycles_in(contents).shape == (3, 4)
    np.savez(path, other=COUNTS, scale=np.ones(7))
    assert np.array_equal(find_histogram(read_contents(path), None, None, None), COUNTS)


def test_a_file_may_say_its_bin_width_with_its_unit(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["counts"] = COUNTS
        file["counts"].attrs["bin_width_ps"] = 55.0
        file.attrs["cycles"] = 200
    contents = read_contents(tmp_path / "a.h5")
    assert (width_in(contents), int(cycles_in(contents))) == (pytest.approx(55e-12), 200)
    np.savez(tmp_path / "a.npz", counts=COUNTS, bin_width=55)
    bare = read_contents(tmp_path / "a.npz")
    assert (width_in(bare), width_without_unit(bare)) == (None, 55.0)


def test_tables_with_pixels_missing_twice_or_without_rows_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    for text, said in [
        (
            "row,column,a,b\n0,0,1,2\n0,1,1,2\n1,0,1,2\n",
            "not one for each of the 2 x 2 pixels: row 1, column 1 has none",
        ),
        (
            "row,column,a,b\n0,1,1,2\n1,0,1,2\n1,1,1,2\n",
            "not one for each of the 2 x 2 pixels: row 0, column 0 has none",
        ),
        (
            "row,column,a,b\n0,1,1,2\n\n# more\n0,0,1,2\n0,1,1,2\n",
            "not one for each of the 1 x 2 pixels: row 0, column 1 is in line 2 and again in line 6",
        ),
        ("a,b\n1,2\n\n3,4,5\n", "line 4 has 3 columns, and line 2 has 2"),
        ("1;2\n# a word\n3;x\n", "'x' in line 3, column 2 is no number"),
        ("row,column,a,b\n-1,0,1,2\n", "whole numbers from 0 on"),
        ("row,column,a,b\n", "a heading and no rows"),
        ("\n\n", "is empty"),
        ("a,b\n1,two\n", "cannot be read"),
        ("1,2,3\n1,2\n", "cannot be read"),
    ]:
        path.write_text(text)
        with pytest.raises(lb.CannotRead, match=said):
            read_contents(path)


def test_a_colour_picture_is_refused(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((8, 8, 3), dtype=np.uint8), photometric="rgb")
    with pytest.raises(lb.CannotRead, match="colour picture"):
        read_contents(tmp_path / "a.tif")


def test_a_format_that_is_not_read_is_refused_with_those_that_are(tmp_path):
    with pytest.raises(lb.CannotRead, match=r"a.exr is no file of photons.*\.npy.*\.ptu"):
        read_contents(tmp_path / "a.exr")


@pytest.mark.parametrize(("name", "module"), [("a.h5", "h5py"), ("a.tif", "tifffile"), ("a.v73.mat", "h5py")])
def test_without_the_extra_it_is_named(name, module, tmp_path, monkeypatch):
    path = write(tmp_path / name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(lb.MissingExtra, match=rf"{name} needs {module}.*linkedbandits\[lidar\]"):
        read_contents(path)
