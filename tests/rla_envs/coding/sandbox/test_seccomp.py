"""The filter allows what its table says and nothing else, on both kinds of machine."""

import errno
import functools
import re
import struct
from pathlib import Path

import pytest

from rla_envs.coding.sandbox import seccomp
from rla_envs.errors import InfrastructureError

ALLOW, REFUSE, NOT_THERE, KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS, 0x80000000
MACHINES = list(seccomp.ARCHITECTURES)


@functools.cache
def instructions(machine):
    return list(struct.iter_unpack("<HBBI", seccomp.build_filter(machine)))


def verdict(machine, number, *arguments, arch=None):
    """Run the filter as the kernel does."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<iIQ6Q", number, arch or seccomp.ARCHITECTURES[machine], 0, *padded)
    program = instructions(machine)
    accumulator = place = 0
    while True:
        code, then, otherwise, value = program[place]
        place += 1
        if code == 0x06:
            return value
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif code == 0x54:
            accumulator &= value
        else:
            holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}
            place += then if holds[code] else otherwise


def numbers(machine):
    """Return numbers and names of system calls, from libseccomp."""
    try:
        import pyseccomp
    except (ImportError, RuntimeError, OSError) as error:
        pytest.skip(f"libseccomp is not there to compare with: {error}")
    arch = {"x86_64": pyseccomp.Arch.X86_64, "aarch64": pyseccomp.Arch.AARCH64}[machine]
    return pyseccomp, arch


@pytest.mark.parametrize("machine", MACHINES)
def test_numbers_are_those_of_the_machine(machine):
    pyseccomp, arch = numbers(machine)
    column = MACHINES.index(machine)
    tables = [seccomp._ALLOWED, seccomp._MISSING]
    tables.append({name: checks[0].numbers for name, checks in seccomp._SPECIAL.items()})
    for name, pair in [item for table in tables for item in table.items()]:
        known = pyseccomp.resolve_syscall(arch, name)
        assert pair[column] == (known if known >= 0 else None), name


@pytest.mark.parametrize("machine", MACHINES)
def test_every_number_is_allowed_exactly_if_the_table_names_it(machine):
    column = MACHINES.index(machine)
    allowed = {pair[column] for pair in seccomp._ALLOWED.values()} - {None}
    special = {checks[0].numbers[column] for checks in seccomp._SPECIAL.values()} | {435}
    for number in {*range(600), 1000, 5000, 2**30 + 39, 2**31 - 1} - special:
        assert verdict(machine, number) == (ALLOW if number in allowed else REFUSE), number


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_that_depend_on_their_arguments(machine):
    call = {name: checks[0].numbers[MACHINES.index(machine)] for name, checks in seccomp._SPECIAL.items()}
    own = seccomp.OWN_PID
    expected = {
        ("clone", 0x3D0F00): ALLOW,  # the flags of a POSIX thread
        ("clone", 17): REFUSE,
        ("clone", 0x10000000): REFUSE,
        ("tgkill", own, own, 6): ALLOW,
        ("tgkill", 1, 1, 6): REFUSE,
        ("prlimit64", 0): ALLOW,
        ("prlimit64", own): ALLOW,
        ("prlimit64", 2): REFUSE,
        ("ioctl", 1, 0x5401): ALLOW,
        ("ioctl", 1, 0x5412): REFUSE,  # TIOCSTI
        ("ioctl", 1, 0x541C): REFUSE,  # TIOCLINUX
        ("socketpair", 1, 1): ALLOW,
        ("socketpair", 1, 1 | 0o2004000): ALLOW,
        ("socketpair", 1, 2): REFUSE,
        ("socketpair", 2, 1): REFUSE,
    }
    for (name, *arguments), wanted in expected.items():
        assert verdict(machine, call[name], *arguments) == wanted, (name, arguments)
    assert verdict(machine, 435) == NOT_THERE


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_of_another_architecture_end_the_process(machine):
    for arch in {0x40000003, 0x40000028, *seccomp.ARCHITECTURES.values()} - {seccomp.ARCHITECTURES[machine]}:
        assert verdict(machine, 1, arch=arch) == KILL


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_fits_the_kernel_and_holds_the_stand_in_for_the_own_pid(machine):
    program = seccomp.build_filter(machine)
    assert len(program) // 8 <= 4096
    places = [m.start() for m in re.finditer(re.escape(struct.pack("<I", seccomp.OWN_PID)), program)]
    assert len(places) == 2
    assert all(place % 8 == 4 for place in places)


def test_a_machine_without_a_filter_is_refused():
    with pytest.raises(InfrastructureError, match="expected a machine of x86_64 or aarch64, got riscv64"):
        seccomp.build_filter("riscv64")


def test_numbers_of_x86_64_are_those_of_the_kernels_own_headers():
    header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if not header.exists():
        pytest.skip("the kernel's headers are not installed")
    known = dict(re.findall(r"#define __NR_(\w+) (\d+)", header.read_text()))
    for name, number in seccomp.allowed_calls("x86_64").items():
        assert number == int(known.get(name, number)), name
