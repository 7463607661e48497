"""64 processes take turns on 8 cores, a slice of 3 ms each: prints switches per second of wall time."""

import time

import simpy

PROCESSES = 64
CORES = 8
SLICE_MS = 3
SWITCHES = 200_000


def process(env, cores, done):
    while done[0] < SWITCHES:
        with cores.request() as core:
            yield core
            yield env.timeout(SLICE_MS)
            done[0] += 1


def main():
    env = simpy.Environment()
    cores = simpy.Resource(env, capacity=CORES)
    done = [0]
    for _ in range(PROCESSES):
        env.process(process(env, cores, done))
    start = time.perf_counter()
    env.run()
    print(done[0] / (time.perf_counter() - start))


main()
