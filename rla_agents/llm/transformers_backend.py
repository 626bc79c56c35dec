"""Any transformers causal language model, on CPU or CUDA, as a :class:`LanguageModel`."""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers import logging as transformers_logging

from rla_agents.llm.base import Picture, TrainItem
from rla_agents.llm.chat import ChatFormat
from rla_agents.llm.constrained import ChoiceTable
from rla_agents.llm.kv_cache import RaggedCache
from rla_agents.llm.session import TransformersSession
from rla_envs.errors import InputError

_SCORE_TOKENS = 16384
_WATCHED = 12
_NO_LIMIT = 1 << 30


class TransformersModel:
    """A causal language model that samples, scores and trains on token ids.

    Sampling with a cache, scoring, and training compute one and the same
    distribution, so the ratio before any update is 1 (up to rounding: 1e-4 in
    float32, a few percent in bfloat16).

    Args:
        module: The model, of any family whose layers attend (fully or in a sliding
            window) and that takes explicit positions.
        tokenizer: Its tokenizer.

        picture_mark: Text that stands for a picture in a message, for a model that sees.

    Raises:
        InputError: If the family is not supported.
    """

    def __init__(
        self, module: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, picture_mark: str = ""
    ) -> None:
        """Wrap a model and its tokenizer; see the class for the arguments."""
        # Half of what transformers offers has no types.
        self.module: Any = module
        self.tokenizer = tokenizer
        self.chat = ChatFormat(tokenizer, picture_mark)
        self.eval()
        parameters = inspect.signature(module.forward).parameters
        name = type(module).__name__
        if "position_ids" not in parameters or self._head() is None:
            raise InputError(f"{name} takes no explicit positions; use another family (Llama, Qwen)")
        self._cache_argument = "cache" if "cache" in parameters else "past_key_values"
        config = module.config.get_text_config()
        self._window: int | None = getattr(config, "sliding_window", None)
        self._layer_types = set(
            getattr(config, "layer_types", None)
            or ["full_attention" if self._window is None else "sliding_attention"]
        )
        if other := self._layer_types - {"full_attention", "sliding_attention"}:
            raise InputError(
                f"{name} has layers of type {', '.join(sorted(other))}, expected full or sliding attention; "
                "use another family (Llama, Qwen)"
            )
        self._version = 0
        self._fingerprint = self._weights_fingerprint()

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        device: torch.device = self.module.device
        return device

    @property
    def context_length(self) -> int:
        """The most ids one sequence may hold."""
        config = self.module.config.get_text_config()
        return int(getattr(config, "max_position_embeddings", None) or _NO_LIMIT)

    @property
    def plain(self) -> bool:
        """Whether the model takes its text bare, without instructions; said by its configuration."""
        return bool(getattr(self.module.config, "rla_plain", False))

    @property
    def weights_version(self) -> int:
        """Rises whenever the weights change, within one process.

        Raise it after changing weights. Changes that nobody announced are noticed
        too: torch counts in-place changes, and where it does not (fused optimizers,
        ``.data``) a sample of the values is compared.
        """
        fingerprint = self._weights_fingerprint()
        if fingerprint != self._fingerprint:
            self._fingerprint = fingerprint
            self._version += 1
        return self._version

    @weights_version.setter
    def weights_version(self, version: int) -> None:
        self._fingerprint = self._weights_fingerprint()
        self._version = version

    @property
    def sees(self) -> bool:
        """Whether messages may have pictures."""
        return False

    def open(
        self, prompts: Sequence[Sequence[int]], pictures: Sequence[Sequence[Picture]] = ()
    ) -> TransformersSession:
        """Start one sequence per prompt."""
        if any(pictures):
            raise InputError("prompts with pictures were given, but this model sees none")
        return TransformersSession(self, prompts)

    @torch.no_grad()
    def score(self, items: Sequence[TrainItem], temperature: float = 1.0) -> list[list[float]]:
        """Return each item's log-probabilities at its positions, without gradient."""
        order = sorted(range(len(items)), key=lambda i: -len(items[i].ids))
        scores: list[list[float]] = [[] for _ in items]
        while order:
            size = max(1, _SCORE_TOKENS // max(1, len(items[order[0]].ids)))
            part, order = order[:size], order[size:]
            flat = iter(self.logprobs([items[i] for i in part], temperature).tolist())
            for i in part:
                scores[i] = [next(flat) for _ in items[i].positions]
        return scores

    def logprobs(self, items: Sequence[TrainItem], temperature: float = 1.0) -> torch.Tensor:
        """Return the log-probabilities at all positions of all items, flat, with gradient.

        One padded batch: keep it as large as memory allows and of similar lengths.
        """
        rows = [row for row, item in enumerate(items) for _ in item.positions]
        if not rows:
            return torch.zeros(0, device=self.device)
        width = max(len(item.ids) for item in items)
        # Padding stands behind every real token, so causal attention never looks at it, whatever its id.
        ids = torch.tensor([item.ids + (0,) * (width - len(item.ids)) for item in items], device=self.device)
        row = torch.tensor(rows, device=self.device)
        position = torch.tensor([p for item in items for p in item.positions], device=self.device)
        logits = self.logits(ids, (row, position - 1), None, None, **self._inputs(items, width))
        table = ChoiceTable([allowed for item in items for allowed in item.allowed], self.device)
        return table.logprobs(logits, ids[row, position], temperature)

    def logits(
        self,
        ids: torch.Tensor,
        select: tuple[torch.Tensor, torch.Tensor],
        positions: torch.Tensor | None = None,
        cache: RaggedCache | None = None,
        **inputs: torch.Tensor,
    ) -> torch.Tensor:
        """Return the logits after some of the tokens, one line each.

        Args:
            ids: One line of ids per sequence, padded on the right.
            select: Line and column of each token after which logits are wanted.
            positions: Position of each id, if a cache holds what came before.
            cache: That cache, already planned for these ids.
            **inputs: What the family takes besides.
        """

        def pick(_: torch.nn.Module, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
            # Before the head, so that logits exist only where they are wanted; whatever the family does to
            # them afterwards (soft caps, scales) still happens.
            return (args[0][select][None], *args[1:])

        arguments: dict[str, Any] = {"use_cache": False}
        if cache is not None and positions is not None:
            arguments = {
                "use_cache": True,
                self._cache_argument: cache,
                "position_ids": positions,
                "attention_mask": self._masks(positions, cache.get_seq_length()),
            }
        arguments |= inputs
        head = self._head()
        handle = head.register_forward_pre_hook(pick)
        try:
            out: torch.Tensor = self.module(input_ids=ids, **arguments).logits[0]
        finally:
            handle.remove()
        return out

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """Yield the weights to train."""
        return iter(self.module.parameters())

    def train(self) -> None:
        """Switch to training mode: with dropout, if the configuration has any."""
        self.module.train()

    def eval(self) -> None:
        """Switch to evaluation mode, the one a model is loaded in."""
        self.module.eval()

    def clone(self) -> TransformersModel:
        """Return a model with equal weights of its own."""
        return TransformersModel(copy.deepcopy(self.module), self.tokenizer)

    def save(self, folder: str | Path) -> None:
        """Write weights (safetensors), configuration and tokenizer into a folder, which is made."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        with _no_progress_bars():
            self.module.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)

    def load(self, folder: str | Path) -> None:
        """Replace the weights by those that were saved, in place.

        Raises:
            InputError: If the folder holds no readable model, or one of another shape.
                The weights are then as before.
        """
        other = type(self).from_folder(folder, self.device, self.module.dtype).module
        own, saved = dict(self.module.named_parameters()), dict(other.named_parameters())
        if {k: v.shape for k, v in own.items()} != {k: v.shape for k, v in saved.items()}:
            raise InputError(f"the model in {folder} has another shape than the one it should replace")
        with torch.no_grad():
            for key, value in own.items():
                value.copy_(saved[key])
        self.weights_version += 1

    @classmethod
    def from_folder(
        cls, folder: str | Path, device: str | torch.device = "cpu", dtype: torch.dtype | None = None
    ) -> TransformersModel:
        """Read a model that was saved with :meth:`save`, or any other local model folder.

        Args:
            folder: With ``config.json``, safetensors and tokenizer files. Pickled
                weights are refused: they could run code.
            device: Where the weights go.
            dtype: Their type; default float32, which training needs.

        Raises:
            InputError: If the folder is unreadable or incomplete.
        """
        path = Path(folder)
        if not path.is_dir():
            raise InputError(f"no model folder at {path}")
        for needed in ("config.json", "tokenizer_config.json"):
            if not (path / needed).is_file():
                raise InputError(f"the model folder {path} is incomplete: {needed} is missing")
        return cls.from_pretrained(str(path), device, dtype, local=True)

    @classmethod
    def from_pretrained(
        cls, name: str, device: str | torch.device, dtype: torch.dtype | None, *, local: bool
    ) -> TransformersModel:
        """Read a model from a folder or, unless ``local``, from the Hugging Face hub; never run its code."""
        return cls(*cls._read(AutoModelForCausalLM, name, device, dtype, local))

    @classmethod
    def _read(
        cls, auto: Any, name: str, device: str | torch.device, dtype: torch.dtype | None, local: bool
    ) -> tuple[Any, Any]:
        """Return the module and the tokenizer."""
        options: dict[str, Any] = {"local_files_only": local, "trust_remote_code": False}
        try:
            with _no_progress_bars():
                tokenizer = AutoTokenizer.from_pretrained(name, **options)
                loaded: Any = auto.from_pretrained(
                    name,
                    dtype=dtype or torch.float32,
                    use_safetensors=True,
                    attn_implementation="sdpa",
                    output_loading_info=True,
                    **options,
                )
            module, report = loaded
        except Exception as error:  # The libraries below raise a dozen types for a file that cannot be read.
            reason = " ".join(str(error).split())
            raise InputError(f"cannot read a model from {name}: {reason[:300]}") from error
        if missing := sorted(report["missing_keys"]) + sorted(map(str, report["mismatched_keys"])):
            raise InputError(
                f"the weights in {name} are incomplete: {len(missing)} missing, first {missing[0]}"
            )
        return module.to(device), tokenizer

    def _inputs(self, items: Sequence[TrainItem], width: int) -> dict[str, torch.Tensor]:
        """Return what the module takes besides ids, when it reads these items padded to a width."""
        return {}

    def _head(self) -> Any:
        return self.module.get_output_embeddings()

    def _masks(self, positions: torch.Tensor, length: int) -> Any:
        """Return what each new token may attend to, per kind of layer if there are two."""
        column = torch.arange(length, device=positions.device)
        past = column <= positions[:, :, None]
        masks = {}
        for kind in sorted(self._layer_types):
            seen = past
            if kind == "sliding_attention" and self._window is not None:
                seen = past & (column > positions[:, :, None] - self._window)
            mask = torch.zeros(seen.shape, dtype=self.module.dtype, device=positions.device)
            masks[kind] = mask.masked_fill_(~seen, torch.finfo(mask.dtype).min)[:, None]
        return masks if len(masks) > 1 else next(iter(masks.values()))

    def _weights_fingerprint(self) -> tuple[Any, ...]:
        weights = list(self.module.parameters())
        watched = weights[:: max(1, len(weights) // _WATCHED)] + weights[-1:]
        with torch.no_grad():
            values = [w.flatten()[:: max(1, w.numel() // 16)][:16].float() for w in watched]
            sample = torch.cat(values).tolist()
        return (sum(w._version for w in weights), *sample)


@contextlib.contextmanager
def _no_progress_bars() -> Iterator[None]:
    """Keep transformers from drawing over the caller's own display."""
    controls: Any = transformers_logging
    shown = controls.is_progress_bar_enabled()
    controls.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            controls.enable_progress_bar()
