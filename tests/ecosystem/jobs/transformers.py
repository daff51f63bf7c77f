"""transformers: outputs, losses and gradients of BERT, GPT-2, Llama, Mistral, Qwen, T5, Whisper, ViT, CLIP, Mamba."""

from __future__ import annotations

import torch
import transformers as hf

from tests.ecosystem import kit

REQUIRES = ("transformers==5.24.0",)

VOCABULARY = 64
DECODER = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip


def _run(model, *, loss=None, **inputs):
    """Return what a model gives, its loss, and the norms of its gradients."""
    kit.fill(model.eval())
    outputs = model(**inputs)
    value = outputs.loss if loss is None else loss(outputs)
    value.backward()
    tensors = {name: item for name, item in outputs.items() if isinstance(item, torch.Tensor)}
    return tensors, _norms(model)


def _norms(model):
    """Return the norm of each gradient, -1 where there is none."""
    return torch.stack([torch.tensor(-1.0) if p.grad is None else p.grad.norm() for p in model.parameters()])


def _tokens(batch=2, length=7):
    return kit.integers(3, VOCABULARY, (batch, length))


def _causal(model):
    tokens = _tokens()
    mask = torch.ones_like(tokens)
    mask[0, :2] = 0
    return _run(model, input_ids=tokens, attention_mask=mask, labels=tokens)


def bert():
    config = hf.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
    )
    tokens = _tokens()
    masked = _run(hf.BertForMaskedLM(config), input_ids=tokens, labels=tokens)
    config.num_labels = 3
    mask = torch.ones_like(tokens)
    mask[1, 4:] = 0
    model = hf.BertForSequenceClassification(config)
    return masked, _run(model, input_ids=tokens, attention_mask=mask, labels=kit.integers(0, 3, (2,)))


def bert_eager():
    config = hf.BertConfig(
        vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=48,
        attn_implementation="eager",
    )  # fmt: skip
    model = kit.fill(hf.BertModel(config).eval())
    outputs = model(_tokens(), output_attentions=True, output_hidden_states=True)
    return outputs.attentions, outputs.hidden_states, outputs.pooler_output


def roberta_token_classification():
    config = hf.RobertaConfig(
        vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=40, num_labels=5,
    )  # fmt: skip
    return _run(
        hf.RobertaForTokenClassification(config), input_ids=_tokens(), labels=kit.integers(0, 5, (2, 7))
    )


def distilbert_question_answering():
    config = hf.DistilBertConfig(vocab_size=VOCABULARY, dim=32, n_layers=2, n_heads=4, hidden_dim=48)
    model = hf.DistilBertForQuestionAnswering(config)
    return _run(
        model, input_ids=_tokens(), start_positions=torch.tensor([1, 2]), end_positions=torch.tensor([3, 6])
    )


def gpt2():
    config = hf.GPT2Config(
        vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=32, pad_token_id=0
    )
    return _causal(hf.GPT2LMHeadModel(config))


def llama():
    return _causal(hf.LlamaForCausalLM(hf.LlamaConfig(**DECODER)))


def llama_eager():
    return _causal(hf.LlamaForCausalLM(hf.LlamaConfig(**DECODER, attn_implementation="eager")))


def llama_rope_scaling():
    scaling = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}
    config = hf.LlamaConfig(**{**DECODER, "max_position_embeddings": 4}, rope_parameters=scaling)
    return _causal(hf.LlamaForCausalLM(config))


def mistral_sliding_window():
    return _causal(hf.MistralForCausalLM(hf.MistralConfig(**DECODER, sliding_window=3)))


def qwen2():
    return _causal(hf.Qwen2ForCausalLM(hf.Qwen2Config(**DECODER)))


def qwen3():
    return _causal(hf.Qwen3ForCausalLM(hf.Qwen3Config(**DECODER, head_dim=8)))


def gemma2():
    return _causal(hf.Gemma2ForCausalLM(hf.Gemma2Config(**DECODER, head_dim=8, sliding_window=4)))


def phi3():
    return _causal(hf.Phi3ForCausalLM(hf.Phi3Config(**DECODER)))


def mixtral():
    config = hf.MixtralConfig(
        **DECODER, num_local_experts=4, num_experts_per_tok=2, output_router_logits=True
    )
    return _causal(hf.MixtralForCausalLM(config))


def bloom_alibi():
    config = hf.BloomConfig(vocab_size=VOCABULARY, hidden_size=32, n_layer=2, n_head=4, pad_token_id=0)
    return _causal(hf.BloomForCausalLM(config))


