"""Vision-language models of the Qwen2-VL kind, on CPU or CUDA, as a :class:`LanguageModel` that sees."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoImageProcessor, AutoModelForImageTextToText, PreTrainedTokenizerBase
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize

from rla_agents.llm.base import Picture, PlacedPicture, TrainItem
from rla_agents.llm.kv_cache import RaggedCache
from rla_agents.llm.transformers_backend import TransformersModel
from rla_agents.llm.vision_session import VisionSession
from rla_envs.errors import InputError

VISION_FAMILIES = ("qwen2_vl", "qwen2_5_vl")
"""Model types, as in ``config.json``, that are read as models that see."""


class VisionModel(TransformersModel):
    """A vision-language model that samples, scores and trains on token ids and pictures.

    A picture stands in a sequence as the family's own processor writes it: a
    start token, one placeholder for each feature (a merged patch), an end
    token. What scales a picture is the family's image processor, in its variant
    without torchvision, so that every machine shows the model the same.

    The model can neither say a placeholder nor read one in a text: their number
    is always that of the features.

    Args:
        module: ``Qwen2VLForConditionalGeneration`` or ``Qwen2_5_VLForConditionalGeneration``.
        tokenizer: Its tokenizer.
        image_processor: Its image processor.

    Raises:
        InputError: If the family is not supported.
    """

    def __init__(self, module: Any, tokenizer: PreTrainedTokenizerBase, image_processor: Any) -> None:
        """Wrap a model, its tokenizer and its image processor; see the class for the arguments."""
        config = module.config
        if config.model_type not in VISION_FAMILIES:
            raise InputError(
                f"expected a model that sees of type {' or '.join(VISION_FAMILIES)}, got {config.model_type}"
            )
        if not config.image_token_id:
            raise InputError("expected a picture placeholder other than the id 0, which pads sequences")
        frame = (config.vision_start_token_id, config.image_token_id, config.vision_end_token_id)
        super().__init__(module, tokenizer, "".join(map(str, tokenizer.convert_ids_to_tokens(list(frame)))))
        self._frame = frame
        self.image_processor = image_processor
        never = torch.zeros(config.get_text_config().vocab_size, dtype=torch.bool)
        never[[config.image_token_id, config.video_token_id]] = True
        self._never = never

    @property
    def sees(self) -> bool:
        """Whether messages may have pictures."""
        return True

    def open(
        self, prompts: Sequence[Sequence[int]], pictures: Sequence[Sequence[Picture]] = ()
    ) -> VisionSession:
        """Start one sequence per prompt, with its pictures if there are any."""
        return VisionSession(self, prompts, pictures)

    def place(
        self, ids: Sequence[int], pictures: Sequence[Picture], start: int
    ) -> tuple[list[int], list[PlacedPicture]]:
        """Write as many placeholders for each picture as it has features.

        Args:
            ids: With one placeholder per picture, in its frame.
            pictures: The pictures.
            start: Where in the sequence the ids will begin.

        Raises:
            InputError: If there are more or fewer pictures than placeholders.
        """
        placeholder = self._frame[1]
        if (count := ids.count(placeholder)) != len(pictures):
            raise InputError(f"expected one picture per placeholder, {count}, got {len(pictures)}")
        out: list[int] = []
        placed: list[PlacedPicture] = []
        for token in ids:
            if token != placeholder:
                out.append(token)
                continue
            picture = pictures[len(placed)]
            begin = start + len(out) - 1
            features = self.features(picture)
            out += [token] * features
            placed.append(PlacedPicture(begin, begin + features + 2, picture))
        return out, placed

    def features(self, picture: Picture) -> int:
        """Return how many features, and so placeholders, a picture has."""
        _, height, width = self._grid(picture)
        return height * width // int(self.image_processor.merge_size) ** 2

    def picture_inputs(self, pictures: Sequence[Picture]) -> dict[str, torch.Tensor]:
        """Return pictures as the module takes them; nothing for none."""
        if not pictures:
            return {}
        made = self.image_processor([picture.pixels for picture in pictures], return_tensors="pt")
        grids = [self._grid(picture) for picture in pictures]
        if made["image_grid_thw"].tolist() != [list(grid) for grid in grids]:
            raise RuntimeError(f"the image processor cut {made['image_grid_thw'].tolist()}, expected {grids}")
        return {
            "pixel_values": made["pixel_values"].to(self.device, self.module.dtype),
            "image_grid_thw": made["image_grid_thw"].to(self.device),
        }

    def rope(self, ids: Sequence[int], pictures: Sequence[PlacedPicture]) -> torch.Tensor:
        """Return where each id stands in time, height and width, as the module says: 3 x ids."""
        line = torch.tensor([list(ids)])
        if not pictures:
            return torch.arange(len(ids)).expand(3, -1)
        grids = torch.tensor([self._grid(placed.picture) for placed in pictures])
        kinds = (line == self._frame[1]).int()
        positions: torch.Tensor = self.module.model.get_rope_index(line, kinds, image_grid_thw=grids)[0]
        return positions[:, 0]

    def logits(
        self,
        ids: torch.Tensor,
        select: tuple[torch.Tensor, torch.Tensor],
        positions: torch.Tensor | None = None,
        cache: RaggedCache | None = None,
        **inputs: torch.Tensor,
    ) -> torch.Tensor:
        """Return the logits after some of the tokens; those of placeholders are minus infinity."""
        logits = super().logits(ids, select, positions, cache, **inputs)
        return logits.masked_fill(self._never.to(logits.device), -torch.inf)

    def clone(self) -> VisionModel:
        """Return a model with equal weights of its own."""
        return VisionModel(copy.deepcopy(self.module), self.tokenizer, self.image_processor)

    def save(self, folder: str | Path) -> None:
        """Write weights (safetensors), configuration, tokenizer and image processor into a folder."""
        super().save(folder)
        self.image_processor.save_pretrained(folder)

    @classmethod
    def from_pretrained(
        cls, name: str, device: str | torch.device, dtype: torch.dtype | None, *, local: bool
    ) -> VisionModel:
        """Read a model from a folder or, unless ``local``, from the Hugging Face hub; never run its code."""
        module, tokenizer = cls._read(AutoModelForImageTextToText, name, device, dtype, local)
        try:
            reader: Any = AutoImageProcessor  # has no types
            image_processor = reader.from_pretrained(
                name, backend="pil", local_files_only=local, trust_remote_code=False
            )
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"cannot read the image processor in {name}: {reason[:300]}") from error
        return cls(module, tokenizer, image_processor)

    def _inputs(self, items: Sequence[TrainItem], width: int) -> dict[str, torch.Tensor]:
        lines = torch.zeros(4, len(items), width, dtype=torch.long)
        lines[0] = torch.arange(width)
        for row, item in enumerate(items):
            lines[1:, row, : len(item.ids)] = self.rope(item.ids, item.pictures)
        pictures = [placed.picture for item in items for placed in item.pictures]
        return {"position_ids": lines.to(self.device), **self.picture_inputs(pictures)}

    def _grid(self, picture: Picture) -> tuple[int, int, int]:
        """Return into how many patches the image processor cuts a picture: times, rows, columns."""
        processor = self.image_processor
        patch, merge = int(processor.patch_size), int(processor.merge_size)
        height, width = picture.pixels.shape[:2]
        limits = processor.size["shortest_edge"], processor.size["longest_edge"]
        tall, wide = smart_resize(height, width, patch * merge, *limits)
        return 1, tall // patch, wide // patch
