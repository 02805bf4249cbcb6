# SPDX-License-Identifier: GPL-2.0-only
"""Generic netlink for the tests: messages in wire format, the decoded extended
acknowledgement, attributes by the specification (spec.json, made by tables.py),
and TAP. It uses only Python's standard library and no YAML, so it starts quickly
even in an emulated machine."""
import errno
import json
import os
import socket
import struct
import sys
import time

NLMSG_ERROR, NLMSG_DONE, NLMSG_OVERRUN = 2, 3, 4
F_REQUEST, F_MULTI, F_ACK, F_DUMP_INTR, F_DUMP = 1, 2, 4, 0x10, 0x300
F_ACK_TLVS = 0x200
GENL_ID_CTRL = 16
CTRL_GETFAMILY, CTRL_GETPOLICY = 3, 10
NLA_F_NESTED, NLA_TYPE_MASK = 0x8000, 0x3FFF
SO_RCVBUFFORCE = 33
SOL_NETLINK, ADD_MEMBERSHIP, CAP_ACK, EXT_ACK, GET_STRICT_CHK = 270, 1, 10, 11, 12
SCALARS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "s32": "i", "s64": "q"}


def attr(number, payload=b"", length=None):
    """An attribute; length= overrides its length."""
    if length is None:
        length = 4 + len(payload)
    return struct.pack("HH", length, number) + payload + bytes(-len(payload) % 4)


def attrs(data):
    """(type, payload, offset) of each; raises ValueError if one is not well formed."""
    at = 0
    while at < len(data):
        if len(data) - at < 4:
            raise ValueError(f"{len(data) - at} bytes behind the last attribute")
        length, number = struct.unpack_from("HH", data, at)
        if length < 4 or at + length > len(data):
            raise ValueError(f"attribute {number & NLA_TYPE_MASK} says {length} bytes")
        yield number & NLA_TYPE_MASK, data[at + 4 : at + length], at
        at += (length + 3) & ~3


class Spec:
    """The specification, and attributes by it."""

    def __init__(self, path=None):
        path = path or os.environ.get("DK_SPEC") or "spec.json"
        with open(path, encoding="utf-8") as stream:
            self.__dict__.update(json.load(stream))
        self.by_number = {
            name: {a["value"]: (key, a) for key, a in known.items()}
            for name, known in self.sets.items()
        }

    def number(self, space, name):
        return self.sets[space][name]["value"]

    def encode(self, space, values):
        """values: {name: value}; a list stands for several, bytes for the payload."""
        return b"".join(
            self.encode_one(self.sets[space][name], one)
            for name, value in values.items()
            for one in (value if isinstance(value, list) else [value])
        )

    def encode_one(self, known, value):
        number, kind = known["value"], known["type"]
        if isinstance(value, bytes):
            return attr(number, value)
        if kind == "nest":
            return attr(number | NLA_F_NESTED, self.encode(known["nested"], value))
        if kind == "flag":
            return attr(number) if value else b""
        if kind == "string":
            return attr(number, value.encode() + b"\0")
        return attr(number, struct.pack(SCALARS[kind], value))

    def decode(self, space, data):
        """Raises ValueError if a reply does not follow the specification."""
        out = {}
        for number, payload, _ in attrs(data):
            if number not in self.by_number[space]:
                raise ValueError(f"{space} has no attribute {number}")
            name, known = self.by_number[space][number]
            if known["type"] == "pad":
                continue
            value = self.decode_one(name, known, payload)
            if known["multi"]:
                out.setdefault(name, []).append(value)
            elif name in out:
                raise ValueError(f"{space}.{name} is there twice")
            else:
                out[name] = value
        return out

    def decode_one(self, name, known, payload):
        kind = known["type"]
        if kind == "nest":
            return self.decode(known["nested"], payload)
        if kind == "flag":
            if payload:
                raise ValueError(f"flag {name} has a payload")
            return True
        if kind == "string":
            if payload.find(b"\0") != len(payload) - 1:
                raise ValueError(f"string {name} does not end in a NUL: {payload!r}")
            return payload[:-1].decode()
        if len(payload) != struct.calcsize(SCALARS[kind]):
            raise ValueError(f"{kind} {name} has {len(payload)} bytes")
        value = struct.unpack(SCALARS[kind], payload)[0]
        return self.enumerated(name, known["enum"], value) if known["enum"] else value

    def enumerated(self, name, enum, value):
        entries = self.enums[enum]["entries"]
        if self.enums[enum]["flags"]:
            if value >> len(entries):
                raise ValueError(f"{name} has unknown flags: {value:#x}")
            return {e for i, e in enumerate(entries) if value >> i & 1}
        if value >= len(entries):
            raise ValueError(f"{name} has no value {value}")
        return entries[value]


