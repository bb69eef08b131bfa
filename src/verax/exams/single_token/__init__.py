"""What would each token say on its own?"""

from verax.exams.single_token.curve import token_curves
from verax.exams.single_token.exam import alone

__all__ = ["alone", "token_curves"]
