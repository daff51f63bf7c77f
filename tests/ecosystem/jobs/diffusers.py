"""diffusers: UNets, autoencoders, a transformer, all kinds of schedulers, pipelines with tiny models, EMA, saving."""

from __future__ import annotations

import tempfile

import diffusers
import numpy as np
import torch

from tests.ecosystem import kit

REQUIRES = (
    "diffusers==0.42.1",
    "transformers==5.24.0",
    "accelerate==1.15.0",
    "safetensors",
    "pillow",
    "scipy",
)


def _unet(**options):
    return kit.fill(
        diffusers.UNet2DModel(
            sample_size=8, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(8, 16),
            norm_num_groups=4, attention_head_dim=4, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
            up_block_types=("AttnUpBlock2D", "UpBlock2D"), **options,
        ).eval()
    )  # fmt: skip


def _conditional():
    return kit.fill(
        diffusers.UNet2DConditionModel(
            sample_size=8, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(8, 16),
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), cross_attention_dim=16, attention_head_dim=4,
            norm_num_groups=4,
        ).eval()
    )  # fmt: skip


def _norms(module):
    return torch.stack([p.grad.norm() for p in module.parameters() if p.grad is not None])


def unet():
    net = _unet()
    out = net(kit.tensor(2, 3, 8, 8), torch.tensor([3, 500])).sample
    out.square().mean().backward()
    return out, _norms(net)


def conditional_unet():
    net = _conditional()
    out = net(kit.tensor(2, 4, 8, 8), 10, encoder_hidden_states=kit.tensor(2, 5, 16)).sample
    out.square().mean().backward()
    return out, _norms(net)


def autoencoder():
    net = kit.fill(
        diffusers.AutoencoderKL(
            block_out_channels=(8, 16), down_block_types=("DownEncoderBlock2D",) * 2,
            up_block_types=("UpDecoderBlock2D",) * 2, norm_num_groups=4, latent_channels=4, sample_size=16,
        ).eval()
    )  # fmt: skip
    posterior = net.encode(kit.tensor(1, 3, 16, 16)).latent_dist
    decoded = net.decode(posterior.mode()).sample
    (decoded.square().mean() + 1e-3 * posterior.kl().mean()).backward()
    net.enable_tiling()
    net.enable_slicing()
    return (
        posterior.mean,
        posterior.std,
        posterior.kl(),
        decoded,
        _norms(net),
        net.decode(posterior.mode()).sample,
    )


def vector_quantized_autoencoder():
    net = kit.fill(
        diffusers.VQModel(
            block_out_channels=(8,),
            norm_num_groups=4,
            num_vq_embeddings=16,
            latent_channels=3,
            vq_embed_dim=3,
        ).eval()
    )
    return net(kit.tensor(1, 3, 8, 8)).sample


def transformer():
    net = kit.fill(
        diffusers.DiTTransformer2DModel(
            num_attention_heads=2, attention_head_dim=8, in_channels=4, num_layers=1, sample_size=8, patch_size=2,
            num_embeds_ada_norm=10, norm_num_groups=2,
        ).eval()
    )  # fmt: skip
    return net(
        kit.tensor(2, 4, 8, 8), timestep=torch.tensor([1, 7]), class_labels=torch.tensor([0, 3])
    ).sample


def flux():
    net = kit.fill(
        diffusers.FluxTransformer2DModel(
            patch_size=1, in_channels=4, num_layers=1, num_single_layers=1, attention_head_dim=16,
            num_attention_heads=2, joint_attention_dim=32, pooled_projection_dim=32, axes_dims_rope=(4, 4, 8),
        ).eval()
    )  # fmt: skip
    positions = {"img_ids": kit.integers(0, 4, (16, 3), torch.float32), "txt_ids": torch.zeros(5, 3)}
    text = {"encoder_hidden_states": kit.tensor(1, 5, 32), "pooled_projections": kit.tensor(1, 32)}
    return net(hidden_states=kit.tensor(1, 16, 4), timestep=torch.tensor([0.5]), **positions, **text).sample


def _steps(scheduler, count=4, **options):
    """Return where a scheduler leads with a made-up prediction, in which no random number is drawn."""
    scheduler.set_timesteps(count)
    sample = kit.tensor(1, 3, 4, 4) * scheduler.init_noise_sigma
    for step in scheduler.timesteps:
        scaled = scheduler.scale_model_input(sample, step)
        sample = scheduler.step(torch.tanh(scaled), step, sample, **options).prev_sample
    return scheduler.timesteps, sample