class Answer:
    """error: 0 or a negative errno; text, offset (in the request), missing (type):
    of the extended acknowledgement; messages: (command, attributes' bytes);
    interrupted: whether one of them says that the dump was."""

    def __init__(self):
        self.error, self.text, self.offset, self.missing = None, None, None, None
        self.messages, self.interrupted, self.reads = [], False, 0

    def extended(self, data):
        for number, payload, _ in attrs(data):
            if number == 1:
                self.text = payload.rstrip(b"\0").decode()
            elif number == 2:
                self.offset = struct.unpack("I", payload)[0]
            elif number == 5:
                self.missing = struct.unpack("I", payload)[0]

    def errno(self):
        return errno.errorcode.get(-self.error, str(self.error)) if self.error else "0"

    def __str__(self):
        where = "" if self.offset is None else f" at {self.offset}"
        missing = "" if self.missing is None else f" missing {self.missing}"
        return f"{self.errno()}{where}{missing}, {self.text!r}, {len(self.messages)} messages"


def messages(data):
    """(type, flags, seq, payload) of each."""
    at = 0
    while at < len(data):
        length, kind, flags, seq, _ = struct.unpack_from("IHHII", data, at)
        if length < 16 or at + length > len(data):
            raise ValueError(f"a message says {length} bytes")
        yield kind, flags, seq, data[at + 16 : at + length]
        at += (length + 3) & ~3


class Socket:
    def __init__(self, size=65536, rcvbuf=None):
        self.size, self.seq = size, 0
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
        for option in (CAP_ACK, EXT_ACK, GET_STRICT_CHK):
            self.sock.setsockopt(SOL_NETLINK, option, 1)
        if rcvbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, rcvbuf)
        self.sock.bind((0, 0))

    def close(self):
        self.sock.close()

    def send(self, family, cmd, payload=b"", flags=F_REQUEST | F_ACK, version=1, reserved=0):
        self.seq += 1
        body = struct.pack("BBH", cmd, version, reserved) + payload
        self.sock.send(struct.pack("IHHII", 16 + len(body), family, flags, self.seq, 0) + body)
        return self.seq

    def ask(self, family, cmd, payload=b"", dump=False, flags=None, **more):
        """A request and all of its answer."""
        if flags is None:
            flags = F_REQUEST | (F_DUMP if dump else F_ACK)
        return self.hear(self.send(family, cmd, payload, flags, **more))

    def hear(self, seq):
        answer = Answer()
        while answer.error is None:
            data, _, how, _ = self.sock.recvmsg(self.size)
            answer.reads += 1
            if how & socket.MSG_TRUNC:
                raise ValueError(f"a message does not fit into {self.size} bytes")
            for kind, flags, number, payload in messages(data):
                if number == seq:
                    self.take(answer, kind, flags, payload)
        return answer

    @staticmethod
    def take(answer, kind, flags, payload):
        if flags & F_DUMP_INTR:
            answer.interrupted = True
        if kind in (NLMSG_ERROR, NLMSG_DONE):
            answer.error = struct.unpack_from("i", payload)[0]
            if flags & F_ACK_TLVS:
                # After an acknowledgement comes the header of the request; the rest is cut
                # off.
                answer.extended(payload[20 if kind == NLMSG_ERROR else 4 :])
        elif kind >= GENL_ID_CTRL:
            answer.messages.append((payload[0], payload[4:]))

    def join(self, group):
        self.sock.setsockopt(SOL_NETLINK, ADD_MEMBERSHIP, group)


def find_family(name):
    """(number, {group: number}, the answer's attributes); raises OSError."""
    sock = Socket()
    answer = sock.ask(GENL_ID_CTRL, CTRL_GETFAMILY, attr(2, name.encode() + b"\0"))
    sock.close()
    if answer.error:
        raise OSError(-answer.error, os.strerror(-answer.error))
    found = {number: payload for number, payload, _ in attrs(answer.messages[0][1])}
    groups = {}
    for _, entry, _ in attrs(found.get(7, b"")):
        one = {number: payload for number, payload, _ in attrs(entry)}
        groups[one[1].rstrip(b"\0").decode()] = struct.unpack("I", one[2])[0]
    return struct.unpack("H", found[1])[0], groups, found


