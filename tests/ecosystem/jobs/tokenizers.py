"""tokenizers: byte pairs trained here, padding, truncation, offsets, and batches for a model."""

from __future__ import annotations

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from tests.ecosystem import kit

REQUIRES = ("tokenizers==0.23.3",)

TEXT = ["the cat sat on the mat", "a dog sat on the cat", "the dog and the cat ran"]


def _tokenizer():
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=60, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return tokenizer


def batches():
    tokenizer = _tokenizer()
    tokenizer.enable_padding(pad_id=0)
    tokenizer.enable_truncation(12)
    encoded = tokenizer.encode_batch(TEXT)
    tokens = torch.tensor([e.ids for e in encoded])
    mask = torch.tensor([e.attention_mask for e in encoded])
    return tokens, mask, [tokenizer.decode(row.tolist()) for row in tokens]


def pairs():
    encoded = _tokenizer().encode("the cat", "a dog")
    return encoded.ids, encoded.type_ids, [list(span) for span in encoded.offsets]


def embedded():
    tokenizer = _tokenizer()
    tokenizer.enable_padding(pad_id=0)
    tokens = torch.tensor([e.ids for e in tokenizer.encode_batch(TEXT)])
    table = kit.fill(torch.nn.Embedding(60, 8, padding_idx=0))
    return table(tokens).mean(1)