def schedulers():
    names = {
        "ddim": diffusers.DDIMScheduler, "pndm": diffusers.PNDMScheduler, "euler": diffusers.EulerDiscreteScheduler,
        "heun": diffusers.HeunDiscreteScheduler, "dpm": diffusers.DPMSolverMultistepScheduler,
        "dpm_single": diffusers.DPMSolverSinglestepScheduler, "lms": diffusers.LMSDiscreteScheduler,
        "unipc": diffusers.UniPCMultistepScheduler, "deis": diffusers.DEISMultistepScheduler,
    }  # fmt: skip
    return {name: _steps(scheduler()) for name, scheduler in names.items()}


def ddpm():
    scheduler = diffusers.DDPMScheduler(beta_schedule="squaredcos_cap_v2")
    x, noise = kit.tensor(2, 3, 4, 4), kit.tensor(2, 3, 4, 4)
    steps = torch.tensor([1, 700])
    noisy = scheduler.add_noise(x, noise, steps)
    last = scheduler.step(noise, 0, noisy).prev_sample  # the last step draws nothing
    return noisy, scheduler.get_velocity(x, noise, steps), last, scheduler.alphas_cumprod


def karras_sigmas():
    scheduler = diffusers.EulerDiscreteScheduler(use_karras_sigmas=True, prediction_type="v_prediction")
    return _steps(scheduler), scheduler.sigmas


def flow_matching():
    scheduler = diffusers.FlowMatchEulerDiscreteScheduler(shift=3.0)
    scheduler.set_timesteps(4)
    sample = kit.tensor(1, 3, 4, 4)
    for step in scheduler.timesteps:
        sample = scheduler.step(torch.tanh(sample), step, sample).prev_sample
    return scheduler.sigmas, sample


def unconditional_pipeline():
    class InOrder(diffusers.DDIMPipeline):
        """Without a bar."""

    pipeline = InOrder(unet=_unet(), scheduler=diffusers.DDIMScheduler())
    pipeline.set_progress_bar_config(disable=True)
    noise = kit.tensor(1, 3, 8, 8)
    drawn = diffusers.pipelines.ddim.pipeline_ddim.randn_tensor
    diffusers.pipelines.ddim.pipeline_ddim.randn_tensor = lambda *arguments, **options: noise
    try:
        return np.asarray(pipeline(num_inference_steps=3, output_type="np").images)
    finally:
        diffusers.pipelines.ddim.pipeline_ddim.randn_tensor = drawn


def _text_to_image():
    import transformers as hf
    from tokenizers import Tokenizer, models, pre_tokenizers

    vae = diffusers.AutoencoderKL(
        block_out_channels=(8, 16), down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2, norm_num_groups=4, latent_channels=4, sample_size=16,
    )  # fmt: skip
    text = hf.CLIPTextModel(
        hf.CLIPTextConfig(
            vocab_size=12, hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2,
            max_position_embeddings=8, eos_token_id=1,
        )
    )  # fmt: skip
    words = ["<pad>", "<end>", "<unk>", "a", "cat", "on", "the", "mat"]
    backend = Tokenizer(
        models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="<unk>")
    )
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = hf.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", eos_token="<end>", unk_token="<unk>", model_max_length=8
    )
    pipeline = diffusers.StableDiffusionPipeline(
        vae=kit.fill(vae.eval()), text_encoder=kit.fill(text.eval()), tokenizer=tokenizer, unet=_conditional(),
        scheduler=diffusers.DDIMScheduler(), safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    )  # fmt: skip
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


def text_to_image():
    options = {
        "num_inference_steps": 2,
        "output_type": "np",
        "latents": kit.tensor(1, 4, 8, 8),
        "guidance_scale": 3.0,
    }
    return np.asarray(_text_to_image()("a cat on the mat", **options).images)


def saved_pipeline():
    pipeline = _text_to_image()
    latents = kit.tensor(1, 4, 8, 8)
    options = {"num_inference_steps": 1, "output_type": "np", "latents": latents}
    with tempfile.TemporaryDirectory() as folder:
        pipeline.save_pretrained(folder)
        again = diffusers.StableDiffusionPipeline.from_pretrained(folder)
    again.set_progress_bar_config(disable=True)
    return np.asarray(pipeline("a cat", **options).images), np.asarray(again("a cat", **options).images)


def training():
    from diffusers.training_utils import EMAModel

    net = _unet().train()
    average = EMAModel(net.parameters(), decay=0.9)
    scheduler = diffusers.DDPMScheduler()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    schedule = diffusers.optimization.get_cosine_schedule_with_warmup(optimizer, 1, 4)
    losses = []
    for _ in range(3):
        x, noise = kit.tensor(2, 3, 8, 8), kit.tensor(2, 3, 8, 8)
        steps = kit.integers(0, 1000, (2,))
        loss = torch.nn.functional.mse_loss(net(scheduler.add_noise(x, noise, steps), steps).sample, noise)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        average.step(net.parameters())
        losses.append(loss.detach())
    return losses, average.shadow_params[0], schedule.get_last_lr()