class Family:
    """The family by the specification. Replies that do not follow it raise ValueError."""

    def __init__(self, size=65536, rcvbuf=None, spec=None):
        self.spec = spec or Spec()
        self.number, self.groups, self.told = find_family(self.spec.family)
        self.sock = Socket(size, rcvbuf)

    def again(self, size=65536, rcvbuf=None):
        """The same on a separate socket."""
        other = Family.__new__(Family)
        other.__dict__.update(self.__dict__)
        other.sock = Socket(size, rcvbuf)
        return other

    def raw(self, name, payload=b"", dump=False, **more):
        return self.sock.ask(self.number, self.spec.commands[name]["value"], payload, dump, **more)

    def ask(self, name, values=None, dump=False):
        """The reply, with decoded: a dict for each message."""
        cmd = self.spec.commands[name]
        answer = self.raw(name, self.spec.encode(cmd["set"], values or {}), dump)
        answer.decoded = [self.spec.decode(cmd["set"], data) for _, data in answer.messages]
        allowed = set(cmd["dumped" if dump else "reply"])
        for one in answer.decoded:
            if set(one) - allowed:
                raise ValueError(f"{name} tells {sorted(set(one) - allowed)}")
        return answer

    def do(self, name, values=None):
        answer = self.ask(name, values)
        if answer.error:
            raise OSError(-answer.error, f"{name} {values}: {answer}")
        return answer.decoded[0] if answer.decoded else None

    def dump(self, name, values=None):
        answer = self.ask(name, values, dump=True)
        if answer.error:
            raise OSError(-answer.error, f"dump of {name} {values}: {answer}")
        return answer.decoded

    def whole(self, name, values=None, tries=50):
        """A dump that was not interrupted."""
        for _ in range(tries):
            answer = self.ask(name, values, dump=True)
            if answer.error:
                raise OSError(-answer.error, f"dump of {name} {values}: {answer}")
            if not answer.interrupted:
                return answer.decoded
        raise OSError(errno.EINTR, f"dump of {name}: {tries} times interrupted")


class Listener:
    """A socket that is subscribed to a group."""

    def __init__(self, family, group="changes", rcvbuf=None):
        self.spec, self.sock = family.spec, Socket(rcvbuf=rcvbuf)
        self.sock.join(family.groups[group])
        self.overruns = 0

    def events(self, seconds=0.5):
        """The notifications until none has come for this long."""
        out = []
        self.sock.sock.settimeout(seconds)
        while True:
            try:
                data = self.sock.sock.recv(65536)
            except socket.timeout:
                return out
            except OSError as err:
                if err.errno != errno.ENOBUFS:
                    raise
                self.overruns += 1
                continue
            for _, _, _, payload in messages(data):
                out.append(self.spec.decode("event", payload[4:]))

    def until(self, enough, seconds=30):
        """The notifications until enough(events), or until none has come for this long."""
        out, end = [], time.monotonic() + seconds
        while not enough(out) and time.monotonic() < end:
            out += self.events(0.3)
        return out


class Tap:
    def __init__(self):
        self.count = self.failed = 0
        print("TAP version 13", flush=True)

    def ok(self, what, good, why=""):
        self.count += 1
        self.failed += not good
        print(f"{'' if good else 'not '}ok {self.count} - {what}")
        if not good and why != "":
            self.diag(why)
        sys.stdout.flush()
        return good

    def equal(self, what, expected, got):
        return self.ok(what, expected == got, f"expected {expected!r}\ngot {got!r}")

    def attempt(self, what, act, *args):
        """A test that passes if act does not raise; act's value, or None."""
        try:
            value = act(*args)
        except (OSError, ValueError, KeyError, IndexError) as err:
            self.ok(what, False, f"{type(err).__name__}: {err}")
            return None
        self.ok(what, True)
        return value

    @staticmethod
    def diag(text):
        print("# " + str(text).replace("\n", "\n# "), flush=True)

    def finish(self):
        print(f"1..{self.count}", flush=True)
        sys.exit(1 if self.failed else 0)
