"""What would each token say on its own?"""

from verax.exams.leakage.curve import token_curves
from verax.exams.leakage.exam import alone

__all__ = ["alone", "token_curves"]
