"""Studies: grids of simulations, on one machine or many, with results that last.

>>> from linkedbandits.study import read_study
>>> study = read_study('''
... trials = 100
... [[instances]]
... means = [0.1, 0.4, 0.2]
... [[policies]]
... policy = "linked-elimination"
... ''')
>>> len(study.cells)
1
"""

from linkedbandits.study.cells import Cell, Instance, Study
from linkedbandits.study.engines.dask import on_dask
from linkedbandits.study.engines.processes import on_processes
from linkedbandits.study.results import Results, open_results
from linkedbandits.study.running import run_study
from linkedbandits.study.spec import load_study, read_study

__all__ = [
    "Cell",
    "Instance",
    "Results",
    "Study",
    "load_study",
    "on_dask",
    "on_processes",
    "open_results",
    "read_study",
    "run_study",
]
