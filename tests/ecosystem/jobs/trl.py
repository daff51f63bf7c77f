"""trl: supervised fine-tuning and preference optimization of a tiny Llama, rewards, and losses."""

from __future__ import annotations

import tempfile

import torch
import transformers as hf
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

from tests.ecosystem import kit

REQUIRES = ("trl==1.16.0", "transformers==5.24.0", "accelerate==1.15.0", "datasets", "tokenizers")

FIXED = {
    "report_to": [], "disable_tqdm": True, "use_cpu": True, "save_strategy": "no", "logging_steps": 1, "max_steps": 3,
    "per_device_train_batch_size": 2, "learning_rate": 1e-2, "bf16": False, "gradient_checkpointing": False,
}  # fmt: skip


def _tokenizer():
    words = ["[PAD]", "[UNK]", "[END]", "the", "cat", "sat", "on", "a", "mat", "dog", "ran", "home"]
    backend = Tokenizer(
        models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="[UNK]")
    )
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "eos_token": "[END]"}
    return hf.PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=16, **special)


def _llama():
    config = hf.LlamaConfig(
        vocab_size=12, hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=32, pad_token_id=0, eos_token_id=2,
    )  # fmt: skip
    return kit.fill(hf.LlamaForCausalLM(config))


class _InOrder:
    """Without shuffling, since the numbers of two generators differ."""

    def _get_train_sampler(self, *arguments):
        return torch.utils.data.SequentialSampler(self.train_dataset)


class _FineTuning(_InOrder, SFTTrainer):
    pass


class _Preferences(_InOrder, DPOTrainer):
    pass


def _train(kind, settings, data, reference=(), **options):
    with tempfile.TemporaryDirectory() as folder:
        trainer = kind(
            model=_llama(), args=settings(output_dir=folder, **FIXED, **options), train_dataset=Dataset.from_list(data),
            processing_class=_tokenizer(), **dict(reference),
        )  # fmt: skip
        trainer.train()
        losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        return losses, torch.stack([p.norm() for p in trainer.model.parameters()])


def fine_tuning():
    data = [
        {"text": text} for text in ("the cat sat on the mat", "a dog ran home", "the dog sat", "a cat ran")
    ]
    return _train(_FineTuning, SFTConfig, data)


def completions_only():
    data = [
        {"prompt": "the cat", "completion": " sat on the mat"},
        {"prompt": "a dog", "completion": " ran home"},
    ]
    return _train(_FineTuning, SFTConfig, data * 2, completion_only_loss=True)


def preferences():
    data = [{"prompt": "the cat", "chosen": " sat on the mat", "rejected": " ran"}] * 4
    return _train(_Preferences, DPOConfig, data, {"ref_model": _llama()}, beta=0.2)
