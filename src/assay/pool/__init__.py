"""Worker processes that one row cannot poison: see `pool.py` for how, `nursery.py` for where workers come from."""

from assay.pool.hand import Death, Task
from assay.pool.parcel import Parcel, pack
from assay.pool.pool import Limits, Pool, cores, default_memory_mb
from assay.pool.quarantine import Quarantine, default_folder

__all__ = [
    "Death",
    "Limits",
    "Parcel",
    "Pool",
    "Quarantine",
    "Task",
    "cores",
    "default_folder",
    "default_memory_mb",
    "pack",
]
