"""Calls each method of the service in src/main.rs with the client of gRPC's own makers: client.py ADDRESS

The messages are so few that they are written and read here: no generator is needed.
"""

import sys
import threading

import grpc


def varint(number):
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def text(words, pause=None):
    """A Text, or with milliseconds a Recital."""
    data = words.encode()
    out = b"\x0a" + varint(len(data)) + data
    return out if pause is None else out + b"\x10" + varint(pause)


def fields(message):
    """The fields of a message by their tag."""
    place, found = 0, {}

    def number():
        nonlocal place
        value = shift = 0
        while True:
            byte = message[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while place < len(message):
        key = number()
        value = number()
        if key & 7 == 2:
            value, place = message[place : place + value], place + value
        found[key >> 3] = value
    return found


def total(message):
    found = fields(message)
    return found.get(1, 0), found.get(2, 0)


def word(message):
    return fields(message)[1].decode()


def same(what, wanted, got):
    if wanted != got:
        sys.exit(f"{what}: not {wanted!r}, but {got!r}")


def code_of(call):
    try:
        call()
    except grpc.RpcError as error:
        return error.code()
    return None


def tallies(tally, failures):
    """A stream in which each text waits for the answer to the one before."""
    answered = threading.Semaphore(1)

    def texts():
        for _ in range(20):
            answered.acquire()
            yield text("two words")

    try:
        counted = []
        for answer in tally(texts(), timeout=60):
            counted.append(total(answer))
            answered.release()
        same("tally", [(2 * n, 9 * n) for n in range(1, 21)], counted)
    except BaseException as error:
        failures.append(error)


def main(address):
    with grpc.insecure_channel(address) as channel:
        count = channel.unary_unary("/words.Words/Count")
        split = channel.unary_stream("/words.Words/Split")
        tally = channel.stream_stream("/words.Words/Tally")

        same("count", (3, 14), total(count(text("n\u00e4h one two  "), timeout=60)))
        large = "x " * 1_000_000
        same("a large text", (1_000_000, 2_000_000), total(count(text(large), timeout=60)))
        words = [word(answer) for answer in split(text("one after the other", 1), timeout=60)]
        same("split", ["one", "after", "the", "other"], words)

        empty = code_of(lambda: list(split(text("  ", 0), timeout=60)))
        same("no words", grpc.StatusCode.INVALID_ARGUMENT, empty)
        late = code_of(lambda: list(split(text("never", 600_000), timeout=0.2)))
        same("a deadline", grpc.StatusCode.DEADLINE_EXCEEDED, late)
        missing = channel.unary_unary("/words.Words/Nothing")
        same("no method", grpc.StatusCode.UNIMPLEMENTED, code_of(lambda: missing(b"", timeout=60)))

        # A client that leaves in the middle.
        stream = split(text("word " * 10_000, 1), timeout=60)
        same("a first word", "word", word(next(stream)))
        stream.cancel()

        failures = []
        threads = [threading.Thread(target=tallies, args=(tally, failures)) for _ in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            sys.exit(f"{len(failures)} streams: {failures[0]!r}")
    print("grpcio", grpc.__version__, "is content")


main(sys.argv[1])
