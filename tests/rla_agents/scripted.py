"""A language model that answers what it is told to, and records what it was sent."""

from rla_agents.llm.base import Generated, TokenSequence


class ScriptedModel:
    """Returns the given answers in order; ``sent`` holds the messages of every prompt.

    One id stands for one character, so lengths are those of the texts.
    """

    def __init__(self, answers=(), context_length=100_000):
        self.answers = list(answers)
        self.context_length = context_length
        self.sent = []
        self.chat = self

    def first(self, messages):
        self.sent.append(messages)
        return [ord(character) for message in messages for character in message["content"]]

    def open(self, prompts):
        return ScriptedSession(self, prompts)


class ScriptedSession:
    def __init__(self, model, prompts):
        self.model = model
        self.rows = [TokenSequence(list(prompt)) for prompt in prompts]

    def sequence(self, row):
        return self.rows[row]

    def generate(self, rows, sampling, generator=None, constraints=None):
        texts = [self.model.answers.pop(0) for _ in rows]
        made = [
            Generated(tuple(range(len(text))), (0.0,) * len(text), (None,) * len(text), text, True)
            for text in texts
        ]
        for row, generated in zip(rows, made, strict=True):
            self.rows[row].add(generated)
        return made
