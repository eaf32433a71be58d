"""First light: kernels against NumPy, and how long they take."""
import sys, time
sys.path.insert(0, "src")
import numpy as np, cupy
from linkedbandits.lidar.sensor import Sensor
from linkedbandits.lidar.acquisitions import Task, find_acquisition
from linkedbandits.lidar.estimators import model_of
from linkedbandits.lidar.engines.engine import Light
from linkedbandits.lidar.engines.gpu.run import Run
from linkedbandits.lidar.gating import outlook
from linkedbandits.lidar.acquiring import acquire
print(np.__version__, cupy.__version__, cupy.cuda.runtime.getDeviceProperties(0)["name"])

def light_of(n, bins, rng, task, apart=False):
    b = np.full(n, task.sensor.background)
    if apart: b = b * np.log(9)/8 * 9**rng.uniform(0,1,n)
    return Light(rng.uniform(3, bins-3, n), np.full(n, task.signal), b)

def check(bins, cycles, told, likely=None, n=512, **kw):
    sensor = Sensor(bins=bins, ambient=10.0, reach=bins*0.03, dead_time=0.0, **kw)
    task = Task(sensor, 0.5, cycles, told=told, likely=likely, borrow=False)
    made = find_acquisition("pulse", task)
    model = model_of(sensor, task.signal, None, told)
    rng = np.random.default_rng(1)
    light = light_of(n, bins, rng, task, not told)
    run = Run(made, task, model, light, np.arange(n), (1, 2), None)
    t=time.perf_counter(); run.go(); cupy.cuda.Device().synchronize(); t=time.perf_counter()-t
    p = run.pixels
    samples = np.cumsum(p.marks.get(), axis=1).astype(np.int64); fired = p.fired.get().astype(np.int64)
    arm = p.arm.get()
    right = np.abs(arm + .5 - light.depth) <= 1.5
    ref = acquire(made, task, sensor.rates(*light), 0, np.random.SeedSequence(3), None)
    right_ref = np.abs(ref.bin + .5 - light.depth) <= 1.5
    print(f"bins {bins} told {told} likely {likely} {kw}: right {right.mean():.3f} numpy {right_ref.mean():.3f}; cycles {p.cycles.get().mean():.1f} numpy {ref.cycles.mean():.1f}; photons {fired.sum()/n:.1f} numpy {ref.successes.sum()/n:.1f}; samples {samples.sum()/n:.0f} numpy {ref.samples.sum()/n:.0f}; seconds {(p.bins_gone.get()*sensor.bin_seconds).mean():.3e} numpy {ref.seconds.mean():.3e}; {t:.2f} s")
    # the last decision against NumPy on the same counts
    policy = made.gates
    state = policy.start(n, bins, np.zeros(n, np.uint64))
    state.samples, state.successes = samples, fired
    # level before: take what the device says after the last weigh, and weigh once more
    level = p.level.get().astype(np.int64)
    active = cupy.arange(n, dtype=cupy.int32)
    run._weigh(active, policy); run._open_best(active)
    like = model.log_likelihood(samples, fired, level, rough=True) - np.float32(np.log(bins))
    best = like.max(axis=1)
    worth, chance = outlook(model, like, best, level)
    w, c = run._worth.get(), run._chance.get()
    print("   chance err", np.abs(c-chance).max(), "worth rel err", (np.abs(w-worth).max(axis=1)/worth.max(axis=1)).max(), "arm equal", (p.arm.get()==best.max(axis=1).argmax(axis=1)).mean(), end=" ")
    gate = sensor.gates.best(worth, chance, sensor)
    from linkedbandits.lidar.gates import worth_per_time
    mine = np.arange(bins) >= p.opens.get()[:, None]
    a, b = worth_per_time(mine, worth, chance, sensor), worth_per_time(gate, worth, chance, sensor)
    print("gate equal", (mine.argmax(axis=1)==gate.argmax(axis=1)).mean(), "worst share of best", (a/b).min())

for a in sys.argv[1:]:
    if a == "check":
        check(200, 100, True); check(200, 100, False); check(1000, 200, True); check(1000, 200, False); check(200, 100, False, 0.95)
        check(200, 300, False, fwhm=1.0); check(200, 300, True, fwhm=20.0); check(100, 3000, False, n=64)
    if a == "time":
        sensor = Sensor(bins=1000, ambient=10.0, reach=30.0, dead_time=0.0)
        task = Task(sensor, 0.5, 500, told=True, borrow=False)
        made = find_acquisition("pulse", task); model = model_of(sensor, task.signal, None, True)
        n = 2**18
        light = light_of(n, 1000, np.random.default_rng(1), task)
        for rep in range(3):
            run = Run(made, task, model, light, np.arange(n), (1, 2), None); cupy.cuda.Device().synchronize()
            marks = []
            if rep == 2:
                names = ("_plan", "_expose", "_weigh", "_open_best"); spent = dict.fromkeys(names, 0.0)
                for name in names:
                    f = getattr(run, name)
                    def timed(*x, f=f, name=name):
                        cupy.cuda.Device().synchronize(); t=time.perf_counter(); r=f(*x); cupy.cuda.Device().synchronize(); spent[name]+=time.perf_counter()-t; return r
                    setattr(run, name, timed)
            t = time.perf_counter(); run.go(); cupy.cuda.Device().synchronize(); t = time.perf_counter()-t
            print(f"{n} pixels: {t:.3f} s -> {t*2**20/n:.2f} s a megapixel; right {(abs(run.pixels.arm.get()+.5-light.depth)<=1.5).mean():.3f}", spent if rep==2 else "")
