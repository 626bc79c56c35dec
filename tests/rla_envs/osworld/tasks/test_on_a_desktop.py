"""OSWorld's own tasks on a real desktop: doing nothing scores nothing, doing them scores."""

import io

import pytest

from rla_envs.osworld.actions.events import Key, Text
from rla_envs.osworld.tasks import evaluate, load_task, setup
from tests.rla_envs.osworld.tasks.official import task_file


def workbook(rows):
    """Return a spreadsheet file with these rows."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("prefix", ["13584542", "3ce045a0", "bedcedc4", "f9be0997", "2cd43775"])
def test_doing_nothing_scores_nothing(desktop, prefix):
    task = load_task(task_file(prefix))
    if task.availability != "runnable":
        pytest.skip("; ".join(task.missing))
    setup(desktop, task)
    assert evaluate(desktop, task, ["DONE"]).score == 0.0


def test_the_lock_of_the_screen_is_a_setting_that_the_task_turns_off_and_looks_at(desktop):
    task = load_task(task_file("a4d98375"))
    setup(desktop, task)
    assert evaluate(desktop, task, ["DONE"]).score == 0.0
    command = "gsettings set org.gnome.desktop.screensaver lock-enabled true"
    assert desktop.execute(command, shell=True).returncode == 0
    assert evaluate(desktop, task, ["DONE"]).score == 1.0
    assert evaluate(desktop, task, ["FAIL"]).score == 0.0


def test_a_column_typed_into_calc_is_saved_and_compared(desktop, tmp_path):
    # The task's own files are on the web; these have their names, and less in them.
    sales = [["Week", "Sales", "COGS"], [1, 500, 150], [2, 700, 210]]
    profit = [[*sales[0], "Profit"], [*sales[1], 350], [*sales[2], 490]]
    folder = tmp_path / "libreoffice_calc" / "1e8df695-bd1b-45b3-b557-e7d599cf7597"
    folder.mkdir(parents=True)
    (folder / "WeeklySales.xlsx").write_bytes(workbook(sales))
    (folder / "6_WeeklySales_gt1.xlsx").write_bytes(workbook(profit))
    task = load_task(task_file("1e8df695"), files=tmp_path)
    setup(desktop, task)
    untouched = evaluate(desktop, task, ["DONE"])
    assert (untouched.score, untouched.details) == (0.0, "compare_table 0")
    for _ in sales[0]:
        assert desktop.perform([Key("right", True), Key("right", False)]) == ""
        desktop.observe(tree=False)
    assert desktop.perform([Text("Profit\n=B2-C2\n=B3-C3\n")]) == ""
    done = evaluate(desktop, task, ["DONE"])
    assert (done.score, done.details) == (1.0, "compare_table 1")
