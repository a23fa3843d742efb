"""A slow cable: passes what comes from one network interface to another, and
back, so much later.

  delay.py FILE ONE OTHER MILLISECONDS [JITTER]

Makes the two interfaces (of kind tap), and FILE with the number of the process
when they are there; they go when it ends. Each frame is late by MILLISECONDS,
give or take up to JITTER; none overtakes another. What comes while QUEUE_MAX
frames are on their way is dropped, as by a switch."""

import collections
import fcntl
import os
import random
import select
import struct
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TAP = 0x0002
IFF_NO_PI = 0x1000
FRAME_MAX = 65536
QUEUE_MAX = 10000
BURST_MAX = 64  # frames that are read before those that are due are passed on


def open_tap(name):
    """The kernel splits what is longer than a frame, and sums it."""
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    request = struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI)
    fcntl.ioctl(tap, TUNSETIFF, request)
    return tap


class Direction:
    def __init__(self, source, target, late_s, jitter_s):
        self.source, self.target = source, target
        self.late_s, self.jitter_s = late_s, jitter_s
        self.queue = collections.deque()  # when it is due, frame
        self.last = 0.0

    def take(self):
        for _ in range(BURST_MAX):
            try:
                frame = os.read(self.source, FRAME_MAX)
            except OSError:  # there is none, or the interface is down
                return
            if len(self.queue) == QUEUE_MAX:
                continue
            late = self.late_s + random.uniform(-self.jitter_s, self.jitter_s)
            self.last = max(self.last, time.monotonic() + late)
            self.queue.append((self.last, frame))

    def pass_on(self):
        while self.queue and self.queue[0][0] <= time.monotonic():
            try:
                os.write(self.target, self.queue.popleft()[1])
            except OSError:
                pass  # the interface is down: lost

    def wait_s(self):
        """How long until something is due; None: nothing is on its way."""
        if not self.queue:
            return None
        return max(0.0, self.queue[0][0] - time.monotonic())


def main():
    file, one, other = sys.argv[1:4]
    late_s = float(sys.argv[4]) / 1000
    jitter_s = min(late_s, float(sys.argv[5]) / 1000) if sys.argv[5:] else 0.0
    taps = [open_tap(one), open_tap(other)]
    directions = {
        taps[0]: Direction(taps[0], taps[1], late_s, jitter_s),
        taps[1]: Direction(taps[1], taps[0], late_s, jitter_s),
    }
    with open(file + ".new", "w", encoding="ascii") as made:
        made.write(f"{os.getpid()}\n")
    os.rename(file + ".new", file)
    while True:
        waits = [w for w in (d.wait_s() for d in directions.values())
                 if w is not None]
        ready, _, _ = select.select(taps, [], [], min(waits, default=None))
        for tap in ready:
            directions[tap].take()
        for direction in directions.values():
            direction.pass_on()


if __name__ == "__main__":
    main()
