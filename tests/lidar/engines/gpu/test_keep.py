"""Lists of the pixels that go on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.kernels_on_cpu import compiled, needs_compiler, run

pytestmark = needs_compiler


def keep(listed, marks, wanted, threads=32):
    kept, count = np.full(listed.size, -1, dtype=np.int32), np.zeros(1, dtype=np.int32)
    blocks = -(-listed.size // threads)
    run(compiled("keep.cu", ()), "keep", blocks, listed, listed.size, marks, wanted, kept, count, threads=threads)
    return kept, int(count[0])


@given(st.lists(st.integers(0, 3), min_size=1, max_size=100), st.booleans(), st.randoms(use_true_random=False))
def test_it_keeps_those_that_are_marked_or_those_that_are_not(marks, wanted, random):
    marks = np.array(marks, dtype=np.uint8)
    some = random.sample(range(marks.size), random.randint(1, marks.size))
    kept, count = keep(np.array(some, dtype=np.int32), marks, int(wanted))
    assert sorted(kept[:count]) == sorted(pixel for pixel in some if (marks[pixel] != 0) == wanted)
    assert (kept[count:] == -1).all()


@pytest.mark.parametrize("threads", [1, 128])
def test_any_number_of_threads_keeps_the_same(threads):
    listed = np.arange(300, dtype=np.int32)
    kept, count = keep(listed, (listed % 3 == 0).astype(np.uint8), 1, threads)
    assert sorted(kept[:count]) == list(range(0, 300, 3))
