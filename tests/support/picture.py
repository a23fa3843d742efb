"""Whether PNG files are whole, and nothing in them is cut off: no dot at their
border has another color than the corner. Arguments: files, of 8 bits and without
interlacing, as gnuplot writes them."""

import sys
import zlib


def chunks(data):
    at = 8
    while at < len(data):
        end = at + 8 + int.from_bytes(data[at:at + 4], "big")
        if zlib.crc32(data[at + 4:end]) != int.from_bytes(data[end:end + 4],
                                                          "big"):
            raise ValueError("a chunk is damaged")
        yield data[at + 4:at + 8], data[at + 8:end]
        at = end + 4


def paeth(left, up, corner):
    return min((abs(up - corner), 0, left), (abs(left - corner), 1, up),
               (abs(left + up - 2 * corner), 2, corner))[2]


FILTERS = (lambda *_: 0, lambda left, *_: left, lambda _, up, *__: up,
           lambda left, up, _: (left + up) // 2, paeth)


def lines_of(content, width, dot):
    """Lines of a picture, each as bytes (PNG, section 9)."""
    before = bytes(width * dot)
    for at in range(0, len(content), width * dot + 1):
        line = bytearray(content[at + 1:at + 1 + width * dot])
        for i, value in enumerate(line):
            left = line[i - dot] if i >= dot else 0
            corner = before[i - dot] if i >= dot else 0
            line[i] = (value + FILTERS[content[at]](left, before[i],
                                                    corner)) & 255
        yield bytes(line)
        before = line


def check(path):
    with open(path, "rb") as file:
        parts = list(chunks(file.read()))
    if [kind for kind, _ in parts][-1] != b"IEND":
        raise ValueError("it has no end")
    head = dict(parts)[b"IHDR"]
    width, dot = int.from_bytes(head[:4], "big"), {2: 3, 6: 4}[head[9]]
    lines = list(lines_of(zlib.decompress(b"".join(
        part for kind, part in parts if kind == b"IDAT")), width, dot))
    ground = lines[0][:dot]
    for name, border in (("upper", lines[0]), ("lower", lines[-1]),
                         ("left", b"".join(line[:dot] for line in lines)),
                         ("right", b"".join(line[-dot:] for line in lines))):
        if border != ground * (len(border) // dot):
            raise ValueError(f"something is cut off at the {name} border")


for file_name in sys.argv[1:]:
    try:
        check(file_name)
    except ValueError as why:
        sys.exit(f"{file_name}: {why}")
