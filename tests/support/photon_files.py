"""Small files of photons in every format, as sensors and public captures write them."""

from __future__ import annotations

import numpy as np
import scipy.io


def histogram(rows=3, columns=4, bins=20, cycles=200, seed=0):
    """Counts of a synchronous sensor before a slope: (rows, columns, bins), and the bin of each depth."""
    rng = np.random.default_rng(seed)
    depth = np.linspace(5.5, bins - 5.5, rows * columns).reshape(rows, columns)
    places = np.arange(bins) + 0.5
    chances = 0.002 + 0.2 * np.exp(-(((places - depth[..., np.newaxis]) / 1.2) ** 2))
    counts = np.zeros((rows, columns, bins), dtype=np.int64)
    left = np.full((rows, columns), cycles)
    for place in range(bins):
        counts[..., place] = rng.binomial(left, chances[..., place])
        left -= counts[..., place]
    return counts, depth


def cells_of(counts):
    """The same as MATLAB's cells: the bins of a pixel's photons, one after the other."""
    cells = np.empty(counts.shape[:2], dtype=object)
    for place in np.ndindex(*counts.shape[:2]):
        cells[place] = np.repeat(np.arange(counts.shape[2]), counts[place]).reshape(-1, 1).astype(np.uint16)
    return cells


def write_mat73(path, arrays, cells=None):
    """A .mat of version 7.3: HDF5 behind 512 bytes, axes the other way round, cells as references."""
    import h5py

    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            file[name] = np.asarray(array).T
        references = file.create_group("#refs#")
        for name, cell in (cells or {}).items():
            dataset = file.create_dataset(name, cell.T.shape, dtype=h5py.ref_dtype)
            for place in np.ndindex(*cell.T.shape):
                value = cell.T[place]
                kept = references.create_dataset(f"{name}{place}", data=value.T if value.size else np.zeros(2, "u8"))
                if not value.size:
                    kept.attrs["MATLAB_empty"] = 1
                dataset[place] = kept.ref
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def write_t3(path, cycle, tick):
    """Headerless HydraHarp T3 records, with overflows of the counter of cycles, and a marker that says nothing."""
    records, rounds = [(1 << 31) | (1 << 25)], 0
    for at, when in zip(cycle, tick, strict=True):
        while at >> 10 > rounds:
            skipped = (at >> 10) - rounds
            records.append((1 << 31) | (63 << 25) | (0 if skipped == 1 else skipped))
            rounds = at >> 10
        records.append((int(when) << 10) | (int(at) & 1023))
    np.array(records, dtype="<u4").tofile(path)


def write_mat5(path, **arrays):
    scipy.io.savemat(path, arrays)
