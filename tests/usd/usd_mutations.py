"""Damage for USD files: to their bytes, to the tables inside of binary ones, to the words of texts.

`mutate(data, rng)` gives a damaged copy. Binary files are opened as far as their tables, so that damage reaches what
lies behind the compression: tokens, fields, paths, specs.
"""

import io
import re
import zipfile

from warpsim.usd.crate import _append_block

NUMBERS = [0, 1, 2, 3, 127, 255, 10**4, 2**31 - 1, 2**31, 2**32 - 1, 2**48 - 1, 2**63 - 1, 2**63, 2**64 - 1]
WORDS = [b"nan", b"-inf", b"1e308", b"1e-320", b"0", b"-1", b"2147483648", b"99999999999999999999", b"[]", b"()", b"{}"]
WORDS += [b'""', b"[(0,0,0)]", b"None", b"[0,1,2]", b'"x"', b"</World>", b"</>", b"<../..>", b"@./a.usda@", b"@@"]
WORDS += [b"@http://a/b.usd@", b"1:2", b"true", b'"\xff"', b'"' + b"y" * 300 + b'"']
TYPES = [b"point3f[]", b"int[]", b"float", b"string", b"token[]", b"double3", b"matrix4d", b"asset", b"half"]
PRIMS = [b"Mesh", b"Points", b"PointInstancer", b"Sphere", b"Cube", b"Plane", b"Capsule", b"Xform", b"GeomSubset", b""]
TABLES = {"TOKENS": (16, 1), "FIELDS": (8, 2), "FIELDSETS": (8, 1), "PATHS": (16, 3), "SPECS": (8, 3)}


def mutate(data, rng):
    """A damaged copy of a file, by 1 to 4 wounds."""
    start = bytes(data[:8])
    for _ in range(rng.choice([1, 1, 1, 2, 2, 4])):
        if start == b"PXR-USDC" and rng.random() < 0.75:
            data = rng.choice([crate_table, crate_value, crate_section])(bytes(data), rng)
        elif start.startswith(b"#usda") and rng.random() < 0.9:
            data = rng.choice([text_word, text_word, text_line, text_type])(bytes(data), rng)
        elif start.startswith(b"PK") and rng.random() < 0.7:
            return package(bytes(data), rng)
        else:
            data = some_bytes(bytes(data), rng)
    return data


# ----- bytes ------------------------------------------------------------------------------------


def number(value):
    return (value & 2**64 - 1).to_bytes(8, "little")


def some_bytes(data, rng):
    data, n = bytearray(data), len(data)
    if not n:
        return bytes(rng.randrange(40))
    part = rng.choice([range(n), range(min(n, 300)), range(max(0, n - 900), n)])
    at, size, what = rng.choice(part), rng.randrange(1, 60), rng.randrange(8)
    if what == 0:
        data[at] ^= 1 << rng.randrange(8)
    elif what == 1:
        data[at] = rng.choice(b"\0\xff\x7f\x80\x01 9-({")
    elif what == 2:
        piece = number(rng.choice(NUMBERS))[: rng.choice([1, 2, 4, 8])]
        data[at : at + len(piece)] = piece
    elif what == 3:
        del data[at:]
    elif what == 4:
        del data[at : at + size]
    elif what == 5:
        data[at:at] = rng.choice([rng.randbytes(size), bytes(size), rng.choice(WORDS)])
    elif what == 6:
        other = rng.choice(part)
        data[at : at + size] = data[other : other + size]
    else:
        data[at:at] = data[at : at + 20 * size] * rng.randrange(1, 4)
    return bytes(data)


# ----- binary layers ----------------------------------------------------------------------------


def sections(data):
    """The place of the entry of each section in the table of contents, and where it stands."""
    at = int.from_bytes(data[16:24], "little")
    found = {}
    for k in range(min(int.from_bytes(data[at : at + 8], "little"), 20)):
        entry = at + 8 + 32 * k
        name = data[entry : entry + 16].rstrip(b"\0").decode("ascii", "replace")
        found[name] = (entry, *(int.from_bytes(data[entry + k : entry + k + 8], "little") for k in (16, 24)))
    return found


