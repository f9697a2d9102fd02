"""Datasets, splits, data loaders, transforms, and ready data sets.

`SOURCES.md` says where the files in this folder are from.

>>> from tinytorch.data import DataLoader, digits
>>> loader = DataLoader(digits("train"), batch_size=64, shuffle=True)
>>> len(loader)
23
"""

from tinytorch.lazy import public_module

__getattr__, __dir__ = public_module(
    __name__,
    {
        "data": "Dataset TensorDataset Subset TransformedDataset random_split stratified_split "
        "DataLoader collate prefetch Compose Normalize RandomHorizontalFlip RandomShift "
        "GaussianNoise channel_statistics shift one_hot digits mnist fashion_mnist cifar10 "
        "parse_idx fetch data_folder moons circles spirals xor",
    },
    {
        "write DataLoader(dataset, sampler=indices), any iterable of indices": "Sampler "
        "RandomSampler SequentialSampler BatchSampler WeightedRandomSampler SubsetRandomSampler",
        "write a Dataset, with a length": "IterableDataset",
        "write a Dataset whose __getitem__ reads from both": "ConcatDataset ChainDataset",
        "write collate": "default_collate",
        "the transforms are in tinytorch.data itself": "transforms",
    },
)
