"""Tiny models of several families with real tokenizers, and the slow truth to hold them against."""

import pytest
import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers, processors, trainers
from tokenizers.models import BPE
from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from rla_agents.llm import TransformersModel

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TEXT = [
    "mug mug the mug",
    "go to desk 1",
    "take mug 1 from desk 1",
    "user",
    "assistant",
    "system",
    "you see a mug",
]


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    torch.set_num_threads(1)


@pytest.fixture
def make_tokenizer():
    """Byte-level BPE with learnt merges; options say who adds which beginning token, and what pads."""

    def make(template=CHATML, bos=None, adds_bos=False, eos="<|im_end|>", pad="<|pad|>"):
        core = Tokenizer(BPE())
        core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        core.decoder = decoders.ByteLevel()
        special = ["<|pad|>", "<|im_start|>", "<|im_end|>", "<|endoftext|>", *([bos] if bos else [])]
        core.train_from_iterator(
            TEXT * 4,
            trainers.BpeTrainer(
                vocab_size=320,
                special_tokens=special,
                initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                show_progress=False,
            ),
        )
        if adds_bos:
            core.post_processor = processors.TemplateProcessing(
                single=f"{bos} $A", special_tokens=[(bos, core.token_to_id(bos))]
            )
        return PreTrainedTokenizerFast(
            tokenizer_object=core, bos_token=bos, eos_token=eos, pad_token=pad, chat_template=template
        )

    return make


@pytest.fixture
def make_model(make_tokenizer):
    """A randomly initialised model of a family, decisive enough that greedy choices are no coin flips."""
    size = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}

    def make(family="llama", tokenizer=None, seed=0, context=256, **options):
        tokenizer = tokenizer or make_tokenizer()
        common = {"vocab_size": len(tokenizer), "max_position_embeddings": context} | size
        torch.manual_seed(seed)
        if family == "llama":
            module = LlamaForCausalLM(LlamaConfig(num_key_value_heads=2, **common, **options))
        elif family == "qwen2":
            module = Qwen2ForCausalLM(Qwen2Config(num_key_value_heads=2, **common, **options))
        elif family == "gpt2":
            config = GPT2Config(
                vocab_size=len(tokenizer), n_positions=context, n_embd=32, n_layer=2, n_head=4
            )
            module = GPT2LMHeadModel(config)
        elif family == "gemma2":  # a sliding window, a full layer, and a soft cap behind the head
            config = Gemma2Config(num_key_value_heads=2, head_dim=8, sliding_window=7, **common, **options)
            module = Gemma2ForCausalLM(config)
        elif family == "mistral":  # every layer in a sliding window
            module = MistralForCausalLM(MistralConfig(num_key_value_heads=2, sliding_window=6, **common))
        with torch.no_grad():
            for weights in module.parameters():
                if weights.dim() > 1:
                    weights.normal_(std=0.2)
        return TransformersModel(module, tokenizer)

    return make


@pytest.fixture
def slow():
    """Log-probabilities of the next id after one sequence: one row, no cache, no padding."""

    @torch.no_grad()
    def next_logprobs(model, ids, temperature=1.0, allowed=None):
        logits = model.module(torch.tensor([list(ids)]), use_cache=False).logits[0, -1] / temperature
        if allowed is not None:
            outside = torch.ones_like(logits, dtype=torch.bool)
            outside[list(allowed)] = False
            logits = logits.masked_fill(outside, -torch.inf)
        return logits.log_softmax(-1)

    return next_logprobs
