"""A laboratory for one question: does a language model understand what it says?

    import mary
    m = mary.Model("builtin/nano")
    m.score(["The dog runs."], by="word")
    run = mary.run(models=[m], tasks=["htest"], limit=50)
    run.summary()

Tables go to pandas, polars and pyarrow through Arrow's interface, without a copy; none of them is required.
"""

from . import stats
from ._errors import (
    Interrupted,
    MaryError,
    MissingError,
    ModelError,
    RefusedError,
    StoppedError,
    UsageError,
)
from ._inside import lens, patch, probe, steer
from ._mary import version as _version
from ._model import Model, change
from ._run import Run, Sweep, open_run, run, sweep, tasks
from ._scale import Scale, open_scale, scale
from ._table import Figure, Report, Table
from ._task import Task, task
from ._wrap import callable_model as function
from ._wrap import transformers_model as transformers

__version__: str = _version()

__all__ = [
    "Figure",
    "Interrupted",
    "MaryError",
    "MissingError",
    "Model",
    "ModelError",
    "RefusedError",
    "Report",
    "Run",
    "Scale",
    "StoppedError",
    "Sweep",
    "Table",
    "Task",
    "UsageError",
    "change",
    "function",
    "lens",
    "open_run",
    "open_scale",
    "patch",
    "probe",
    "run",
    "scale",
    "stats",
    "steer",
    "sweep",
    "task",
    "tasks",
    "transformers",
]
