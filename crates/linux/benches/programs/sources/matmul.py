"""Products of matrices, by whatever BLAS NumPy has: matmul.py SIZE TIMES."""
import sys
import numpy

size, times = int(sys.argv[1]), int(sys.argv[2])
a = (numpy.arange(size * size, dtype=numpy.float64).reshape(size, size) * 7 % 11 - 5) / size
b = (numpy.arange(size * size, dtype=numpy.float64).reshape(size, size) * 5 % 13 - 6) / size
total = 0.0
for _ in range(times):
    total += float((a @ b).trace())
# Sums in another order differ in the last digits.
print(f"{total:.6f}")
