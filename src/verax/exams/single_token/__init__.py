"""What would the model decide from each token alone?"""

from verax.exams.single_token.tokens import alone, token_curves

__all__ = ["alone", "token_curves"]
