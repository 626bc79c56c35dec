"""Messages as token ids, appended turn by turn and never tokenised again."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict, cast

from jinja2 import TemplateError
from transformers import PreTrainedTokenizerBase

from rla_envs.errors import InputError

# For a tokenizer without a chat template. Ends on a newline, not a blank: a token that starts with a blank
# is what most vocabularies have for a word.
_PLAIN_TEMPLATE = (
    "{% for message in messages %}### {{ message['role'] }}\n{{ message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}### assistant{{ '\n' }}{% endif %}"
)
_ASK, _ANSWER = "x", "y"


class Message(TypedDict):
    """One turn: ``role`` is "system", "user" or "assistant"; ``picture`` says that one precedes the text."""

    role: str
    content: str
    picture: NotRequired[bool]


class ChatFormat:
    """Turn messages into ids so that a conversation only ever grows.

    ``first`` gives the opening, up to where the model speaks. After the model has
    spoken, ``next`` gives what follows: the rest of its turn that it did not sample,
    the new message, and the next generation prompt. What was sampled stays as it
    was sampled; it is never rendered again.

    Text that spells one of the tokenizer's control tokens is broken with a blank
    ("< |im_end|>"), so an observation cannot end its own turn.

    A template without a system role, or one that moves the system text as the
    conversation grows, gets it in front of the first user message.

    Args:
        tokenizer: The model's tokenizer. Without a chat template, a plain format is used.
        picture_mark: Text that stands for a picture; empty for a model that sees none.

    Raises:
        InputError: If the template rewrites earlier turns, or no end-of-turn token
            can be found.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, picture_mark: str = "") -> None:
        """Learn the template's shape by rendering it; see the class for the arguments."""
        self._picture_mark = picture_mark
        self._tokenizer = tokenizer
        self._template = None if tokenizer.chat_template else _PLAIN_TEMPLATE
        self._bos = self._leading_bos()
        added = {i: str(token) for i, token in tokenizer.added_tokens_decoder.items() if token.special}
        self._control_ids = set(added) | set(tokenizer.all_special_ids)
        self._controls = sorted({*added.values(), *tokenizer.all_special_tokens}, key=len, reverse=True)
        self.end_id = self._find_end()
        self.stop_ids = frozenset({self.end_id} | ({tokenizer.eos_token_id} - {None}))
        self._tail = functools.lru_cache(maxsize=8192)(self._compute_tail)
        self._command = functools.lru_cache(maxsize=65536)(self._compute_command)
        ask: Message = {"role": "user", "content": _ASK}
        answer: Message = {"role": "assistant", "content": _ANSWER}
        self._check_append_only([ask])
        if self._after([ask, answer, ask], ask) != self._after([ask], ask):
            raise InputError(
                "this chat template renders a turn differently later on; use an append-only template"
            )
        self._system_role = self._system_role_works()

    def first(self, messages: Sequence[Message]) -> list[int]:
        """Return the opening of a conversation, generation prompt included.

        Starts with exactly one beginning-of-sequence token if the model's convention
        has one, whoever adds it, template or tokenizer.
        """
        turns = [self._clean(message) for message in messages]
        if turns and turns[0]["role"] == "system" and not self._system_role:
            turns = _fold_system(turns)
        if not turns or turns[-1]["role"] != "user":
            raise InputError("a conversation must open with messages that end with one of the user")
        ids = self._encode(self._render(turns, prompt=True))
        if self._bos is not None:
            begin = next((i for i, token in enumerate(ids) if token != self._bos), len(ids))
            ids = [self._bos, *ids[begin:]]
        return ids

    def next(self, message: Message, last: int | None = None) -> list[int]:
        """Return what follows a sampled action.

        Args:
            message: The user's next message.
            last: The last id of the action. If that is the end-of-turn token, it is
                not repeated; otherwise (cut by a limit) the turn is closed first.
        """
        ids = self._tail(message["role"], message["content"], message.get("picture", False))
        return list(ids[1:] if last == self.end_id else ids)

    def command(self, text: str) -> tuple[int, ...]:
        """Return a command as the model would say it: its ids, closed by the end-of-turn token."""
        return self._command(text)

    def encode(self, text: str) -> list[int]:
        """Return the ids of plain text: no control tokens are added or recognised."""
        return self._encode(self._defuse(text))

    def text(self, ids: Sequence[int]) -> str:
        """Return ids as text, without the end-of-turn token and other control tokens."""
        return str(
            self._tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        )

    def _compute_command(self, text: str) -> tuple[int, ...]:
        return (*self.encode(text), self.end_id)

    def _compute_tail(self, role: str, content: str, picture: bool) -> tuple[int, ...]:
        turn = self._clean({"role": role, "content": content, "picture": picture})
        if turn["role"] != "user":
            raise InputError(f"the next message must be the user's, got role {role!r}")
        text = self._after([{"role": "user", "content": _ASK}], turn)
        ids = self._encode(text)
        if not self._end_in_template:
            return (self.end_id, *ids)
        if ids[0] != self.end_id:
            raise InputError(
                "this chat template closes earlier turns differently; use an append-only template"
            )
        return tuple(ids)

    def _after(self, opening: Sequence[Message], turn: Message) -> str:
        """Return the text between an answer to the opening and the answer to the next turn."""
        begin = self._render(opening, prompt=True) + _ANSWER
        answer: Message = {"role": "assistant", "content": _ANSWER}
        return self._render([*opening, answer, turn], prompt=True)[len(begin) :]

    def _check_append_only(self, opening: Sequence[Message]) -> None:
        begin = self._render(opening, prompt=True) + _ANSWER
        turns: list[Message] = [
            *opening,
            {"role": "assistant", "content": _ANSWER},
            {"role": "user", "content": _ASK},
        ]
        if not self._render(turns, prompt=True).startswith(begin):
            raise InputError(
                "this chat template rewrites earlier turns when the conversation grows, so sampled ids would "
                "not be the trained ids; use an append-only template"
            )

    def _system_role_works(self) -> bool:
        system: Message = {"role": "system", "content": "s"}
        ask: Message = {"role": "user", "content": _ASK}
        try:
            self._check_append_only([system, ask])
        except InputError:
            return False
        return self._after([system, ask], ask) == self._after([ask], ask)

    def _find_end(self) -> int:
        """Return the token that closes the model's turn: the template's, or else the tokenizer's end."""
        ask: Message = {"role": "user", "content": _ASK}
        begin = self._render([ask], prompt=True) + _ANSWER
        whole = self._render([ask, {"role": "assistant", "content": _ANSWER}], prompt=False)
        ids = self._encode(whole[len(begin) :]) if whole.startswith(begin) else []
        self._end_in_template = bool(ids) and ids[0] in self._control_ids
        if self._end_in_template:
            return ids[0]
        if self._tokenizer.eos_token_id is None:
            raise InputError(
                "no end-of-turn token: the chat template closes the assistant's turn with none and the "
                "tokenizer has no eos_token; set one"
            )
        return int(self._tokenizer.eos_token_id)

    def _leading_bos(self) -> int | None:
        """Return the beginning token if the template writes it or the tokenizer adds it."""
        bos = self._tokenizer.bos_token_id
        rendered = self._encode(self._render([{"role": "user", "content": _ASK}], prompt=True))
        added = list(self._tokenizer(_ASK)["input_ids"])
        return bos if bos is not None and bos in (*rendered[:1], *added[:1]) else None

    def _render(self, turns: Sequence[Message], *, prompt: bool) -> str:
        try:
            return str(
                self._tokenizer.apply_chat_template(
                    cast("list[dict[str, str]]", list(turns)),
                    chat_template=self._template,
                    tokenize=False,
                    add_generation_prompt=prompt,
                )
            )
        except TemplateError as error:
            roles = ", ".join(turn["role"] for turn in turns)
            raise InputError(f"the chat template refuses the roles {roles}: {error}") from error

    def _encode(self, text: str) -> list[int]:
        encoded: Any = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return list(encoded)

    def _clean(self, message: Message) -> Message:
        content = self._defuse(message["content"])
        if message.get("picture"):
            if not self._picture_mark:
                raise InputError("a message has a picture, but this model sees none; use a model that does")
            content = self._picture_mark + content
        return {"role": message["role"], "content": content}

    def _defuse(self, text: str) -> str:
        for control in self._controls:
            if control in text:
                text = text.replace(control, f"{control[0]} {control[1:]}")
        return text


def _fold_system(turns: Sequence[Message]) -> list[Message]:
    system, *rest = turns
    if not rest or rest[0]["role"] != "user":
        raise InputError(
            "this chat template has no system role, and no user message follows to carry the system text"
        )
    content = f"{system['content']}\n\n{rest[0]['content']}"
    return [{"role": "user", "content": content}, *rest[1:]]
