"""Agent: starts the workers of one machine, watches them, and starts them again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FrameType
from typing import Any

from tt.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from tt.distributed.errors import DistError
from tt.distributed.run.membership import Generation, Membership
from tt.distributed.run.options import Options
from tt.distributed.run.output import Output
from tt.distributed.run.workers import Watcher, Workers

__all__ = ["Agent", "AgentStopped", "JobFailedError"]


class AgentStopped(BaseException):
    """A signal has asked the agent to end; no program catches it by mistake."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class JobFailedError(Exception):
    """The job has ended without a failed worker of its own being the cause."""


class Agent:
    """One machine's part of a job.

    Parameters
    ----------
    options : Options
        What was asked for.
    say : callable
        Takes each message of the agent.
    """

    def __init__(self, options: Options, say: Callable[[str], None]) -> None:
        self._options = options
        self._say = say
        self._output = Output(options)
        self._watcher = Watcher(self._output.temporary)
        self._stopping = False
        self._starting = False
        self._pending: int | None = None
        self._agents = 1
        self._membership: Membership | None = None
        self._generation: Generation | None = None
        self._workers: Workers | None = None

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """End in good order; a second signal does not wait for the workers."""
        if self._starting:  # a process that is just being started must not be forgotten
            self._pending = number
        elif not self._stopping:
            self._stopping = True
            raise AgentStopped(number)
        elif self._workers is not None:
            self._workers.kill()

    def run(self) -> None:
        """Run the job to its end.

        Raises
        ------
        ChildFailedError
            Workers failed, and may not start again.
        JobFailedError
            A machine was lost, or left.
        DistError
            The agents could not meet, or lost each other.
        AgentStopped
            A signal came.
        """
        try:
            self._membership = Membership(self._options)
            self._workers = Workers(self._options, self._output, self._watcher, self._membership.host)
            self._run(self._membership, self._workers)
        except AgentStopped:
            self._leave_others()
            raise
        finally:
            self._stopping = True
            self._close()

    def _run(self, membership: Membership, workers: Workers) -> None:
        number, restarts, expected = 0, 0, self._options.max_nodes
        while True:
            generation = membership.join(number, restarts, expected)
            self._generation, self._agents = generation, len(generation.nodes)
            try:
                self._start(workers, generation)
                end = self._watch(membership, workers, generation)
            except OSError as error:
                if isinstance(error, DistError):
                    raise
                end = membership.end(generation.number, kind="unable", why=str(error), final=True)
            # All workers end together, see Note [Generations].
            workers.stop()
            workers.clear()
            restarts = generation.restarts
            if end["kind"] == "finished":
                membership.leave(self._agents)
                return
            left = len(generation.nodes) - len(end.get("nodes", ()))
            again = restarts < self._options.max_restarts if end["kind"] == "failed" else (
                end["kind"] in ("grown", "lost") and left >= self._options.min_nodes and not end.get("final")
            )  # fmt: skip
            if not again:
                self._agents = left
                membership.leave(left)
                raise self._verdict(end)
            if end["kind"] == "failed":
                restarts += 1
                self._say(
                    f"{self._verdict(end)}\nstarting again ({restarts} of {self._options.max_restarts})"
                )
            else:
                self._say(f"{end['why']}; starting again with the machines that are here")
            # Those that were here come back at once; a machine that has come as well is not waited for.
            number, expected = generation.number + 1, left + (end["kind"] == "grown")

    def _start(self, workers: Workers, generation: Generation) -> None:
        self._starting = True
        try:
            workers.start(generation.number, self._environments(generation))
        finally:
            self._starting = False
        if self._pending is not None:
            self.on_signal(self._pending, None)

    def _watch(self, membership: Membership, workers: Workers, generation: Generation) -> Mapping[str, Any]:
        """Return why the generation has ended."""
        alone = self._options.max_nodes == 1
        reported = False
        while True:
            ended, failures = workers.poll()
            if failures:
                time.sleep(min(0.1, self._options.monitor_interval))  # the others of one cause come with it
                failures = workers.poll()[1]
                facts = [failure.to_dict() for failure in failures]
                return membership.end(generation.number, kind="failed", failures=facts)
            if ended and not reported:
                reported = True
                membership.done(generation)
            # A single machine has nobody else's word to look for before its own workers are done.
            if not alone or reported:
                end = membership.end_of(generation.number)
                if end is not None:
                    return end
                membership.attend(generation)
            workers.wait(self._options.monitor_interval)

    def _verdict(self, end: Mapping[str, Any]) -> Exception:
        if end["kind"] == "failed":
            failures = [ProcessFailure(**facts) for facts in end["failures"]]
            return ChildFailedError(self._options.program, {failure.rank: failure for failure in failures})
        return JobFailedError(end["why"])

    def _environments(self, generation: Generation) -> list[dict[str, str]]:
        """Return what each worker of this machine is told."""
        options, membership = self._options, self._membership
        assert membership is not None
        role_rank, role_size = generation.role_ranks(options.role)
        common: dict[str, object] = {
            "GROUP_RANK": generation.group_rank,
            "GROUP_WORLD_SIZE": len(generation.nodes),
            "LOCAL_WORLD_SIZE": options.nproc,
            "WORLD_SIZE": generation.world_size,
            "ROLE_WORLD_SIZE": role_size,
            "ROLE_NAME": options.role,
            "MASTER_ADDR": membership.tcp.host,
            "MASTER_PORT": membership.tcp.port,
            "TORCHELASTIC_RESTART_COUNT": generation.restarts,
            "TORCHELASTIC_MAX_RESTARTS": options.max_restarts,
            "TORCHELASTIC_RUN_ID": options.run_id,
            "TORCHELASTIC_USE_AGENT_STORE": True,
            "TT_RUN_GENERATION": generation.number,
        }
        # As torchrun: each worker would take all cores for itself.
        if "OMP_NUM_THREADS" not in options.environ and options.nproc > 1:
            common["OMP_NUM_THREADS"] = 1
            if generation.number == 0:
                self._say("OMP_NUM_THREADS=1 for each worker; set it to use more threads")
        return [
            {
                **{name: str(value) for name, value in common.items()},
                "RANK": str(generation.first_rank + local_rank),
                "LOCAL_RANK": str(local_rank),
                "ROLE_RANK": str(role_rank + local_rank),
            }
            for local_rank in range(options.nproc)
        ]

    # --- the end --------------------------------------------------------------------------------------------------

    def _leave_others(self) -> None:
        """Tell the other machines that this one goes."""
        if self._membership is None or self._generation is None:
            return
        # The store may be gone with the machine that serves it.
        with suppress(DistError):
            where = self._membership.host
            self._membership.end(
                self._generation.number,
                kind="lost",
                nodes=[self._generation.group_rank],
                why=f"the agent on {where} was told to end",
                # The server ends with the agent that has it, so no further generation can begin.
                final=self._membership.coordinates,
            )
            if self._workers is not None:
                self._workers.stop()
            if self._membership.coordinates:
                self._membership.leave(self._agents, patience=2.0)

    def _close(self) -> None:
        if self._workers is not None:
            self._workers.stop()
        self._watcher.close()
        kept = self._output.close()
        if kept:
            self._say(f"the workers' files are in {kept}")