def mamba():
    config = hf.MambaConfig(
        vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, state_size=4, pad_token_id=0
    )
    tokens = _tokens()
    return _run(hf.MambaForCausalLM(config), input_ids=tokens, labels=tokens)


def t5():
    config = hf.T5Config(
        vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, feed_forward_proj="gated-gelu",
        decoder_start_token_id=0,
    )  # fmt: skip
    return _run(hf.T5ForConditionalGeneration(config), input_ids=_tokens(), labels=_tokens(length=5))


def bart():
    config = hf.BartConfig(
        vocab_size=VOCABULARY, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=32,
    )  # fmt: skip
    return _run(hf.BartForConditionalGeneration(config), input_ids=_tokens(), labels=_tokens(length=5))


def whisper():
    config = hf.WhisperConfig(
        vocab_size=VOCABULARY, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, num_mel_bins=16, max_source_positions=20,
        max_target_positions=16, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    )  # fmt: skip
    model = hf.WhisperForConditionalGeneration(config)
    return _run(model, input_features=kit.tensor(2, 16, 40), labels=_tokens(length=6))


def wav2vec2_ctc():
    config = hf.Wav2Vec2Config(
        vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=48,
        conv_dim=(16, 16), conv_kernel=(10, 3), conv_stride=(5, 2), num_conv_pos_embeddings=8,
        num_conv_pos_embedding_groups=4, num_feat_extract_layers=2, ctc_loss_reduction="mean",
    )  # fmt: skip
    return _run(hf.Wav2Vec2ForCTC(config), input_values=kit.tensor(2, 400), labels=_tokens(length=4))


def vit():
    config = hf.ViTConfig(
        image_size=16, patch_size=4, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        num_labels=3,
    )  # fmt: skip
    model = hf.ViTForImageClassification(config)
    return _run(model, pixel_values=kit.tensor(2, 3, 16, 16), labels=torch.tensor([0, 2]))


def swin():
    config = hf.SwinConfig(
        image_size=16, patch_size=2, embed_dim=8, depths=[2, 1], num_heads=[2, 4], window_size=4, num_labels=3
    )
    model = hf.SwinForImageClassification(config)
    return _run(model, pixel_values=kit.tensor(2, 3, 16, 16), labels=torch.tensor([0, 2]))


def convnext():
    config = hf.ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2, num_labels=3)
    model = hf.ConvNextForImageClassification(config)
    return _run(model, pixel_values=kit.tensor(2, 3, 16, 16), labels=torch.tensor([0, 2]))


def clip():
    text = {
        "vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1,
        "num_attention_heads": 4, "max_position_embeddings": 16, "bos_token_id": 1, "eos_token_id": 2,
    }  # fmt: skip
    vision = {
        "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 4, "image_size": 16,
        "patch_size": 4,
    }  # fmt: skip
    config = hf.CLIPConfig(text_config=text, vision_config=vision, projection_dim=24)
    images = kit.tensor(2, 3, 16, 16)
    model = hf.CLIPModel(config)
    kit.fill(model.eval())
    outputs = model(input_ids=_tokens(), pixel_values=images, return_loss=True)
    outputs.loss.backward()
    return (
        outputs.loss,
        outputs.logits_per_image,
        outputs.text_embeds,
        outputs.image_embeds,
        model.logit_scale.grad,
    )


def segformer():
    config = hf.SegformerConfig(
        num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[8, 16], patch_sizes=[3, 3], strides=[2, 2],
        num_attention_heads=[1, 2], mlp_ratios=[2, 2], decoder_hidden_size=16, num_labels=4,
    )  # fmt: skip
    model = hf.SegformerForSemanticSegmentation(config)
    return _run(model, pixel_values=kit.tensor(2, 3, 16, 16), labels=kit.integers(0, 4, (2, 16, 16)))


def gradient_checkpointing():
    results = []
    tokens = _tokens()
    for enabled in (False, True):
        model = kit.fill(hf.LlamaForCausalLM(hf.LlamaConfig(**DECODER)).train())
        if enabled:
            model.gradient_checkpointing_enable()
        loss = model(tokens, labels=tokens).loss
        loss.backward()
        results.append((loss, _norms(model)))
    return results


def bfloat16():
    model = kit.fill(hf.LlamaForCausalLM(hf.LlamaConfig(**DECODER)).eval()).to(torch.bfloat16)
    return model(_tokens()).logits


def on_meta():
    with torch.device("meta"):
        model = hf.LlamaForCausalLM(hf.LlamaConfig(**DECODER))
    return model.num_parameters(), {str(p.device) for p in model.parameters()} == {"meta"}, str(model.dtype)
