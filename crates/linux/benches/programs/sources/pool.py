"""A pool of processes that counts primes: pool.py TASKS NUMBERS [PROCESSES]."""
import multiprocessing
import sys


def primes(task):
    start, numbers = task
    found = 0
    for number in range(start, start + numbers):
        divisor = 3
        prime = number % 2 == 1
        while prime and divisor * divisor <= number:
            prime = number % divisor != 0
            divisor += 2
        found += prime
    return found


if __name__ == "__main__":
    tasks, numbers = int(sys.argv[1]), int(sys.argv[2])
    processes = int(sys.argv[3]) if len(sys.argv) > 3 else None
    with multiprocessing.Pool(processes) as pool:
        print(sum(pool.imap_unordered(primes, [(1_000_000 + i * numbers, numbers) for i in range(tasks)])))
