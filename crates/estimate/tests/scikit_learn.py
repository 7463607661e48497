"""Writes scikit_learn.csv: a table, and what scikit-learn's gradient boosting predicts of it.

Run with scikit-learn 1.9: python3 scikit_learn.py. Features are multiples of 1/1024, so they are
exact in float32. Best splits are unique: another order of the features gives the same predictions.
"""

import csv
import pathlib
import random

from sklearn.ensemble import GradientBoostingRegressor

ROWS, TRAINED_ON, COLUMNS = 300, 200, 5


def table():
    draw = random.Random(40)
    for _ in range(ROWS):
        x = [draw.randrange(4096) / 1024 for _ in range(COLUMNS)]
        target = 1 + x[0] ** 2 / 4 + (2 if x[1] > 1.5 else 0) - x[2] / 3 + draw.gauss(0, 0.2)
        yield x, target


def main():
    rows = list(table())
    train = rows[:TRAINED_ON]
    predicted = []
    for order in range(8):
        regressor = GradientBoostingRegressor(
            n_estimators=150, learning_rate=0.1, max_depth=1, subsample=1.0, random_state=order
        )
        regressor.fit([x for x, _ in train], [y for _, y in train])
        predicted.append(regressor.predict([x for x, _ in rows]))
    spread = max(abs(a - b) for other in predicted for a, b in zip(predicted[0], other))
    assert spread < 1e-12, f"best splits are not unique: {spread}"
    with open(pathlib.Path(__file__).with_suffix(".csv"), "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["a", "b", "c", "d", "e", "target", "predicted"])
        for (x, target), prediction in zip(rows, predicted[0]):
            out.writerow([*map(repr, x), repr(target), repr(float(prediction))])


main()
