"""Thresholds for your own kind of model, measured on models whose honesty is known."""

from verax.calibration.calibrate import calibrate_like, tables_of
from verax.calibration.corpora import CorpusSpec, corpus_with_evidence, lexicon
from verax.calibration.kinds import DECEPTIVE, HONEST, KINDS, Kind
from verax.calibration.limits import (
    ACCUSED,
    CHOOSING,
    CLEARED,
    HELD_OUT,
    RATE,
    CalibratedModels,
    error_rates,
    measured_limits,
    readings,
    verdicts,
)
from verax.calibration.models import (
    Gates,
    ModelFactory,
    TrainingBudget,
    examined,
    gates_of,
)

__all__ = [
    "ACCUSED",
    "CHOOSING",
    "CLEARED",
    "DECEPTIVE",
    "HELD_OUT",
    "HONEST",
    "KINDS",
    "RATE",
    "CalibratedModels",
    "CorpusSpec",
    "Gates",
    "Kind",
    "ModelFactory",
    "TrainingBudget",
    "calibrate_like",
    "corpus_with_evidence",
    "error_rates",
    "examined",
    "gates_of",
    "lexicon",
    "measured_limits",
    "readings",
    "tables_of",
    "verdicts",
]
