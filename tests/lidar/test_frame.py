"""Frames: from a scene to a depth map, and the figures of it."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import linkedbandits as lb
from linkedbandits.lidar import Frame, Scene, Sensor, Task, acquiring, capture
from linkedbandits.lidar.borrowing import passes
from linkedbandits.lidar.engines import reference
from linkedbandits.lidar.engines.reference import NumpyEngine

SENSOR = Sensor(bins=60, reach=6.0, ambient=2.0)
TASK = Task(SENSOR, signal=1.0, cycles=1500, delta=0.05)


def wall(depth) -> Scene:
    depth = np.atleast_2d(depth)
    return Scene("wall", depth, np.ones_like(depth))


def test_depth_comes_out_in_metres_where_the_scene_has_it():
    depth = np.linspace(2.5, 4.5, 40).reshape(5, 8)
    frame = capture(wall(depth), TASK)
    assert np.abs(frame.error).max() < SENSOR.bin_depth
    summary = frame.summary()
    assert summary.within_tolerance == summary.confident == summary.found == 1
    assert summary.rmse_cm == pytest.approx(100 * np.sqrt((frame.error**2).mean()))
    assert summary.cycles_mean < summary.cycles_90 < 1500


@pytest.mark.statistical
@pytest.mark.parametrize("engine", ["numpy", "compiled"])
@pytest.mark.parametrize("signal", [0.5, 2.8, 8.0])
def test_a_sure_depth_is_in_the_middle_of_the_interval_that_was_proved_for_it(engine, signal):
    """More than 10 of 40 true depths are outside at delta = 0.05 with a probability below 1e-4; hardly any is."""
    frame = capture(wall(np.linspace(2.5, 4.5, 40).reshape(5, 8)), replace(TASK, signal=signal), engine=engine)
    found = frame.depth_map()
    low, high = found.interval[..., 0], found.interval[..., 1]
    assert found.confident.mean() > 0.5
    assert ((low <= found.depth) & (found.depth <= high)).all()
    assert ((low + high) / 2)[found.confident] == pytest.approx(found.depth[found.confident])
    assert ((frame.truth < low) | (frame.truth > high)).sum() <= 10
    assert not found.confident[high - low >= SENSOR.reach].any()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_frame_on_any_number_of_workers():
    """Each pass with more than 256 pixels is shared out, and each expects what the passes before have found."""
    depth = np.linspace(0.5, 5.5, 15 * 25).reshape(15, 25)
    task = Task(Sensor(bins=100, reach=6.0, ambient=2.0), signal=1.0, cycles=100, delta=0.05)
    alone, shared = (capture(wall(depth), task, seed=3, workers=workers) for workers in (1, 2))
    for name in ("depth", "cycles", "seconds", "confident", "signal", "background"):
        assert np.array_equal(getattr(alone, name), getattr(shared, name), equal_nan=True)
    assert 0.1 < alone.confident.mean() < 0.95
    one, other = (capture(wall(depth[:2]), task, seed=seed).depth for seed in (3, 4))
    assert not np.array_equal(one, other, equal_nan=True)


def test_pixels_are_acquired_pass_by_pass_and_only_later_ones_expect_something(monkeypatch):
    """What is expected of a pixel is made from pixels of earlier passes: the others are not even acquired by then."""
    seen = []
    measure = NumpyEngine.measure

    def watched(engine, pixels, progress):
        seen.append(pixels)
        return measure(engine, pixels, progress)

    monkeypatch.setattr(NumpyEngine, "measure", watched)
    scene = wall(np.full((5, 6), 3.05))
    capture(scene, TASK)
    assert [part.numbers.tolist() for part in seen] == [each.pixels.tolist() for each in passes((5, 6))]
    assert seen[0].around is None
    for part in seen[1:]:
        assert (part.around.expected(TASK.sensor.bins).log_prior.argmax(axis=1) == 30).mean() > 0.6
    seen.clear()
    capture(scene, replace(TASK, borrow=False))
    assert [part.numbers.size for part in seen] == [30]
    assert seen[0].around is None
    seen.clear()
    capture(scene, TASK, "even")
    assert [part.numbers.size for part in seen] == [30]


def test_parts_of_a_pass_have_each_their_own_pixels_expectations_and_random_numbers(monkeypatch):
    seen = []

    def watched(made, task, rates, first, seed, expected):
        seen.append((rates, seed.spawn_key, expected))
        return acquired(made, task, rates, first, seed, expected)

    acquired = reference.acquire
    monkeypatch.setattr(reference, "acquire", watched)
    depth = np.linspace(1.05, 5.05, 22).repeat(18).reshape(22, 18).T  # columns of one depth
    capture(wall(depth), Task(Sensor(bins=100, reach=6.0, ambient=2.0), 3.0, cycles=60))
    assert len(seen) == 4  # the last pass has 297 pixels
    assert len({key for _, key, _ in seen}) == 4
    for rates, _, expected in seen[1:]:
        assert len(rates) == len(expected.signal)
        right = np.abs(expected.log_prior.argmax(axis=1) - rates.argmax(axis=1)) <= 4
        assert right.mean() > 0.9


@pytest.mark.slow
@pytest.mark.statistical
def test_borrowing_saves_cycles_and_edges_stay_right():
    """Two walls side by side, in unknown light. No pixel is sure and wrong, also at the edge; delta allows 5 %."""
    depth = np.full((12, 16), 1.5)
    depth[:, 9:] = 4.2
    scene = Scene("two walls", depth, np.where(depth < 2, 0.3, 1.0)).sunlit()
    task = Task(Sensor(bins=100, reach=6.0, ambient=4.0), signal=0.5, cycles=6000, delta=0.05)
    alone, borrowed = (capture(scene, replace(task, borrow=borrow)) for borrow in (False, True))
    assert borrowed.cycles.mean() < 0.8 * alone.cycles.mean()
    for frame in (alone, borrowed):
        assert frame.confident.mean() > 0.97
        assert (frame.confident & (np.abs(frame.error) > task.sensor.bin_depth)).sum() <= 2


@pytest.mark.slow
def test_the_light_of_every_pixel_is_found_as_well_as_its_depth():
    """Backgrounds a factor of 9 apart, of which the task has just the mean; signals and backgrounds near the truth."""
    depth = np.tile(np.linspace(1.0, 5.0, 12), (9, 1))
    light = np.tile(np.geomspace(1, 9, 9)[:, np.newaxis], (1, 12))
    scene = Scene("lit", depth, np.ones((9, 12)), light)
    task = Task(Sensor(bins=60, reach=6.0, ambient=3.0), signal=1.0, cycles=3000)
    for acquisition in ("pulse", "even"):
        frame = capture(scene, task, acquisition)
        assert np.abs(frame.error).max() <= task.sensor.bin_depth
        background = scene.ambients(3.0)
        assert background.mean() == pytest.approx(3.0)
        assert np.ptp(background[:, 0]) > 4
        assert np.median(np.abs(np.log(frame.background / background))) < 0.15
        assert np.median(np.abs(np.log(frame.signal / scene.signals(1.0, 6.0)))) < 0.15


def test_dark_counts_are_part_of_the_background():
    task = Task(Sensor(bins=60, reach=6.0, ambient=0.6, dark=0.05), signal=1.0, cycles=2000)
    frame = capture(wall(np.full((4, 4), 3.0)), task)
    assert frame.background == pytest.approx(3.6, rel=0.3)


@pytest.mark.parametrize("acquisition", ["auto", "free-running"])
def test_a_sensor_may_run_freely(acquisition):
    """Where it is blind for next to no time, that is what the program chooses."""
    sensor = Sensor(bins=60, reach=6.0, ambient=2.0, dead_time=1e-9)
    task = Task(sensor, signal=1.0, cycles=2000, delta=0.05)
    frame = capture(wall(np.linspace(1.0, 5.0, 20)), task, acquisition)
    assert frame.acquisition == "free-running"
    assert frame.confident.all()
    assert np.abs(frame.error).max() <= sensor.bin_depth
    assert frame.seconds == pytest.approx(frame.cycles * sensor.period, rel=0.05)


def test_progress_counts_every_pixel():
    seen = []
    capture(wall(np.full((30, 30), 2.0)), Task(SENSOR, 1.0, cycles=5), "synchronous", progress=seen.append)
    assert sum(seen) == 900
    assert len(seen) > 1


@pytest.mark.parametrize("missing", [np.nan, np.inf, 7.0])
def test_missing_depth_and_depth_out_of_reach_are_no_returns(missing):
    """They use up their budget, are given no depth, and do not count as errors."""
    frame = capture(wall([[2.0, missing, 3.0, 4.0]]), TASK, seed=2)
    assert np.isnan(frame.truth[0, 1])
    assert np.isnan(frame.depth[0, 1])
    assert frame.cycles[0, 1] == TASK.cycles
    assert not frame.confident[0, 1]
    summary = frame.summary()
    assert (summary.pixels, summary.missing, summary.within_tolerance) == (4, 1, 1.0)


def test_a_scene_without_any_return_has_no_figures_but_its_cycles():
    frame = capture(wall(np.full((3, 3), np.nan)), Task(SENSOR, 1.0, cycles=300))
    data = frame.summary().to_dict()
    assert data["rmse_cm"] is data["within_tolerance"] is data["found"] is None
    assert data["cycles_mean"] == 300
    assert np.isnan(frame.depth).mean() > 0.6


def test_without_ambient_light_every_acquisition_is_right():
    task = Task(Sensor(bins=60, reach=6.0, ambient=0.0), signal=1.0, cycles=300)
    for acquisition in ("synchronous", "even", "pulse"):
        frame = capture(wall(np.linspace(1, 5, 30)), task, acquisition)
        assert frame.summary().within_tolerance == 1


def test_one_pixel_that_was_not_found_is_not_within_and_not_in_the_rmse():
    truth = wall([[2.0, 3.0]])
    ones = np.ones((1, 2))
    depth = np.array([[2.02, np.nan]])
    seen = (10 * ones, 1e-6 * ones, ones > 0, ones > 0, 20 * ones, ones, ones)
    frame = Frame(truth, TASK, "pulse", "map", depth, *seen)
    summary = frame.summary()
    assert (summary.found, summary.within_tolerance, summary.worse_than_5_cm) == (0.5, 0.5, 0.5)
    assert summary.rmse_cm == pytest.approx(2.0)


def test_time_counts_windows_and_blind_periods():
    frame = capture(wall([[2.0, 3.0]]), Task(SENSOR, 1.0, cycles=202), "shifted")
    assert frame.cycles == pytest.approx(202)  # two hundred windows, and a cycle more for each round of a hundred
    assert (frame.seconds > 202 * SENSOR.period).all()


def test_free_plays_take_no_time_that_could_be_told():
    frame = capture(wall([[2.0, 3.0]]), Task(SENSOR, 1.0, cycles=50), "free")
    assert np.isnan(frame.seconds).all()
    assert frame.summary().to_dict()["milliseconds_mean"] is None


def test_where_every_bin_always_fires_there_is_no_depth():
    """Nothing that was seen speaks for a return, nor against it."""
    blinded = Task(Sensor(bins=50, reach=6.0, ambient=5000.0), signal=1.0, cycles=100)
    assert np.isnan(capture(wall([[2.0, 3.0]]), blinded, "pulse").depth).all()


def test_a_wide_pulse_has_a_share_within_one_bin_and_one_within_its_tolerance():
    task = Task(Sensor(bins=60, reach=6.0, fwhm=10.0, ambient=2.0), signal=1.0, cycles=60)
    summary = capture(wall(np.linspace(1, 5, 60)), task, "even").summary()
    assert summary.within_one_bin < summary.within_tolerance - 0.1


def test_a_scene_out_of_reach_is_refused():
    with pytest.raises(lb.InvalidParameter, match="reach"):
        capture(wall([[2.0, 3.0]]), Task(Sensor(reach=1.0), 1.0, 10))


DIM = Task(Sensor(bins=60, reach=6.0, ambient=1.0), signal=1.0, cycles=3000, delta=0.05)


def dim_beside_bright() -> Scene:
    """A row of white, one nearly black, and one where nothing comes back."""
    depth = np.tile(np.linspace(1.5, 4.5, 20), (3, 1))
    depth[2] = np.nan
    return Scene("rows", depth, np.repeat([[1.0], [0.02], [1.0]], 20, axis=1))


@pytest.mark.parametrize("estimator", ["map", "answer"])
def test_elimination_is_sure_of_bins_and_goes_on_where_there_is_little_to_see(estimator):
    """A tolerance in detection probability that fits the mean signal would end the dim and the empty pixels, too."""
    frame = capture(dim_beside_bright(), DIM, "elimination", estimator)
    assert not frame.confident.any()
    assert np.isnan(frame.summary().confident)
    assert frame.proved[0].all()
    assert frame.cycles[0].mean() < 1000
    assert np.abs(frame.bin[0] - np.floor(frame.truth[0] / DIM.sensor.bin_depth)).max() <= DIM.neighbours
    assert frame.proved[1:].mean() < 0.1
    assert (frame.cycles[1:] == DIM.cycles).mean() > 0.9
    assert frame.summary().proved == pytest.approx(frame.proved.mean())


@pytest.mark.parametrize("acquisition", ["elimination", "halving"])
def test_the_answer_of_a_policy_is_its_own_bin_refined(acquisition, monkeypatch):
    depth = np.linspace(1.0, 5.0, 40)
    task = Task(Sensor(bins=60, reach=6.0, ambient=1.0), signal=1.0, cycles=1000)
    frame = capture(wall(depth), task, acquisition, "answer")
    assert np.abs(frame.error).max() <= task.sensor.bin_depth
    elsewhere = acquiring.simulate_lanes

    def at_bin_7(*arguments, **options):
        outcomes = elsewhere(*arguments, **options)
        outcomes.top[:] = 7
        return outcomes

    monkeypatch.setattr(acquiring, "simulate_lanes", at_bin_7)
    moved = capture(wall(depth), task, acquisition, "answer").depth / task.sensor.bin_depth
    assert np.abs(moved - 7.5).max() <= 4


@pytest.mark.parametrize("estimator", ["histogram", "coates", "matched", "answer"])
def test_only_the_depth_that_the_guarantee_is_about_is_called_sure(estimator):
    scene = wall(np.linspace(2.5, 4.5, 20))
    assert capture(scene, TASK, "pulse").confident.all()
    other = capture(scene, TASK, "pulse", estimator)
    assert not other.confident.any()
    assert other.summary().to_dict()["confident"] is None
    without_delta = Task(SENSOR, 1.0, 100)
    assert capture(scene, without_delta, "pulse").summary().to_dict()["confident"] is None


def test_a_pixel_brighter_than_was_prepared_for_is_not_called_sure_and_is_placed_right_when_strongest_says_so():
    """White in a dark room sends back seventy times the mean: it looks too early by over a bin, and says so."""
    depth = np.full((20, 30), 5.0)
    depth[0, :8] = np.linspace(2.0, 2.2, 8)
    scene = Scene("dark room", depth, np.where(depth < 5, 1.0, 0.02))
    sensor = Sensor(bins=100, fwhm=4.9, reach=6.0, ambient=2.0)
    told, untold = (
        capture(scene, Task(sensor, signal=1.0, cycles=200, delta=0.05, strongest=strongest))
        for strongest in (80.0, None)
    )
    white = np.s_[0, :8]
    assert told.confident[white].mean() > 0.7  # two returns would explain one or the other as well
    assert np.abs(told.error[white]).mean() < 0.3 * sensor.bin_depth
    assert (untold.error[white] < -sensor.bin_depth).any()
    assert not (untold.confident & (np.abs(untold.error) > sensor.bin_depth)).any()
    limited = Task(sensor, signal=1.0, cycles=200, delta=0.05, strongest=20.0)
    counts = [replace(told, task=task).summary().too_bright for task in (told.task, untold.task, limited)]
    assert counts == [0, 0, 8]


@pytest.mark.parametrize("acquisition", ["synchronous", "even", "shifted", "halving", "thompson"])
def test_where_nothing_comes_back_the_model_says_so_after_any_acquisition(acquisition):
    """And the estimators without a model give a depth all the same: a false one."""
    task = Task(SENSOR, 1.0, cycles=1000)
    scene = wall(np.where(np.arange(40) < 30, np.nan, 3.0))
    assert capture(scene, task, acquisition).summary().false_depth < 0.3
    assert capture(scene, task, acquisition, "coates").summary().false_depth == 1


@pytest.mark.parametrize("parts", [1, 2])
def test_matrix_products_take_one_thread_in_this_process_too(parts, monkeypatch):
    """Two threads might add up in another order, and a frame would depend on the number of workers."""
    seen = []
    simulate = acquiring.simulate_lanes

    def watched(*arguments, **options):
        seen.extend(library["num_threads"] for library in threadpool_info())
        return simulate(*arguments, **options)

    monkeypatch.setattr(acquiring, "simulate_lanes", watched)
    with threadpool_limits(2):
        capture(wall(np.full((parts, 300), 2.0)), Task(SENSOR, 1.0, cycles=5), "even")
        assert {library["num_threads"] for library in threadpool_info()} == {2}
    assert set(seen) == {1}


def small_frame(depth=((2.0, 3.0), (4.0, np.nan))) -> Frame:
    return capture(Scene("<script>", np.array(depth), np.ones((2, 2))), TASK)


def test_a_frame_prints_its_figures_and_not_its_images():
    frame = small_frame()
    one = frame.summary()
    assert repr(frame) == (
        f"Frame(<script>, 2 x 2, pulse and map: 100 % within 10 cm,\n  root mean square {one.rmse_mm:.4g} mm, "
        f"{one.cycles_mean:,.0f} cycles and {one.microseconds_mean:.4g} µs a pixel, {100 * one.confident:g} % sure)"
    )


def test_a_summary_prints_a_few_figures_and_keeps_all_of_them():
    one = small_frame().summary()
    lines = repr(one).splitlines()
    assert lines[0] == "FrameSummary(pulse and map, 4 pixels:"
    assert len(lines) <= 5
    assert max(map(len, lines)) <= 80
    assert f"{one.cycles_mean:,.0f} cycles" in lines[-1]
    assert "% sure)" in lines[-1]
    unsure = capture(wall([[2.0, 3.0]]), Task(SENSOR, 1.0, cycles=50), "free").summary()
    assert "sure" not in repr(unsure)


def test_figures_for_programs_have_nine_digits_and_no_tails_of_rounding():
    one = replace(
        small_frame().summary(), worse_than_5_cm=0.0010000000000000009, cycles_mean=581.75421987654, mae_mm=np.nan
    )
    data = one.to_dict()
    assert (data["worse_than_5_cm"], data["cycles_mean"], data["mae_mm"]) == (0.001, 581.75422, None)
    assert data["pixels"] == 4


def test_what_cannot_be_told_of_a_frame_is_left_out_of_its_line():
    text = repr(capture(wall([[2.0, 3.0]]), Task(SENSOR, 1.0, cycles=50), "free"))
    assert text.endswith("50 cycles and no time a pixel)")


def test_in_a_notebook_a_frame_is_a_table_with_a_picture_of_its_depth(monkeypatch):
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install 'linkedbandits[plot]'")
    frame = small_frame()
    html = frame._repr_html_()
    assert "<script>" not in html
    assert "Frame of &lt;script&gt;, 2 x 2, pulse and map" in html
    assert "within 10 cm" in html
    assert html.count("data:image/png;base64,") == 1
    assert f"{frame.summary().cycles_mean:,.0f}, nine in ten within" in frame.summary()._repr_html_()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert frame._repr_html_().count("<tr") == html.count("<tr")
    assert "<img" not in frame._repr_html_()


def test_the_picture_of_a_frame_has_depth_error_and_time(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install 'linkedbandits[plot]'")
    frame = small_frame()
    figure = frame.plot()
    assert [axes.get_title() for axes in figure.axes[:3]] == ["depth (m)", "error (cm)", "time (µs)"]
    shown = [axes.get_images()[0].get_array().filled(np.nan) for axes in figure.axes[:3]]
    for image, wanted in zip(shown, (frame.depth, 100 * frame.error, 1e6 * frame.seconds), strict=True):
        assert np.array_equal(image, wanted, equal_nan=True)
    for ending in ("png", "svg", "pdf"):
        figure.savefig(tmp_path / f"frame.{ending}")
        assert (tmp_path / f"frame.{ending}").stat().st_size > 1000
    axes = figure.axes[0]
    assert frame.plot("time", ax=axes) is axes
    assert axes.get_title() == "time (µs)"


def test_a_frame_has_a_row_for_each_pixel():
    pytest.importorskip("polars", reason="polars is missing; pip install 'linkedbandits[study]'")
    frame = small_frame()
    rows = frame.to_polars()
    assert rows.columns[:5] == ["row", "column", "depth", "truth", "error"]
    assert rows.height == 4
    assert rows.row(1)[:4] == (0, 1, frame.depth[0, 1], 3.0)
    assert rows["bin"].to_list() == frame.bin.reshape(-1).tolist()
