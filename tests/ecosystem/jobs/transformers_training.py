"""transformers_training: Trainer, schedules, saving and loading, tokenizers, image processors, pipelines."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers as hf

from tests.ecosystem import kit

REQUIRES = ("transformers==5.24.0", "accelerate==1.15.0", "safetensors")


def _model():
    config = hf.BertConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, num_labels=2,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    return kit.fill(hf.BertForSequenceClassification(config))


class _Data(torch.utils.data.Dataset):
    def __init__(self, count=16):
        self.tokens = kit.integers(3, 40, (count, 6))
        self.labels = kit.integers(0, 2, (count,))

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.labels[index]}


class _InOrder(hf.Trainer):
    """Without shuffling, since the numbers of two generators differ."""

    def _get_train_sampler(self, *arguments):
        return torch.utils.data.SequentialSampler(self.train_dataset)


def _arguments(folder, **options):
    defaults = {
        "learning_rate": 1e-2,
        "per_device_train_batch_size": 4,
        "num_train_epochs": 2,
        "logging_steps": 1,
    }
    fixed = {"report_to": [], "disable_tqdm": True, "use_cpu": True, "save_strategy": "no"}
    return hf.TrainingArguments(output_dir=folder, **{**defaults, **fixed, **options})


def _train(**options):
    with tempfile.TemporaryDirectory() as folder:
        trainer = _InOrder(model=_model(), args=_arguments(folder, **options), train_dataset=_Data())
        result = trainer.train()
        losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        weights = torch.stack([p.norm() for p in trainer.model.parameters()])
        return losses, result.training_loss, trainer.state.global_step, weights


def trainer():
    return _train()


def trainer_accumulates():
    return _train(
        gradient_accumulation_steps=2, max_grad_norm=0.1, warmup_steps=1, lr_scheduler_type="cosine"
    )


@kit.tolerance(
    rtol=3e-2, atol=5e-3, reason="bfloat16 rounds products at other places, and Adam divides by their size"
)
def trainer_in_bfloat16():
    losses, _, steps, _ = _train(bf16=True, max_steps=3)
    return losses, steps


def trainer_with_checkpointing():
    return _train(gradient_checkpointing=True, max_steps=3)


def trainer_optimizers():
    return {
        name: _train(optim=name, max_steps=3)[0]
        for name in ("adamw_torch", "sgd", "adafactor", "rmsprop", "adagrad")
    }


def trainer_evaluates():
    with tempfile.TemporaryDirectory() as folder:

        def metrics(prediction):
            return {"right": float((np.argmax(prediction.predictions, -1) == prediction.label_ids).mean())}

        trainer = _InOrder(
            model=_model(), args=_arguments(folder, eval_strategy="epoch"), train_dataset=_Data(),
            eval_dataset=_Data(6), compute_metrics=metrics,
        )  # fmt: skip
        trainer.train()
        evaluated = trainer.evaluate()
        return {k: evaluated[k] for k in ("eval_loss", "eval_right")}, trainer.predict(_Data(6)).predictions


def trainer_resumes():
    with tempfile.TemporaryDirectory() as folder:
        options = {"save_strategy": "steps", "save_steps": 4, "max_steps": 6}
        data = _Data()
        whole = _InOrder(model=_model(), args=_arguments(folder, **options), train_dataset=data)
        whole.train()
        again = _InOrder(model=_model(), args=_arguments(folder, **options), train_dataset=data)
        again.train(resume_from_checkpoint=str(Path(folder, "checkpoint-4")))
        pairs = zip(whole.model.parameters(), again.model.parameters(), strict=True)
        return again.state.global_step, max(float((a - b).abs().max()) for a, b in pairs) < 1e-6


def schedules():
    values = {}
    for name in (
        "linear",
        "cosine",
        "cosine_with_restarts",
        "polynomial",
        "constant_with_warmup",
        "inverse_sqrt",
    ):
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        schedule = hf.get_scheduler(name, optimizer, num_warmup_steps=2, num_training_steps=8)
        values[name] = []
        for _ in range(8):
            optimizer.step()
            schedule.step()
            values[name].append(schedule.get_last_lr()[0])
    return values


def saving():
    model = _model().eval()
    tokens = kit.integers(3, 40, (2, 6))
    before = model(tokens).logits
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        files = sorted(path.name for path in Path(folder).iterdir())
        again = hf.BertForSequenceClassification.from_pretrained(folder)
        half = hf.AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.bfloat16)
        other = hf.BertForMaskedLM.from_pretrained(folder)
    return (
        files,
        before,
        again(tokens).logits,
        str(half.dtype),
        half.bert.embeddings.word_embeddings.weight,
        other.bert(tokens)[0],
    )


def saving_in_shards():
    config = hf.LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        tie_word_embeddings=True,
    )  # fmt: skip
    model = kit.fill(hf.LlamaForCausalLM(config).eval())
    tokens = kit.integers(3, 64, (1, 6))
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder, max_shard_size="20KB")
        count = len(list(Path(folder).glob("*.safetensors")))
        again = hf.AutoModelForCausalLM.from_pretrained(folder)
    tied = again.lm_head.weight is again.model.embed_tokens.weight
    return count, tied, model(tokens).logits, again(tokens).logits


def resized_embeddings():
    model = _model()
    model.resize_token_embeddings(43, mean_resizing=False)
    return model.get_input_embeddings().weight[:40], list(model.get_input_embeddings().weight.shape)


def _tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "on", "a", "mat", "dog"]
    tokenizer = Tokenizer(
        models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    return hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def tokenizer():
    encoded = _tokenizer()(["the cat sat", "a dog"], padding=True, return_tensors="pt")
    moved = encoded.to("cpu")
    return dict(moved), _tokenizer().batch_decode(encoded["input_ids"])


def collators():
    tokenizer = _tokenizer()
    padded = hf.DataCollatorWithPadding(tokenizer)([{"input_ids": [5, 6]}, {"input_ids": [5, 6, 7]}])
    default = hf.default_data_collator([{"x": torch.ones(2), "label": 1}, {"x": torch.zeros(2), "label": 0}])
    classes = hf.DataCollatorForTokenClassification(tokenizer)(
        [{"input_ids": [5, 6], "labels": [0, 1]}, {"input_ids": [5, 6, 7], "labels": [0, 1, 1]}]
    )
    return dict(padded), default, dict(classes)


def pipelines():
    config = hf.BertConfig(
        vocab_size=12,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        num_labels=2,
    )
    model = kit.fill(hf.BertForSequenceClassification(config).eval())
    classify = hf.pipeline("text-classification", model=model, tokenizer=_tokenizer(), device="cpu")
    features = hf.pipeline("feature-extraction", model=model.bert, tokenizer=_tokenizer(), device="cpu")
    return classify(["the cat sat", "a dog"]), np.asarray(features("the mat"), dtype=np.float32)
