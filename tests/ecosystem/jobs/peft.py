"""peft: LoRA (merge, several, DoRA, embeddings), IA3, prefix and prompt tuning, LoHa, LoKr, VeRA, OFT; saving."""

from __future__ import annotations

import tempfile

import peft
import torch
import transformers as hf

from tests.ecosystem import kit

REQUIRES = ("peft==0.21.2", "transformers==5.24.0", "accelerate==1.15.0", "safetensors")


def _llama():
    config = hf.LlamaConfig(
        vocab_size=48, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0,
    )  # fmt: skip
    return kit.fill(hf.LlamaForCausalLM(config))


def _run(config, model=None):
    """Return the output, the number of trained parameters, and the gradients' norms of an adapted model."""
    model = kit.fill(peft.get_peft_model(model or _llama(), config).eval())
    tokens = kit.integers(3, 48, (2, 6))
    out = model(input_ids=tokens, labels=tokens)
    out.loss.backward()
    norms = [p.grad.norm() for p in model.parameters() if p.grad is not None]
    return out.loss, out.logits, model.get_nb_trainable_parameters(), torch.stack(norms)


def _lora(**options):
    return peft.LoraConfig(
        task_type="CAUSAL_LM", r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], **options
    )


def lora():
    return _run(_lora())


def dora():
    return _run(_lora(use_dora=True))


def lora_scaled_by_rank_on_everything():
    return _run(peft.LoraConfig(r=2, target_modules="all-linear", use_rslora=True, bias="lora_only"))


def lora_on_embeddings():
    return _run(peft.LoraConfig(r=2, target_modules=["embed_tokens"], modules_to_save=["lm_head"]))


def lora_on_convolutions():
    net = torch.nn.Sequential()
    net.add_module("conv", torch.nn.Conv2d(3, 4, 3))
    net.add_module("head", torch.nn.Linear(4, 2))
    model = kit.fill(peft.inject_adapter_in_model(peft.LoraConfig(r=2, target_modules=["conv", "head"]), net))
    out = model.head(model.conv(kit.tensor(1, 3, 5, 5)).mean((2, 3)))
    out.sum().backward()
    return out, {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def merge():
    model = kit.fill(peft.get_peft_model(_llama().eval(), _lora()).eval())
    tokens = kit.integers(3, 48, (2, 6))
    adapted = model(tokens).logits
    with model.disable_adapter():
        plain = model(tokens).logits
    merged = model.merge_and_unload()
    return plain, adapted, merged(tokens).logits, isinstance(merged, hf.LlamaForCausalLM)


def several():
    model = peft.get_peft_model(_llama().eval(), _lora(), adapter_name="one")
    model.add_adapter("two", _lora())
    kit.fill(model.eval())
    model.add_weighted_adapter(["one", "two"], [0.7, 0.3], adapter_name="both", combination_type="linear")
    tokens = kit.integers(3, 48, (2, 6))
    results = {}
    for name in ("one", "two", "both"):
        model.set_adapter(name)
        results[name] = model(tokens).logits
    return results


def training():
    model = kit.fill(peft.get_peft_model(_llama(), _lora(lora_dropout=0.0)))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    tokens = kit.integers(3, 48, (2, 6))
    losses = []
    for _ in range(4):
        loss = model(tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    return losses


def saving():
    model = kit.fill(peft.get_peft_model(_llama().eval(), _lora()).eval())
    tokens = kit.integers(3, 48, (2, 6))
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = peft.PeftModel.from_pretrained(kit.fill(_llama()).eval(), folder).eval()
    state = peft.get_peft_model_state_dict(model)
    return model(tokens).logits, again(tokens).logits, sorted(state)[:3], len(state)


def ia3():
    options = {"target_modules": ["k_proj", "v_proj", "down_proj"], "feedforward_modules": ["down_proj"]}
    return _run(peft.IA3Config(task_type="CAUSAL_LM", **options))


def prompt_tuning():
    return _run(peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3))


def prefix_tuning():
    return _run(peft.PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3))


def products():
    names = {"r": 2, "target_modules": ["q_proj"]}
    return {
        "loha": _run(peft.LoHaConfig(**names)), "lokr": _run(peft.LoKrConfig(**names)),
        "oft": _run(peft.OFTConfig(oft_block_size=4, target_modules=["q_proj"])),
        "boft": _run(peft.BOFTConfig(boft_block_size=4, target_modules=["q_proj"])),
    }  # fmt: skip


def sequence_classification():
    config = hf.BertConfig(
        vocab_size=40,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        num_labels=2,
    )
    model = kit.fill(hf.BertForSequenceClassification(config))
    adapted = kit.fill(peft.get_peft_model(model, peft.LoraConfig(task_type="SEQ_CLS", r=2)).eval())
    out = adapted(input_ids=kit.integers(3, 40, (2, 5)), labels=torch.tensor([0, 1]))
    return out.loss, out.logits, adapted.get_nb_trainable_parameters()
