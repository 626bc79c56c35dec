"""OSWorld's setup steps and getters, with the parameters each takes.

The names and parameters are those of OSWorld's task files (Xie et al.,
arXiv 2404.07972; ``desktop_env`` 1.0.2).
"""

from __future__ import annotations

from collections.abc import Mapping

from rla_envs.osworld.tasks import fields as f
from rla_envs.osworld.tasks.fields import Form, form

_COMMAND = form({"command": f.command}, shell=f.flag, stdout=f.relative_name, stderr=f.relative_name)
_WINDOW = form({"window_name": f.text}, strict=f.flag, by_class=f.flag)

SETUP_STEPS: Mapping[str, Form] = {
    "download": form({"files": f.records(url=f.url, path=f.text)}),
    "upload_file": form({"files": f.records(local_path=f.relative_name, path=f.text)}),
    "launch": form({"command": f.command}, shell=f.flag),
    "open": form({"path": f.text}),
    "execute": _COMMAND,
    "command": _COMMAND,
    "sleep": form({"seconds": f.seconds}),
    "activate_window": _WINDOW,
    "close_window": _WINDOW,
    "change_wallpaper": form({"path": f.text}),
    "chrome_open_tabs": form({"urls_to_open": f.texts}),
    "chrome_close_tabs": form({"urls_to_close": f.texts}),
    "update_browse_history": form({"history": f.anything}),
    "googledrive": form({"settings_file": f.text, "operation": f.texts, "args": f.anything}),
    "login": form({"settings_file": f.text, "platform": f.text}),
}
"""The kinds of setup step; the last five are read, but a task with one of them is not runnable."""

_FILES = form({"path": f.one_or_more_texts, "dest": f.relative_names}, multi=f.flag, gives=f.indices)
_SLIDE = form({"ppt_file_path": f.text, "slide_index": f.index, "dest": f.relative_name})
_NOTHING = form()

GETTERS: Mapping[str, Form] = {
    "accessibility_tree": _NOTHING,
    "audio_in_slide": _SLIDE,
    "background_image_in_slide": _SLIDE,
    "cache_file": form({"path": f.relative_name}),
    "cloud_file": form({"path": f.urls, "dest": f.relative_names}, multi=f.flag, gives=f.indices),
    "content_from_vm_file": form({"path": f.text, "file_type": f.text, "file_content": f.text}),
    "default_video_player": _NOTHING,
    "gimp_config_file": form({"file_name": f.relative_name, "dest": f.relative_name}),
    "list_directory": form({"path": f.text}),
    "rule": form({"rules": f.anything}),
    "vm_command_error": form({"command": f.command}, shell=f.flag),
    "vm_command_line": form({"command": f.command}, shell=f.flag),
    "vm_file": _FILES,
    "vm_screen_size": _NOTHING,
    "vm_terminal_output": _NOTHING,
    "vm_wallpaper": form({"dest": f.relative_name}),
    "vm_window_size": form({"app_class_name": f.text}),
    "vscode_config": form({"vscode_extension_command": f.text, "path": f.text, "dest": f.relative_name}),
}
"""The getters that :func:`rla_envs.osworld.tasks.evaluate` carries out."""

WEB_GETTERS = frozenset(
    {
        "active_tab_html_parse",
        "active_tab_info",
        "active_tab_url_parse",
        "active_url_from_accessTree",
        "googledrive_file",
        "gotoRecreationPage_and_get_html_content",
        "info_from_website",
        "macys_product_url_parse",
        "number_of_search_results",
        "open_tabs_info",
        "page_info",
        "pdf_from_url",
        "rule_relativeTime",
        "time_diff_range",
        "url_dashPart",
        "url_path_parse",
    }
)
"""Getters of pages on the live web, and of what such a page should say today: they need the network."""

GETTERS_NOT_OFFERED = frozenset(
    {
        "bookmarks",
        "chrome_font_size",
        "chrome_language",
        "cookie_data",
        "data_delete_automacally",
        "default_search_engine",
        "enable_do_not_track",
        "enable_enhanced_safety_browsing",
        "enable_safe_browsing",
        "enabled_experiments",
        "find_installed_extension_name",
        "find_unpacked_extension_path",
        "history",
        "new_startup_page",
        "profile_name",
        "shortcuts_on_desktop",
        "vlc_config",
        "vlc_playing_info",
    }
)
"""Getters of Chrome's profile and of VLC: such a task loads, but is not runnable."""

METRICS_NOT_OFFERED = frozenset(
    {
        "check_enabled_experiments",
        "check_font_size",
        "check_global_key_play_pause",
        "check_history_deleted",
        "check_mp3_meta",
        "check_one_instance_when_started_from_file",
        "check_python_file_by_test_suite",
        "check_qt_bgcone",
        "check_qt_max_volume",
        "check_qt_minimal_view",
        "check_qt_slider_colours",
        "compare_audios",
        "compare_image_text",
        "compare_pdf_images",
        "compare_videos",
        "is_added_to_steam_cart",
        "is_cookie_deleted",
        "is_shortcut_on_desktop",
        "is_vlc_fullscreen",
        "is_vlc_playing",
        "is_vlc_recordings_folder",
        "run_sqlite3",
    }
)
"""Metrics that OSWorld's task files use and this package lacks: such a task loads, but is not runnable.

They look at Chrome's profile, at VLC, sound, video or text in pictures, or run
the agent's program outside the desktop.
"""
