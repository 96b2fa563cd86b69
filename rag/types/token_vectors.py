"""Arrays of late interaction (ColBERT: Khattab & Zaharia 2020): one row per token of a text.

Token vectors are the last hidden states of the local model, without its two special tokens. A query keeps them as
floats of length 1. A passage stores only their signs, one bit per dimension: 48 bytes per token at 384 dimensions.
"""

import numpy as np
import numpy.typing as npt

# float32 (tokens, dimensions), rows of length 1.
TokenVectors = npt.NDArray[np.float32]
# uint8 (tokens, dimensions / 8).
TokenSignatures = npt.NDArray[np.uint8]
# float32. Similarities of tokens and what is computed from them; each use gives the shape.
Similarities = npt.NDArray[np.float32]
