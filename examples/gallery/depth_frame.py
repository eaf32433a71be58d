"""A depth map from single photons in bright light: a gate that learns where to open, beside none.

Each pixel may use 400 laser cycles. Without a gate the first photon of a cycle is nearly always background.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from linkedbandits.lidar import Scene, Sensor, Task, capture

rows, columns = np.mgrid[0:24, 0:36]
depth = 3.5 + 0.03 * columns  # metres: a wall that recedes, a ball and a box before it
depth[(rows - 11) ** 2 + (columns - 10) ** 2 < 50] = 2.0
depth[8:20, 22:32] = 2.8
scene = Scene("ball and box", depth, reflectivity=np.full(depth.shape, 0.5))
task = Task(Sensor(bins=150, fwhm=3.0, ambient=5.0, reach=6.0), signal=0.5, cycles=400, delta=0.05)

figure, panels = plt.subplots(1, 3, figsize=(6, 1.7), layout="constrained")
panels[0].imshow(depth, vmin=2, vmax=4.6)
panels[0].set_title("true depth", fontsize=9)
for axes, method in zip(panels[1:], ("synchronous", "pulse"), strict=True):
    frame = capture(scene, task, method, seed=1)
    summary = frame.summary()
    picture = axes.imshow(frame.depth, vmin=2, vmax=4.6)
    axes.set_title(f"{method}: {summary.within_one_bin:.0%} right", fontsize=9)
    print(f"{method}: {summary.within_one_bin:.0%} of the pixels right, {summary.cycles_mean:.0f} cycles a pixel")
for axes in panels:
    axes.set_axis_off()
figure.colorbar(picture, ax=panels, label="metres")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "depth-frame.png", dpi=200)
