"""The families there are, by name."""

from __future__ import annotations

from rla_envs.errors import unknown_name
from rla_envs.osworld.families.base import Family
from rla_envs.osworld.families.calc import CalcCells
from rla_envs.osworld.families.calc_tables import CalcBold, CalcSheets, CalcSort, CalcTotals
from rla_envs.osworld.families.chains import NotesToSheet, SheetToLetter, SheetToNotes
from rla_envs.osworld.families.folders import FilesMove, FilesRename
from rla_envs.osworld.families.impress import ImpressSlides, ImpressTitles
from rla_envs.osworld.families.settings import SettingsEditor, SettingsResources
from rla_envs.osworld.families.terminal import TerminalOutput, TerminalPermissions
from rla_envs.osworld.families.text import TextAppend, TextLines
from rla_envs.osworld.families.writer import WriterHeadings, WriterReplace, WriterTable

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        CalcCells(),
        CalcTotals(),
        CalcSort(),
        CalcSheets(),
        CalcBold(),
        WriterReplace(),
        WriterHeadings(),
        WriterTable(),
        ImpressTitles(),
        ImpressSlides(),
        FilesRename(),
        FilesMove(),
        TextLines(),
        TextAppend(),
        TerminalOutput(),
        TerminalPermissions(),
        SettingsEditor(),
        SettingsResources(),
        NotesToSheet(),
        SheetToLetter(),
        SheetToNotes(),
    )
}
"""Every family, by its name, in a fixed order."""


def families() -> list[str]:
    """Return the names of the families of generated tasks, in a fixed order."""
    return list(FAMILIES)


def find_family(name: object) -> Family:
    """Return the family of a name.

    Raises:
        UnknownNameError: If there is none; suggests the closest one.
    """
    if not isinstance(name, str) or name not in FAMILIES:
        raise unknown_name("family of desktop tasks", str(name)[:80], FAMILIES)
    return FAMILIES[name]
