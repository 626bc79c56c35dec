"""OSWorld's metrics by their names; a metric's module is imported when it is first used."""

from __future__ import annotations

import functools
import importlib
import inspect
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from rla_envs.errors import InfrastructureError, InputError, missing_extra, unknown_name
from rla_envs.osworld.metrics.inputs import RejectedExpected, RejectedResult

_RESULT = frozenset({"result"})


@dataclass(frozen=True)
class MetricSpec:
    """One metric of OSWorld; call it to score a result.

    Attributes:
        name: OSWorld's name of it.
        module: The module of this folder that defines it.
        takes_expected: Whether it compares with something: a reference file or rules.
        needs_expected: Whether it cannot do without that.
    """

    name: str
    module: str
    takes_expected: bool = True
    needs_expected: bool = True

    def __call__(self, result: Any, expected: Any = None, /, **options: Any) -> float:
        """Score a result of the agent against the task's own reference; see `score`."""
        return self.score(result, expected, options)

    def score(
        self,
        result: Any,
        expected: Any = None,
        options: Mapping[str, Any] | None = None,
        *,
        from_desktop: Collection[str] = _RESULT,
    ) -> float:
        """Return the score, in [0, 1].

        Args:
            result: What the task's result getter gave: a local path, text, a JSON value, or None.
            expected: What its expected getter gave, or its rules.
            options: The evaluator's options; names that start with ``_`` are comments.
            from_desktop: Which of ``"result"`` and ``"expected"`` came from the agent's desktop. What did
                scores 0 where it is missing or unreadable; what did not is our fault then. Some task files
                name the agent's file as ``expected``, or both files.

        Raises:
            InputError: The options, the rules or a reference cannot be used.
            InfrastructureError: This machine failed to read a file.
            MissingExtraError: The packages the metric needs are not installed.
        """
        chosen = {name: value for name, value in (options or {}).items() if not name.startswith("_")}
        self.check_options(chosen)
        if self.needs_expected and expected is None:
            if "expected" in from_desktop:
                return 0.0
            raise InputError(f"metric {self.name!r} needs 'expected'; add it to the task's evaluator")
        compared = (result, expected) if self.takes_expected else (result,)
        try:
            score = float(self._function(*compared, **chosen))
        except RejectedResult as rejected:
            if "result" in from_desktop:
                return 0.0
            raise InputError(f"metric {self.name!r}: {rejected}") from rejected
        except RejectedExpected:
            if "expected" in from_desktop:
                return 0.0
            raise
        if not math.isfinite(score):
            raise InfrastructureError(f"metric {self.name!r} gave {score}, which is no score")
        return min(max(score, 0.0), 1.0)

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Check an evaluator's options.

        Raises:
            InputError: One is unknown, or one that is needed is missing.
            MissingExtraError: See `load`.
        """
        parameters = inspect.signature(self._function).parameters.values()
        known = {
            parameter.name: parameter for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY
        }
        further = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
        for name in options:
            if name not in known and not further and not name.startswith("_"):
                raise unknown_name(f"option of the metric {self.name}", name, known)
        for name, parameter in known.items():
            if parameter.default is parameter.empty and name not in options:
                raise InputError(
                    f"metric {self.name!r} needs the option {name!r}; add it to the task's evaluator"
                )

    def load(self) -> None:
        """Import what the metric needs.

        Raises:
            MissingExtraError: Packages of the ``osworld`` extra are missing.
        """
        _ = self._function

    @property
    def _function(self) -> Callable[..., float]:
        return _load(self.module, self.name)


@functools.cache
def _load(module: str, name: str) -> Callable[..., float]:
    try:
        loaded = importlib.import_module(f"rla_envs.osworld.metrics.{module}")
    except ImportError as error:
        raise missing_extra(f"the OSWorld metric {name!r}", "osworld", error) from error
    function: Callable[..., float] = getattr(loaded, name)
    return function


# Metrics that compare with a reference file or with rules, by the module that defines them.
_COMPARING = {
    "archives": "compare_archive compare_epub compare_zip_files",
    "browser": (
        "is_expected_active_tab is_expected_active_tab_approximate is_expected_bookmarks "
        "is_expected_installed_extensions is_expected_search_query is_expected_tabs "
        "is_expected_url_pattern_match"
    ),
    "documents": (
        "compare_docx_files compare_docx_files_and_ignore_new_lines compare_docx_images compare_docx_lines "
        "compare_docx_tables compare_init_lines compare_references compare_unique_train_records "
        "fuzzy_place_math"
    ),
    "document_format": (
        "check_highlighted_words check_italic_font_size_14 check_tabstops compare_contains_image "
        "compare_font_names compare_line_spacing compare_subscript_contains contains_page_break "
        "evaluate_colored_words_in_tables evaluate_strike_through_last_paragraph"
    ),
    "general": (
        "check_direct_json_object check_gnome_favorite_apps check_include_exclude check_moved_jpgs "
        "compare_answer exact_match fuzzy_match is_extension_installed is_in_list is_in_vm_clickboard "
        "literal_match match_in_list"
    ),
    "image_checks": (
        "check_brightness_decrease_and_structure_sim check_contrast_increase_and_structure_sim "
        "check_file_exists_and_structure_sim check_green_background check_image_file_size check_image_mirror "
        "check_image_size check_palette_and_structure_sim check_saturation_increase_and_structure_sim "
        "check_structure_sim check_structure_sim_resized compare_image_list compare_images"
    ),
    "mail": "check_thunderbird_filter check_thunderbird_folder check_thunderbird_prefs",
    "pages": "check_accessibility_tree compare_htmls",
    "pdfs": "check_pdf_pages compare_pdfs",
    "settings": "check_auto_saving_time check_config_status find_default_font",
    "slides": (
        "check_image_stretch_and_center check_page_number_colors check_transition compare_pptx_files "
        "evaluate_presentation_fill_to_rgb_distance"
    ),
    "table": "compare_conference_city_in_order compare_csv",
    "texts": (
        "check_csv check_json check_json_keybindings check_json_settings check_line_number check_list "
        "compare_config compare_python_pure_text compare_result_files compare_text_file diff_text_file "
        "file_contains"
    ),
}
# Metrics that look at the result alone.
_ALONE = {
    "document_format": "has_page_numbers_in_footers is_first_line_centered",
    "general": "check_text_enlarged infeasible is_utc_0",
    "image_checks": "check_textbox_on_leftside check_triangle_position",
    "pages": "check_left_panel",
    "settings": "check_presenter_console_disable",
    "slides": "check_slide_orientation_Portrait",
}


def _specs() -> dict[str, MetricSpec]:
    comparing = [MetricSpec(name, module) for module, names in _COMPARING.items() for name in names.split()]
    alone = [
        MetricSpec(name, module, takes_expected=False, needs_expected=False)
        for module, names in _ALONE.items()
        for name in names.split()
    ]
    # Some of its rules look at the result alone.
    table = MetricSpec("compare_table", "table", needs_expected=False)
    return {spec.name: spec for spec in sorted([*comparing, *alone, table], key=lambda spec: spec.name)}


METRICS: Mapping[str, MetricSpec] = MappingProxyType(_specs())
"""Every metric this package knows, by OSWorld's name."""
