"""stable_baselines3: policies, buffers, steps of learning on an environment of gymnasium, saving."""

from __future__ import annotations

import io

import gymnasium
import numpy as np
import torch
from stable_baselines3 import A2C, DQN, PPO, SAC
from stable_baselines3.common import buffers, distributions, torch_layers, vec_env

from tests.ecosystem import kit

REQUIRES = ("stable_baselines3==2.9.2",)


class _Line(gymnasium.Env):
    """A point on a line that is pushed to the left or right; it draws no numbers."""

    observation_space = gymnasium.spaces.Box(-10.0, 10.0, (2,), np.float32)

    def __init__(self, continuous=False):
        self.action_space = (
            gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32) if continuous else gymnasium.spaces.Discrete(2)
        )
        self._continuous = continuous

    def reset(self, *, seed=None, options=None):
        self.state, self.steps = np.array([1.0, 0.0], np.float32), 0
        return self.state, {}

    def step(self, action):
        push = float(np.asarray(action).reshape(-1)[0]) if self._continuous else 2.0 * int(action) - 1.0
        self.steps += 1
        self.state = (self.state + np.array([self.state[1] * 0.1, push * 0.1])).astype(np.float32)
        return self.state, -abs(float(self.state[0])), False, self.steps >= 20, {}


def _predictions(model):
    kit.fill(model.policy)
    observations = kit.rng().standard_normal((5, 2)).astype(np.float32)
    return model.predict(observations, deterministic=True)[0]


def policies():
    return {
        "ppo": _predictions(PPO("MlpPolicy", _Line(), device="cpu")),
        "a2c": _predictions(A2C("MlpPolicy", _Line(True), device="cpu")),
        "dqn": _predictions(DQN("MlpPolicy", _Line(), device="cpu", buffer_size=10)),
        "sac": _predictions(SAC("MlpPolicy", _Line(True), device="cpu", buffer_size=10)),
    }


def evaluation():
    model = PPO("MlpPolicy", _Line(), device="cpu")
    kit.fill(model.policy)
    observations = kit.tensor(6, 2)
    values, log_prob, entropy = model.policy.evaluate_actions(observations, torch.tensor([0, 1, 1, 0, 1, 0]))
    (values.mean() + log_prob.mean() + entropy.mean()).backward()
    return values, log_prob, entropy, model.policy.mlp_extractor.policy_net[0].weight.grad


def training_of_ppo():
    model = PPO("MlpPolicy", _Line(), n_steps=8, batch_size=8, n_epochs=2, device="cpu", learning_rate=1e-2)
    kit.fill(model.policy)
    model.set_logger(__import__("stable_baselines3").common.logger.configure(None, []))
    buffer = model.rollout_buffer
    buffer.reset()
    for step in range(8):
        observation = kit.rng().standard_normal((1, 2)).astype(np.float32)
        buffer.add(
            observation,
            np.array([[step % 2]]),
            np.array([float(step)]),
            np.array([float(step == 0)]),
            torch.tensor([0.1 * step]),
            torch.tensor([-0.7]),
        )
    buffer.compute_returns_and_advantage(last_values=torch.tensor([0.5]), dones=np.array([0.0]))
    model.train()
    return (
        buffer.returns,
        buffer.advantages,
        list(model.policy.parameters())[:3],
        model.logger.name_to_value["train/loss"],
    )


def training_of_dqn():
    model = DQN(
        "MlpPolicy",
        _Line(),
        buffer_size=64,
        learning_starts=4,
        batch_size=16,
        device="cpu",
        seed=0,
        exploration_initial_eps=0.0,
        exploration_final_eps=0.0,
        train_freq=4,
        target_update_interval=8,
    )
    kit.fill(model.policy)
    model.learn(20)
    return list(model.q_net.parameters())[-1], model.num_timesteps


def learning():
    model = PPO(
        "MlpPolicy",
        gymnasium.make("CartPole-v1"),
        n_steps=64,
        batch_size=32,
        n_epochs=2,
        seed=0,
        device="cpu",
    )
    before = [p.detach().clone() for p in model.policy.parameters()]
    model.learn(128)
    after = list(model.policy.parameters())
    return model.num_timesteps, [
        bool(torch.isfinite(p).all()) and not torch.equal(p, q) for p, q in zip(after, before, strict=True)
    ]


def saving():
    model = A2C("MlpPolicy", _Line(), device="cpu")
    kit.fill(model.policy)
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    again = A2C.load(file, env=_Line(), device="cpu")
    observations = kit.rng().standard_normal((5, 2)).astype(np.float32)
    return (
        again.predict(observations, deterministic=True)[0],
        sorted(again.get_parameters()),
        again.policy.state_dict(),
    )


def extractors():
    space = gymnasium.spaces.Box(0, 255, (3, 36, 36), np.uint8)
    cnn = kit.fill(torch_layers.NatureCNN(space, features_dim=8))
    mlp = kit.fill(torch_layers.MlpExtractor(4, [8], torch.nn.ReLU))
    return cnn(kit.tensor(2, 3, 36, 36, positive=True)), mlp(kit.tensor(2, 4))


def distributions_and_buffers():
    gaussian = distributions.SquashedDiagGaussianDistribution(2).proba_distribution(
        kit.tensor(3, 2), torch.full((2,), -0.5)
    )
    categorical = distributions.CategoricalDistribution(3).proba_distribution(kit.tensor(4, 3))
    normalized = vec_env.VecNormalize(vec_env.DummyVecEnv([_Line]), norm_obs=True)
    normalized.reset()
    stepped = normalized.step(np.array([1]))
    replay = buffers.ReplayBuffer(4, _Line.observation_space, gymnasium.spaces.Discrete(2), device="cpu")
    replay.add(
        np.zeros((1, 2), np.float32),
        np.ones((1, 2), np.float32),
        np.array([1]),
        np.array([0.5]),
        np.array([0.0]),
        [{}],
    )
    sample = replay._get_samples(np.array([0]))
    return (
        gaussian.log_prob(kit.tensor(3, 2, positive=True) * 0.5),
        gaussian.mode(),
        categorical.entropy(),
        categorical.mode(),
        stepped[0],
        stepped[1],
        sample.next_observations,
        sample.rewards,
    )
