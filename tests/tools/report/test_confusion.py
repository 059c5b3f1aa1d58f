"""Numbers from a confusion matrix; test_report.py has a model's predictions."""

import numpy as np

from cifar10.tools.report import confusion


def predictions(labels, predicted, confidences):
  return confusion.TestPredictions(step=1, classes=('cat', 'dog', 'frog'),
                                   images=None, labels=np.array(labels),
                                   predicted=np.array(predicted),
                                   confidences=np.array(confidences))


def test_mistakes_are_counted():
  matrix = np.array([[5, 2, 0], [7, 1, 0], [0, 0, 0]])
  mistakes = [(1, 0, 7), (0, 1, 2)]
  assert confusion.frequent_mistakes(matrix, 9) == mistakes
  assert confusion.frequent_mistakes(matrix, 1) == mistakes[:1]
  precision, recall = confusion.precision_and_recall(matrix)
  np.testing.assert_allclose(precision, [5 / 12, 1 / 3, np.nan])
  np.testing.assert_allclose(recall, [5 / 7, 1 / 8, np.nan])


def test_predictions_become_a_matrix():
  found = predictions([0, 0, 1, 0], [0, 1, 1, 1], [0.5, 0.6, 0.7, 0.8])
  matrix = [[1, 2, 0], [0, 1, 0], [0, 0, 0]]
  assert found.confusion_matrix.tolist() == matrix
  assert found.precision == 0.5


def test_most_confident_mistakes_come_first():
  found = predictions([0, 1, 2, 0, 1], [1, 1, 1, 2, 0],
                      [0.5, 0.9, 0.7, 0.8, 0.7])
  assert found.most_confident_mistakes(9).tolist() == [3, 2, 4, 0]
  assert found.most_confident_mistakes(2).tolist() == [3, 2]
  right = predictions([0], [0], [1.0])
  assert right.most_confident_mistakes(9).tolist() == []
