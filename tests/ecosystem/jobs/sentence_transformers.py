"""sentence_transformers: a tiny BERT with pooling, similarities, losses with gradients, saving, communities."""

from __future__ import annotations

import tempfile

import torch
import transformers as hf
from sentence_transformers import SentenceTransformer, losses, models, util
from tokenizers import Tokenizer, pre_tokenizers
from tokenizers import models as kinds

from tests.ecosystem import kit

REQUIRES = ("sentence-transformers==6.2.0", "transformers==5.24.0", "tokenizers", "scikit-learn")

TEXT = ["the cat sat", "a dog on the mat", "the mat"]


def _folder(folder):
    """Write a tiny BERT and its tokenizer, as sentence-transformers loads them."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "on", "a", "mat", "dog"]
    backend = Tokenizer(kinds.WordLevel({word: index for index, word in enumerate(words)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    tokenizer = hf.PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=16, **special)
    config = hf.BertConfig(
        vocab_size=12, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24,
        max_position_embeddings=16, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    kit.fill(hf.BertModel(config)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _model(folder):
    word = models.Transformer(_folder(folder))
    pooling = models.Pooling(word.get_embedding_dimension(), pooling_mode="mean")
    return SentenceTransformer(modules=[word, pooling], device="cpu").eval()


def encode():
    with tempfile.TemporaryDirectory() as folder:
        model = _model(folder)
        tensors = model.encode(TEXT, convert_to_tensor=True, show_progress_bar=False)
        arrays = model.encode(TEXT, normalize_embeddings=True, batch_size=2, show_progress_bar=False)
        return tensors, arrays, model.similarity(tensors, tensors)


def poolings():
    features = {
        "token_embeddings": kit.tensor(2, 4, 6),
        "attention_mask": torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]]),
    }
    modes = ("mean", "max", "cls", "lasttoken", "mean_sqrt_len_tokens", "weightedmean")
    return {
        mode: models.Pooling(6, pooling_mode=mode)(dict(features))["sentence_embedding"] for mode in modes
    }


def similarities():
    a, b = kit.tensor(3, 6), kit.tensor(5, 6)
    results = {
        name: getattr(util, name)(a, b) for name in ("cos_sim", "dot_score", "euclidean_sim", "manhattan_sim")
    }
    search = util.semantic_search(a, b, top_k=2)
    return results, [[hit["corpus_id"] for hit in hits] for hits in search], util.pairwise_cos_sim(a, b[:3])


def trained():
    with tempfile.TemporaryDirectory() as folder:
        model = _model(folder).train()
        batches = [model.tokenize(TEXT), model.tokenize(TEXT[::-1])]
        results = {}
        for name, loss in (
            ("ranking", losses.MultipleNegativesRankingLoss(model)), ("cosine", losses.CosineSimilarityLoss(model)),
            ("contrastive", losses.ContrastiveLoss(model)),
        ):  # fmt: skip
            labels = torch.tensor([1.0, 0.0, 1.0]) if name == "cosine" else torch.tensor([1, 0, 1])
            model.zero_grad()
            value = loss([dict(batch) for batch in batches], labels)
            value.backward()
            results[name] = (
                value.detach(),
                torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]),
            )
        return results


def saved():
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        model = _model(one)
        model.save(two)
        again = SentenceTransformer(two, device="cpu")
        options = {"convert_to_tensor": True, "show_progress_bar": False}
        return model.encode(TEXT, **options), again.encode(TEXT, **options)


def communities():
    points = torch.cat([kit.tensor(4, 6, scale=0.01) + 1, kit.tensor(3, 6, scale=0.01) - 1])
    return util.community_detection(points, threshold=0.9, min_community_size=2)
