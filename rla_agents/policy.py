"""The acting role: how observations become messages, and messages become commands."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rla_agents.llm.base import LanguageModel, Sampling
from rla_agents.llm.chat import Message
from rla_envs.errors import InputError

INSTRUCTIONS = (
    "You act in a text environment. Each message shows what you see after your last action. "
    "Answer with exactly one command and nothing else."
)
NUMBERED_INSTRUCTIONS = (
    "You act in a text environment. Each message shows what you see after your last action and the "
    "commands that are possible now, each with its number. Think, then give the number of one command "
    "as \\boxed{number}."
)
DESKTOP_INSTRUCTIONS = (
    "You operate a computer. Each message shows its screen after your last action. Answer with the next "
    "action in Python, as calls of pyautogui, such as pyautogui.click(640, 360). Places are pixels of the "
    "screen at its full size, from (0, 0) in the top left corner. Answer WAIT to wait, DONE when the task is "
    "done, and FAIL if it cannot be done."
)
_BOXED = re.compile(r"\\boxed\{\s*(\d+)\s*\}")


class Policy:
    r"""A language model that plays text environments.

    Its history is one conversation that only grows: the observations as the
    user's messages, its commands as its own.

    Args:
        model: The language model.
        sampling: How actions are drawn.
        constrained: Decode only commands that the environment lists as
            admissible (or their numbers). Where it lists none, text is free.
        numbered: Show the admissible commands with numbers and read the answer
            from ``\\boxed{number}``, as in the paper (arXiv 2602.02488); an
            answer without one means command 0, as in its released code.
        instructed: Open with instructions. The embedded ``tiny`` model was
            warmed up without.
        whole_answers: Hand over all that the model says, where the environment
            takes whole answers; it says itself what it wants, so there are no
            instructions either.
        desktop: It operates a desktop, in pyautogui's language; all that it says is the action.

    Raises:
        InputError: At the first step, if ``numbered`` is set and the
            environment lists no admissible commands.
    """

    def __init__(
        self,
        model: LanguageModel,
        sampling: Sampling,
        constrained: bool = True,
        numbered: bool = False,
        instructed: bool = True,
        whole_answers: bool = False,
        desktop: bool = False,
    ) -> None:
        """Set up; see the class for the arguments."""
        self.model = model
        self.sampling = sampling
        self.constrained = constrained
        self.numbered = numbered
        self.instructed = instructed and not whole_answers
        self.whole_answers = whole_answers or desktop
        self.desktop = desktop

    def opening(self, observation: str, commands: Sequence[str], picture: bool = False) -> list[int]:
        """Return the ids that open an episode, up to where the policy speaks.

        Args:
            observation: What it reads.
            commands: The admissible commands.
            picture: Whether it sees a picture too; one id stands for that.
        """
        messages: list[Message] = []
        if self.instructed:
            text = NUMBERED_INSTRUCTIONS if self.numbered else INSTRUCTIONS
            text = DESKTOP_INSTRUCTIONS if self.desktop else text
            messages.append({"role": "system", "content": text})
        messages.append(self._message(observation, commands, picture))
        return self.model.chat.first(messages)

    def continuation(
        self, observation: str, commands: Sequence[str], last: int, picture: bool = False
    ) -> list[int]:
        """Return the ids that follow an action whose last id is ``last``; see :meth:`opening`."""
        return self.model.chat.next(self._message(observation, commands, picture), last)

    def candidates(self, commands: Sequence[str]) -> list[tuple[int, ...]] | None:
        """Return what the policy may say, as ids, in the order of ``commands``; None means anything."""
        if not self.constrained or not commands:
            return None
        texts = [f"\\boxed{{{i}}}" for i in range(len(commands))] if self.numbered else commands
        return [self.model.chat.command(text) for text in texts]

    def command(self, text: str, choice: int | None, commands: Sequence[str]) -> str:
        """Return the command that an answer means.

        Args:
            text: The answer.
            choice: Which candidate it is, if decoding was constrained.
            commands: The admissible commands.
        """
        if choice is not None:
            return commands[choice]
        if self.numbered:
            numbers = _BOXED.findall(text)
            index = int(numbers[-1]) if numbers and len(numbers[-1]) < 6 else 0
            return commands[index] if index < len(commands) else commands[0]
        if self.whole_answers:
            return text
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines[-1].removeprefix(">").strip() if lines else ""

    def _message(self, observation: str, commands: Sequence[str], picture: bool) -> Message:
        if picture:
            return {"role": "user", "content": observation, "picture": True}
        if not self.numbered:
            return {"role": "user", "content": observation}
        if not commands:
            raise InputError(
                "policy.numbered needs an environment that lists info['admissible_commands']; "
                "this one lists none"
            )
        listed = "\n".join(f"{i}) {command}" for i, command in enumerate(commands))
        return {"role": "user", "content": f"{observation}\n{listed}"}
