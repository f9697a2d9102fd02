"""Learning-rate schedules: the class they all share, and those that lesson 07 gives: steps, a
line, a function, a sequence of other schedules. Names and arguments are PyTorch's.
"""

from tinytorch.support.arguments import Described, check_number, check_optimizer, described


class LRScheduler(Described):
    """Sets the learning rates of an optimizer: when it is made, and again in every `step()`.

    optimizer  has `.param_groups`, a list of dicts with "lr", the learning rate per step. The first
               learning rate of a group is kept in the group as "initial_lr"

    .last_epoch  int: how often `step()` was called
    .base_lrs    list of floats: the learning rate of each group before any schedule changed it

    A subclass writes get_lr(): the list of the groups' learning rates in epoch `self.last_epoch`
    (or step, whatever is counted; 0 is the first), computed from `self.base_lrs`.
    """

    hidden = ("optimizer",)

    def __init__(self, optimizer):
        check_optimizer(optimizer)
        self.optimizer, self.last_epoch = optimizer, 0
        self.base_lrs = [
            group.setdefault("initial_lr", group["lr"]) for group in optimizer.param_groups
        ]
        self.set_lr()

    def get_lr(self):
        raise NotImplementedError(f"{type(self).__name__} needs a method get_lr(self)")

    def set_lr(self):
        """Give every group its learning rate of the current epoch."""
        for group, lr in zip(self.optimizer.param_groups, self.get_lr()):
            group["lr"] = float(lr)

    def step(self):
        """Go on to the next epoch."""
        self.last_epoch += 1
        self.set_lr()

    def get_last_lr(self):
        """The current learning rate of each group, a list."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self):
        """The epoch and the base learning rates, in plain numbers: a dict that shares nothing with
        the schedule."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state):
        """Continue from what `state_dict` returned. ValueError when it has more or fewer groups."""
        if len(state["base_lrs"]) != len(self.base_lrs):
            raise ValueError(
                f"the saved state has {len(state['base_lrs'])} groups, "
                f"the optimizer has {len(self.base_lrs)}"
            )
        self.last_epoch = int(state["last_epoch"])
        self.base_lrs = [float(base_lr) for base_lr in state["base_lrs"]]
        self.set_lr()


class StepLR(LRScheduler):
    """Every `step_size` epochs, the learning rates are multiplied by `gamma`.

    step_size  int, 1 or more: for how many epochs the learning rates are constant
    gamma      the factor

    ValueError when step_size is below 1. Source: torch.optim.lr_scheduler.StepLR.
    """

    def __init__(self, optimizer, step_size, gamma=0.1):
        check_number("step_size", step_size)
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer)

    def get_lr(self):
        factor = self.gamma ** (self.last_epoch // self.step_size)
        return [base_lr * factor for base_lr in self.base_lrs]


class LinearLR(LRScheduler):
    """The base learning rate times a factor that changes linearly: `start_factor` in epoch 0,
    `end_factor` from epoch `total_iters` on.

    start_factor  above 0, at most 1
    end_factor    from 0 to 1

    ValueError when a factor is outside of that. Source: torch.optim.lr_scheduler.LinearLR.
    """

    def __init__(self, optimizer, start_factor=1 / 3, end_factor=1.0, total_iters=5):
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise ValueError(
                f"start_factor is {start_factor} and end_factor {end_factor}: the first should be "
                "above 0 and at most 1, the second from 0 to 1"
            )
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer)

    def get_lr(self):
        factor = self.end_factor
        if self.last_epoch < self.total_iters:
            change = self.end_factor - self.start_factor
            factor = self.start_factor + change * self.last_epoch / self.total_iters
        return [base_lr * factor for base_lr in self.base_lrs]


class LambdaLR(LRScheduler):
    """The base learning rate times lr_lambda(epoch). Source: torch.optim.lr_scheduler.LambdaLR."""

    def __init__(self, optimizer, lr_lambda):
        if not callable(lr_lambda):
            raise TypeError(
                f"lr_lambda is {described(lr_lambda)}\n"
                "it should be a function of the epoch: lambda epoch: 0.95**epoch"
            )
        self.lr_lambda = lr_lambda
        super().__init__(optimizer)

    def get_lr(self):
        factor = self.lr_lambda(self.last_epoch)
        return [base_lr * factor for base_lr in self.base_lrs]


class SequentialLR(LRScheduler):
    """Schedules one after the other, each of which counts its own epochs from 0. Only this one is
    stepped, not its parts.

    schedulers  list of schedules of the same optimizer
    milestones  increasing list of epochs: schedule n + 1 begins in epoch milestones[n]

    ValueError when there is not exactly one milestone between two schedules, or they decrease.
    Source: torch.optim.lr_scheduler.SequentialLR.
    """

    def __init__(self, optimizer, schedulers, milestones):
        if not isinstance(schedulers, (list, tuple)) or not isinstance(milestones, (list, tuple)):
            raise TypeError(
                f"schedulers is {described(schedulers)}, milestones {described(milestones)}\n"
                "both should be lists, the first of schedules, the second of epochs"
            )
        if len(schedulers) != len(milestones) + 1 or list(milestones) != sorted(milestones):
            raise ValueError(
                f"{len(schedulers)} schedules need {len(schedulers) - 1} increasing milestones, "
                f"not {milestones}"
            )
        self.schedulers, self.milestones = list(schedulers), list(milestones)
        super().__init__(optimizer)

    def get_lr(self):
        number = sum(self.last_epoch >= milestone for milestone in self.milestones)
        part = self.schedulers[number]
        part.last_epoch = self.last_epoch - [0, *self.milestones][number]
        return part.get_lr()
