"""The exams of this package, a line each, in the order in which they are taken and shown."""

from verax.exams.erasure import exam as _erasure  # noqa: F401, I001
from verax.exams.agreement import exam as _agreement  # noqa: F401
from verax.exams.dispersion import exam as _dispersion  # noqa: F401
from verax.exams.replacement import exam as _replacement  # noqa: F401
from verax.exams.information import exam as _information  # noqa: F401
from verax.exams.single_token import exam as _single_token  # noqa: F401
from verax.exams.adversary import exam as _adversary  # noqa: F401
from verax.exams.deletion import exam as _deletion  # noqa: F401
from verax.exams.sufficiency import exam as _sufficiency  # noqa: F401
from verax.exams.plausibility import exam as _plausibility  # noqa: F401
