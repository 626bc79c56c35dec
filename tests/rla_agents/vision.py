"""A tiny vision-language model of the real class with random weights, and a desktop made of pixels."""

from typing import ClassVar

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2VLConfig,
    Qwen2VLForConditionalGeneration,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from rla_agents.llm.vision import VisionModel
from rla_envs.adaptive import AdaptiveEnv, Turn
from rla_envs.difficulty import DifficultyParameter
from rla_envs.errors import RefusedEditError
from rla_envs.spaces import Unicode
from rla_envs.task import Task, TaskCheck

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CONTROLS = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>",
    "<|video_pad|>",
)  # fmt: skip


def byte_tokenizer():
    """One token per byte, and the family's control tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(BPE(vocab={letter: i for i, letter in enumerate(alphabet)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens(list(CONTROLS))
    return PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=CHATML
    )


def tiny_vision_model(family="qwen2_5_vl", context=4096, pixels=28 * 56, seed=0):
    """Return a model that sees every picture as at most ``pixels`` pixels, of which 196 are one feature."""
    tokenizer = byte_tokenizer()
    ids = dict(zip(CONTROLS, tokenizer.convert_tokens_to_ids(list(CONTROLS)), strict=True))
    text = {
        "vocab_size": len(tokenizer), "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
        "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": context,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2]},
        "bos_token_id": None, "eos_token_id": ids["<|im_end|>"],
    }  # fmt: skip
    special = {
        "image_token_id": ids["<|image_pad|>"],
        "video_token_id": ids["<|video_pad|>"],
        "vision_start_token_id": ids["<|vision_start|>"],
        "vision_end_token_id": ids["<|vision_end|>"],
    }
    torch.manual_seed(seed)
    if family == "qwen2_5_vl":
        vision = {
            "depth": 2, "hidden_size": 16, "intermediate_size": 24, "num_heads": 2, "out_hidden_size": 16,
            "patch_size": 7, "window_size": 28, "fullatt_block_indexes": [1],
        }  # fmt: skip
        module = Qwen2_5_VLForConditionalGeneration(
            Qwen2_5_VLConfig(text_config=text, vision_config=vision, **special)
        )
    else:
        vision = {"depth": 2, "embed_dim": 16, "hidden_size": 16, "num_heads": 2, "patch_size": 7}
        module = Qwen2VLForConditionalGeneration(
            Qwen2VLConfig(text_config=text, vision_config=vision, **special)
        )
    with torch.no_grad():
        for weights in module.parameters():
            if weights.dim() > 1:
                weights.normal_(std=0.2)
    processor = Qwen2VLImageProcessorPil(patch_size=7, min_pixels=196, max_pixels=pixels)
    return VisionModel(module, tokenizer, processor)


class ScreenEnv(AdaptiveEnv):
    """A desktop that shows another picture after every action; odd lengths of an action are errors.

    The task is solved by an action of an even length on the last allowed step.
    """

    task_env_id = "RLATest/Screen-v0"
    difficulty_parameters: ClassVar = (
        DifficultyParameter("length", 1, 8, 3, "steps of an episode", lambda task: task.payload["length"]),
    )

    def __init__(self, split="train", difficulty=None, render_mode=None):
        super().__init__(difficulty, render_mode)
        self.screen_size = (128, 72)
        self.observation_space = spaces.Dict(
            {
                "instruction": Unicode(100),
                "screenshot": spaces.Box(0, 255, (72, 128, 3), np.uint8),
                "accessibility_tree": Unicode(100),
            }
        )
        self.action_space = Unicode(1 << 16)

    def check_task(self, task):
        return TaskCheck(True)

    def _sample_task(self, difficulty, rng):
        return Task(
            self.task_env_id, difficulty, {"shade": int(rng.integers(256)), "length": difficulty["length"]}
        )

    def _apply_edit(self, task, edit):
        raise RefusedEditError("this environment has no edits")

    def _step_budget(self, task):
        return task.difficulty["length"]

    def _begin(self, task):
        self.acted = []
        return Turn(self._look())

    def _act(self, action):
        self.acted.append(action)
        odd = len(action) % 2 == 1
        last = len(self.acted) == self.task.difficulty["length"]
        return Turn(self._look(), success=last and not odd, error="an odd length" if odd else "")

    def _look(self):
        rng = np.random.default_rng([self.task.payload["shade"], *map(len, self.acted)])
        return {
            "instruction": "Say something <|image_pad|>",
            "screenshot": rng.integers(0, 256, (72, 128, 3), np.uint8),
            "accessibility_tree": f"<desktop step='{len(self.acted)}'/>",
        }


if "RLATest/Screen-v0" not in gym.registry:
    gym.register("RLATest/Screen-v0", entry_point="tests.rla_agents.vision:ScreenEnv")
