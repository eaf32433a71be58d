import numpy as np
import pytest
from scipy import stats

from linkedbandits.lidar.engines.counter import DRAWS, PHOTONS, exponentials, key_of, philox, uniforms, words

ONES = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [
        ([0, 0, 0, 0], [0, 0], "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ([ONES] * 4, [ONES] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_known_answers_of_the_authors(counter, key, answer):
    assert " ".join(f"{word:08x}" for word in philox(counter, key)) == answer


def test_a_word_is_a_part_of_the_block_that_its_counter_names():
    key, pixel, number = (7, 9), (5 << 32) + 3, 14
    block = philox([number >> 2, DRAWS, 3, 5], key)
    assert words(key, pixel, DRAWS, number) == block[number & 3]


def test_the_key_is_the_first_word_of_the_seed_sequence():
    word = int(np.random.SeedSequence(12).generate_state(1, np.uint64)[0])
    assert key_of(12) == (word % 2**32, word // 2**32)


def test_uniform_numbers_lie_between_0_and_1_and_keep_to_the_law():
    numbers = uniforms((1, 2), np.arange(100)[:, np.newaxis], PHOTONS, np.arange(100))
    assert 0 < numbers.min() < numbers.max() < 1
    assert stats.kstest(numbers.reshape(-1), "uniform").pvalue > 1e-4
    drawn = exponentials((1, 2), np.arange(100)[:, np.newaxis], PHOTONS, np.arange(100))
    np.testing.assert_array_equal(drawn, -np.log(numbers))
