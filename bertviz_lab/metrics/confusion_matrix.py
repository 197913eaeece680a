"""The confusion matrix: how often each true class is predicted as each class."""

import numpy as np
from numpy.typing import NDArray


def confusion_matrix(truth: NDArray[np.integer], predicted: NDArray[np.integer], num_classes: int) -> NDArray[np.int64]:
    """Counts, (classes, classes): the row is the true class, the column the predicted one.

    `truth` and `predicted`, (examples,), are class indices below `num_classes`.
    """
    pairs = np.asarray(truth, dtype=np.int64) * num_classes + np.asarray(predicted, dtype=np.int64)
    return np.bincount(pairs, minlength=num_classes**2).reshape(num_classes, num_classes)