def literal(data):
    """A block of LZ4 that copies nothing."""
    rest = len(data) - 15
    head = bytes([len(data) << 4]) if rest < 0 else b"\xf0" + b"\xff" * (rest // 255) + bytes([rest % 255])
    return b"\0" + head + data


def plain(packed):
    out = bytearray()
    try:
        _append_block(packed, 1, len(packed), out, 1 << 22)
    except (ValueError, IndexError):
        pass
    return bytes(out)


def crate_table(data, rng):
    """Damage inside of a compressed table, which is packed again and put at the end."""
    found = sections(data)
    name = rng.choice([name for name in TABLES if name in found] or [""])
    if not name:
        return some_bytes(data, rng)
    entry, start, size = found[name]
    head, count = TABLES[name]
    body, at, parts = data[start : start + size], head, []
    for _ in range(count):
        length = int.from_bytes(body[at : at + 8], "little")
        parts.append(body[at + 8 : at + 8 + length])
        at += 8 + length
    k = rng.randrange(len(parts))
    inner = plain(parts[k])
    parts[k] = literal(resized(some_bytes(inner, rng), len(inner), rng))
    made = bytearray(body[:head]) + b"".join(len(part).to_bytes(8, "little") + part for part in parts)
    if rng.random() < 0.2:
        made[:8] = rng.choice(NUMBERS).to_bytes(8, "little")
    return moved(data, entry, bytes(made))


def resized(data, size, rng):
    """As long as before, which most readers insist on, but not always."""
    return data if rng.random() < 0.1 else data[:size] + bytes(max(0, size - len(data)))


def moved(data, entry, section):
    """A file with a section at its end."""
    out = bytearray(data)
    out[entry + 16 : entry + 24] = len(data).to_bytes(8, "little")
    out[entry + 24 : entry + 32] = len(section).to_bytes(8, "little")
    return bytes(out) + section


def crate_value(data, rng):
    """A field whose value is of another type, or stands elsewhere."""
    found = sections(data)
    if "FIELDS" not in found:
        return some_bytes(data, rng)
    entry, start, size = found["FIELDS"]
    body = data[start : start + size]
    names = 16 + int.from_bytes(body[8:16], "little")
    inner = bytearray(plain(body[names + 8 :]))
    fields = len(inner) // 8
    for _ in range(rng.choice([1, 1, 3])) if fields else ():
        at = 8 * rng.randrange(fields)
        value = int.from_bytes(inner[at : at + 8], "little")
        what = rng.randrange(4)
        if what == 0:
            value = value & ~(0xFF << 48) | rng.randrange(64) << 48
        elif what == 1:
            value ^= 1 << rng.choice([61, 62, 63])
        elif what == 2:
            value = value & ~(2**48 - 1) | rng.choice([rng.randrange(len(data)), *NUMBERS]) & 2**48 - 1
        else:
            other = 8 * rng.randrange(fields)
            value = int.from_bytes(inner[other : other + 8], "little")
        inner[at : at + 8] = number(value)
    packed = literal(bytes(inner))
    return moved(data, entry, body[:names] + len(packed).to_bytes(8, "little") + packed)


def crate_section(data, rng):
    """A section that begins or ends elsewhere, or has another name."""
    found = list(sections(data).values())
    if not found:
        return some_bytes(data, rng)
    entry, start, size = rng.choice(found)
    out, what = bytearray(data), rng.randrange(4)
    if what == 0:
        out[entry + 16 : entry + 24] = number(rng.choice([start + 1, start - 8, *NUMBERS]))
    elif what == 1:
        out[entry + 24 : entry + 32] = number(rng.choice([size - 1, size + 1, *NUMBERS]))
    elif what == 2:
        other = rng.choice(found)[0]
        out[entry + 16 : entry + 32] = data[other + 16 : other + 32]
    else:
        out[start : start + 8] = number(rng.choice(NUMBERS))
    return bytes(out)


# ----- texts ------------------------------------------------------------------------------------


def text_word(data, rng):
    """A number, text or path that is another one."""
    places = list(re.finditer(rb'-?[\d.]+(?:e-?\d+)?|"[^"\n]*"|<[^>\n]*>|@[^@\n]*@', data[:200_000]))
    if not places:
        return some_bytes(data, rng)
    place = rng.choice(places)
    return data[: place.start()] + rng.choice(WORDS) + data[place.end() :]


def text_line(data, rng):
    """A line that is missing, comes again, or stands elsewhere."""
    lines = data.split(b"\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    what = rng.randrange(5)
    if what == 0:
        del lines[at]
    elif what == 1:
        lines[at:at] = lines[at : at + rng.randrange(1, 9)] * rng.choice([1, 2, 50])
    elif what == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif what == 3:
        kinds = [(b'def Xform "a" {', b"}"), (b"dictionary a = {", b"}"), (b'variantSet "v" = {\n"a" {', b"}\n}")]
        opened, closed = rng.choice([*kinds, (b"(", b")"), (b"[", b"]"), (b'over "World" {', b"}")])
        levels = rng.choice([1, 30, 3000])
        lines[at:at] = [opened] * levels + [closed] * levels
    else:
        arcs = [b"</World>", b"@./whole.usda@", b"@./damaged.usda@", b"@/etc/hosts@", b"</World/../a>"]
        lines[at:at] = [b'def "more" (prepend references = %s) {' % rng.choice(arcs), b"}"]
    return b"\n".join(lines)


def text_type(data, rng):
    """An attribute or a prim of another type."""
    pattern, known = rng.choice([(rb"\b(?:%s)", TYPES), (rb"(?<=def )(?:%s)\b", PRIMS)])
    places = list(re.finditer(pattern % b"|".join(map(re.escape, filter(None, known))), data[:200_000]))
    if not places:
        return text_word(data, rng)
    place = rng.choice(places)
    return data[: place.start()] + rng.choice(known) + data[place.end() :]


# ----- packages ---------------------------------------------------------------------------------


def package(data, rng):
    """A package whose first layer is damaged, with its bytes where they were."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as found:
            entry = found.infolist()[0]
            inside = found.read(entry)
    except (zipfile.BadZipFile, IndexError, ValueError, OSError, EOFError, NotImplementedError):
        return some_bytes(data, rng)
    at = data.index(inside)
    damaged = mutate(inside, rng)
    if len(damaged) <= len(inside):
        return data[:at] + damaged + inside[len(damaged) :] + data[at + len(inside) :]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as made:
        info = zipfile.ZipInfo(entry.filename)
        info.extra = _aligned(entry.filename)
        made.writestr(info, damaged)
    return out.getvalue()


def _aligned(name):
    """An extra field with which what follows begins at a multiple of 64 bytes."""
    room = (-(30 + len(name) + 4)) % 64
    return b"\x86\x19" + room.to_bytes(2, "little") + bytes(room)
