"""Many models, one question: grids of cells; sweeps, comparisons, adversaries.

grid            a study file, checked and crossed into cells
engines         what runs cells side by side
running         cells to an engine, what comes back to the store
store           finished cells in a folder, packed or not, and as tables
function_grid   any function over many configurations
adversaries     models trained to say the same and attend elsewhere
comparison      models side by side, on the same documents
sweep           a study over λ, and its result
"""

from verax.studies.adversaries import Adversaries, load_adversaries
from verax.studies.adversary_models import run_adversaries
from verax.studies.adversary_scores import seed_variance
from verax.studies.comparison import Comparison, compare, load_comparison
from verax.studies.engines.engine import (
    DIVERGED,
    ERROR,
    LOST,
    OUT_OF_MEMORY,
    Engine,
    Failed,
    Finished,
    Job,
    Progressed,
)
from verax.studies.engines.local import HereEngine, LocalEngine
from verax.studies.engines.ray_engine import RayEngine
from verax.studies.function_grid import run_grid
from verax.studies.grid import Cell, Hardware, Study, read_study, shipped_studies
from verax.studies.running.run import run_studies, run_study
from verax.studies.store import (
    GridResults,
    Store,
    StudyResults,
    open_grid,
    open_study,
    pack,
)
from verax.studies.sweep import LAMS, Sweep, load_sweep, run_sweep, sweep_of

__all__ = [
    "DIVERGED",
    "ERROR",
    "LAMS",
    "LOST",
    "OUT_OF_MEMORY",
    "Adversaries",
    "Cell",
    "Comparison",
    "Engine",
    "Failed",
    "Finished",
    "GridResults",
    "Hardware",
    "HereEngine",
    "Job",
    "LocalEngine",
    "Progressed",
    "RayEngine",
    "Store",
    "Study",
    "StudyResults",
    "Sweep",
    "compare",
    "load_adversaries",
    "load_comparison",
    "load_sweep",
    "open_grid",
    "open_study",
    "pack",
    "read_study",
    "run_adversaries",
    "run_grid",
    "run_studies",
    "run_study",
    "run_sweep",
    "seed_variance",
    "shipped_studies",
    "sweep_of",
]
