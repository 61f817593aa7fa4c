#!/usr/bin/env python3
"""What a viewer of `rayq serve` feels: from a command to the frame that shows it, and frames a second.

usage: live-latency.py URL [COMMANDS]       (URL as `rayq serve` printed it; give the scene many samples: --spp 1000000)
"""
import base64
import json
import os
import socket
import statistics
import struct
import sys
import time


class Viewer:
    """A WebSocket client, as much of one as this needs."""

    def __init__(self, url):
        host, query = url.split("/")[2], url.split("?")[1]
        name, port = host.rsplit(":", 1)
        self.socket = socket.create_connection((name, int(port)), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET /live?{query} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
        self.file = self.socket.makefile("rb")
        if b"101" not in self.file.readline():
            sys.exit("refused: is this the URL that was printed last?")
        while self.file.readline().strip():
            pass

    def say(self, word):
        text, mask = json.dumps(word).encode(), os.urandom(4)
        assert len(text) < 126
        self.socket.sendall(bytes([0x81, 0x80 | len(text)]) + mask + bytes(c ^ mask[i % 4] for i, c in enumerate(text)))

    def frame(self):
        """The next frame's status, and its size in bytes."""
        while True:
            kind, length = self.file.read(2)
            if length == 126:
                length, = struct.unpack(">H", self.file.read(2))
            elif length == 127:
                length, = struct.unpack(">Q", self.file.read(8))
            data = self.file.read(length)
            if kind & 15 == 2:
                self.say("shown")
                end = 4 + struct.unpack("<I", data[:4])[0]
                return json.loads(data[4:end]), length


def summary(frames, seconds):
    median = lambda key: statistics.median(status[key] for status, _ in frames)
    size = statistics.mean(length for _, length in frames) / 1024
    return (f"{len(frames) / seconds:.1f} frames/s of {size:.0f} KiB; medians: slice {median('slice_ms'):.1f} ms, "
            f"picture {median('picture_ms'):.1f} ms, {median('mrays_per_s'):.0f} MRays/s")


def main():
    if len(sys.argv) < 2 or not sys.argv[1].startswith("http://"):
        sys.exit(__doc__)
    viewer, count = Viewer(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100
    for _ in range(5):
        sent = viewer.frame()[0]["commands"]

    frames, times, begin = [], [], time.perf_counter()
    for _ in range(count):
        start = time.perf_counter()
        viewer.say({"do": {"orbit": {"right": 0.01, "up": 0.0}}})
        sent += 1
        while True:
            frames.append(viewer.frame())
            if frames[-1][0]["commands"] >= sent:
                break
        times.append(1e3 * (time.perf_counter() - start))
    print("moving:", summary(frames, time.perf_counter() - begin))
    times.sort()
    print(f"command to frame: median {statistics.median(times):.1f} ms, 90 % within {times[count * 9 // 10]:.1f} ms, "
          f"most {times[-1]:.1f} ms; coarse pictures: {sum(status['coarse'] for status, _ in frames)} of {len(frames)}")

    frames, begin = [], time.perf_counter()
    while time.perf_counter() - begin < 5 and not (frames and frames[-1][0]["finished"]):
        frames.append(viewer.frame())
    print("still: ", summary(frames, time.perf_counter() - begin), f"on {frames[-1][0]['device']}")


main()
