"""What would each token say on its own?"""

from verax.exams.single_token.exam import alone
from verax.exams.single_token.tokens import token_curves

__all__ = ["alone", "token_curves"]
