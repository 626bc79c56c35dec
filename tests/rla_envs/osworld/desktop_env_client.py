"""Plays one Calc task with OSWorld's own ``desktop_env`` on a desktop of ours; run by that package's Python.

Usage: ``python desktop_env_client.py PORT``; prints the scores before and after the action as JSON.
"""

import json
import sys

import openpyxl


class Provider:
    """Stands where OSWorld would start a virtual machine: the desktop runs already."""

    def start_emulator(self, *arguments):
        pass

    def get_ip_address(self, *arguments):
        return f"localhost:{sys.argv[1]}:9222:8006:8080"

    def revert_to_snapshot(self, *arguments):
        return None

    def stop_emulator(self, *arguments):
        pass


class Manager:
    """Stands where OSWorld would look for a disk image."""

    def get_vm_path(self, **arguments):
        return "local"


TITLE = "sales.xlsx - LibreOffice Calc"
TASK = {
    "id": "one-cell",
    "snapshot": "libreoffice_calc",
    "instruction": "Set B2 to 40 and save.",
    "config": [
        {
            "type": "upload_file",
            "parameters": {"files": [{"local_path": "sales.xlsx", "path": "/home/user/sales.xlsx"}]},
        },
        {"type": "open", "parameters": {"path": "/home/user/sales.xlsx"}},
    ],
    "evaluator": {
        "postconfig": [{"type": "activate_window", "parameters": {"window_name": TITLE, "strict": True}}],
        "func": "compare_table",
        "result": {"type": "vm_file", "path": "/home/user/sales.xlsx", "dest": "sales.xlsx"},
        "options": {
            "rules": [
                {
                    "type": "check_cell",
                    "sheet_idx": 0,
                    "coordinate": "B2",
                    "props": {"value": {"method": "eq", "ref": 40}},
                }
            ]
        },
    },
}


def main():
    """Play the task; see the module."""
    import desktop_env.desktop_env as client

    client.create_vm_manager_and_provider = lambda *arguments, **options: (Manager(), Provider())

    book = openpyxl.Workbook()
    book.active.append(["Item", "Quantity"])
    book.active.append(["Pen", 10])
    book.save("sales.xlsx")

    env = client.DesktopEnv(provider_name="docker", action_space="pyautogui", screen_size=(800, 600))
    env.reset(TASK)
    before = env.evaluate()
    keys = "pyautogui.press(['down', 'right']); pyautogui.typewrite('40\\n'); pyautogui.hotkey('ctrl', 's')"
    env.step(f"import pyautogui; {keys}", pause=1.0)
    after = env.evaluate()
    sys.stdout.write(json.dumps({"before": before, "after": after}) + "\n")


if __name__ == "__main__":
    main()
