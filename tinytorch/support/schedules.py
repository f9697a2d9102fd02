"""Learning rates that change during training: what all schedules share, and those that are made of
a line or of other schedules. Names and arguments are those of torch.optim.lr_scheduler.
"""


class LRScheduler:
    """Sets the learning rates of an optimizer: when it is made, and again in every `step()`.

    optimizer  has `.param_groups`, a list of dicts with "lr", the rate per step. The rate at which
               a group started is remembered in the group as "initial_lr"

    .last_epoch  int: how often `step()` was called
    .base_lrs    list of floats: the rate of each group before any schedule changed it

    A subclass writes rate(self, base, epoch): the rate in that epoch (or step, whatever is
    counted), 0 being the first, of a group that started with the rate `base`.
    """

    def __init__(self, optimizer):
        self.optimizer, self.last_epoch = optimizer, 0
        self.base_lrs = [
            group.setdefault("initial_lr", group["lr"]) for group in optimizer.param_groups
        ]
        self.set_rates()

    def rate(self, base, epoch):
        raise NotImplementedError(f"{type(self).__name__} needs a method rate(self, base, epoch)")

    def set_rates(self):
        """Give every group its rate in the current epoch."""
        for group, base in zip(self.optimizer.param_groups, self.base_lrs):
            group["lr"] = float(self.rate(base, self.last_epoch))

    def step(self):
        """Go on to the next epoch."""
        self.last_epoch += 1
        self.set_rates()

    def get_last_lr(self):
        """The rate of each group as it is now, a list."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self):
        """Where the schedule is, in plain numbers: a dict that shares nothing with it."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state):
        """Go on from what `state_dict` returned. ValueError when it is for more or fewer groups."""
        if len(state["base_lrs"]) != len(self.base_lrs):
            raise ValueError(
                f"the state is for {len(state['base_lrs'])} groups, "
                f"the optimizer has {len(self.base_lrs)}"
            )
        self.last_epoch = int(state["last_epoch"])
        self.base_lrs = [float(base) for base in state["base_lrs"]]
        self.set_rates()


class LinearLR(LRScheduler):
    """The base rate times a factor on a line: `start_factor` in epoch 0, `end_factor` from epoch
    `total_iters` on.

    start_factor  above 0, at most 1
    end_factor    from 0 to 1

    ValueError when a factor is outside of that. Source: torch.optim.lr_scheduler.LinearLR.
    """

    def __init__(self, optimizer, start_factor=1 / 3, end_factor=1.0, total_iters=5):
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise ValueError(
                f"the factors go from above 0, and from 0, to 1, not {start_factor} and "
                f"{end_factor}"
            )
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer)

    def rate(self, base, epoch):
        if epoch >= self.total_iters:
            return base * self.end_factor
        way = self.end_factor - self.start_factor
        return base * (self.start_factor + way * epoch / self.total_iters)


class LambdaLR(LRScheduler):
    """The base rate times lr_lambda(epoch). Source: torch.optim.lr_scheduler.LambdaLR."""

    def __init__(self, optimizer, lr_lambda):
        self.lr_lambda = lr_lambda
        super().__init__(optimizer)

    def rate(self, base, epoch):
        return base * self.lr_lambda(epoch)


class SequentialLR(LRScheduler):
    """Schedules one after the other, each of which counts its own epochs from 0. Only this one is
    stepped, not its parts.

    schedulers  list of schedules of the same optimizer
    milestones  growing list of epochs: schedule n + 1 begins in epoch milestones[n]

    ValueError when there is not exactly one milestone between two schedules, or they do not grow.
    Source: torch.optim.lr_scheduler.SequentialLR.
    """

    def __init__(self, optimizer, schedulers, milestones):
        if len(schedulers) != len(milestones) + 1 or list(milestones) != sorted(milestones):
            raise ValueError(
                f"{len(schedulers)} schedules need {len(schedulers) - 1} growing milestones, "
                f"not {milestones}"
            )
        self.schedulers, self.milestones = list(schedulers), list(milestones)
        super().__init__(optimizer)

    def set_rates(self):
        place = sum(self.last_epoch >= milestone for milestone in self.milestones)
        part = self.schedulers[place]
        part.last_epoch = self.last_epoch - [0, *self.milestones][place]
        part.set_rates()
