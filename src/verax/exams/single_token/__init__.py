"""What would each token say on its own?"""

from verax.exams.single_token.tokens import alone, token_curves

__all__ = ["alone", "token_curves"]
