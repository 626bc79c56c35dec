"""A tokenizer for AlfWorld text: names like ``drawer 2`` and frequent phrases are one token each.

Anything else is spelled in bytes, so every text round-trips. Fewer and more
regular tokens make a small model both faster and better.
"""

from __future__ import annotations

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from rla_envs.alfworld import shipped

BEGIN, ACT, END = "<|begin|>", "<|act|>", "<|end|>"
CHAT_TEMPLATE = (
    BEGIN + "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}" + ACT + "{{ message['content'] }}" + END + "{% else %}"
    "{{ message['content'] }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}" + ACT + "{% endif %}"
)
LARGEST_NUMBER = 9
"""Names up to this number (``drawer 9``) are one token; larger ones are spelled."""

PHRASES = (
    "-= Welcome to TextWorld, ALFRED! =-\n\n"
    "You are in the middle of a room. Looking quickly around you, you see ",
    "You are in the middle of a room. Looking quickly around you, you see ",
    ".\n\nYour task is to: ",
    "You arrive at ",
    "You are facing the ",
    ". Next to it, you see nothing.",
    ". On the ",
    "On the ",
    ". The ",
    "The ",
    " is open. In it, you see ",
    " is closed.",
    ", you see ",
    "nothing",
    "Nothing happens.",
    "You open the ",
    "You close the ",
    "You pick up the ",
    "You move the ",
    "You heat the ",
    "You clean the ",
    "You cool the ",
    "You turn on the ",
    "You turn off the ",
    "You are carrying: ",
    "You are not carrying anything.",
    "There's nothing special about ",
    "This is a ",
    " using the ",
    " from the ",
    " to the ",
    " from ",
    " to ",
    " with ",
    ", and a ",
    ", a ",
    "a ",
    ".",
    "\n",
    "> ",
    "go to ",
    "open ",
    "close ",
    "take ",
    "move ",
    "heat ",
    "clean ",
    "cool ",
    "use ",
    "examine ",
    "slice ",
    "inventory",
    "look",
    "help",
    "put a ",
    "put some ",
    "put two ",
    "put it in ",
    "put them in ",
    "find two ",
    "look at ",
    "examine the ",
    "heat some ",
    "clean some ",
    "cool some ",
    "hot ",
    "cool ",
    "clean ",
    " in ",
    " on ",
    " and ",
    " under the ",
    " with the ",
    " is in ",
    " is on ",
    " (",
    ")",
    ", ",
    "+1",
    "-1",
)


def kinds() -> list[str]:
    """Return every kind of thing that alfworld's tables name, as games spell it."""
    table = shipped.constants()
    names = set(table.VAL_RECEPTACLE_OBJECTS) | table.VAL_ACTION_OBJECTS["Toggleable"]
    names |= {name for contents in table.VAL_RECEPTACLE_OBJECTS.values() for name in contents}
    return sorted(name.lower() for name in names if not name.endswith("Sliced"))


def build_tokenizer() -> PreTrainedTokenizerFast:
    """Return the tokenizer: 256 bytes, control tokens, phrases, kinds and numbered names."""
    alphabet = {symbol: i for i, symbol in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=alphabet, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    numbered = [f"{kind} {i}" for kind in kinds() for i in range(1, LARGEST_NUMBER + 1)]
    words = dict.fromkeys([*PHRASES, *kinds(), *numbered])
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in (BEGIN, ACT, END)])
    tokenizer.add_tokens([AddedToken(word, normalized=False) for word in words])
    fast: PreTrainedTokenizerFast = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        bos_token=BEGIN,
        eos_token=END,
        pad_token=END,
        clean_up_tokenization_spaces=False,
        model_max_length=2048,
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast
