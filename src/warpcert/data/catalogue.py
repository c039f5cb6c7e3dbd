"""`DATASETS`: the data sets that have a name, and the SHA-256 of their official files.

All hashes are those of the uncompressed content, so it does not matter how a copy was compressed.
Those of Fashion-MNIST were taken from content which, behind the published gzip headers, gives the
MD5 sums published for the .gz files (train-images 8d4fb7e6c68d591d4c3dfef9ec88bf0d, train-labels
25c81989df183df01b3e8a0aad5dffbe, t10k-images bef4ecab320f06d8554ea6380940ec79, t10k-labels
bb300cfdad3c16e7a12a480ee83cd310).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from warpcert.data.cifar import parse_cifar10
from warpcert.data.dataset import DataFile, Dataset, Download, Split
from warpcert.data.idx import parse_idx_pair
from warpcert.data.unpack import unpack_gzip, unpack_tar


def _idx_files(
    test_images: str, test_labels: str, train_images: str, train_labels: str
) -> tuple[Split, Split, tuple[Download, ...]]:
    """Test split, train split and downloads of a data set in MNIST's format, from its hashes."""
    test = (
        DataFile("t10k-images-idx3-ubyte", 7_840_016, test_images),
        DataFile("t10k-labels-idx1-ubyte", 10_008, test_labels),
    )
    train = (
        DataFile("train-images-idx3-ubyte", 47_040_016, train_images),
        DataFile("train-labels-idx1-ubyte", 60_008, train_labels),
    )
    downloads = tuple(Download(f"{file.name}.gz", (file,), unpack_gzip) for file in test + train)
    return Split(test, 10_000), Split(train, 60_000), downloads


_mnist_test, _mnist_train, _mnist_downloads = _idx_files(
    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
)
MNIST = Dataset(
    name="mnist",
    title="MNIST",
    licence="CC BY-SA 3.0",
    shape=(1, 28, 28),
    classes=tuple("0123456789"),
    test=_mnist_test,
    train=_mnist_train,
    url="https://ossci-datasets.s3.amazonaws.com/mnist",
    downloads=_mnist_downloads,
    folders=("mnist", "MNIST/raw", "."),
    parse=parse_idx_pair,
)

_fashion_test, _fashion_train, _fashion_downloads = _idx_files(
    "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
)
FASHION = Dataset(
    name="fashion",
    title="Fashion-MNIST",
    licence="MIT",
    shape=(1, 28, 28),
    classes=(
        "T-shirt/top",
        "trouser",
        "pullover",
        "dress",
        "coat",
        "sandal",
        "shirt",
        "sneaker",
        "bag",
        "ankle boot",
    ),
    test=_fashion_test,
    train=_fashion_train,
    url="http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
    downloads=_fashion_downloads,
    folders=("fashion", "FashionMNIST/raw", "."),
    parse=parse_idx_pair,
)

_cifar_test = DataFile(
    "test_batch.bin",
    30_730_000,
    "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
)
_cifar_train = tuple(
    DataFile(f"data_batch_{number}.bin", 30_730_000, sha256)
    for number, sha256 in enumerate(
        (
            "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
            "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
            "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
            "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
            "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
        ),
        start=1,
    )
)
CIFAR10 = Dataset(
    name="cifar10",
    title="CIFAR-10",
    licence="none stated",
    shape=(3, 32, 32),
    classes=(
        "airplane",
        "automobile",
        "bird",
        "cat",
        "deer",
        "dog",
        "frog",
        "horse",
        "ship",
        "truck",
    ),
    test=Split((_cifar_test,), 10_000),
    train=Split(_cifar_train, 50_000),
    url="https://www.cs.toronto.edu/~kriz",
    downloads=(Download("cifar-10-binary.tar.gz", (_cifar_test, *_cifar_train), unpack_tar),),
    folders=("cifar10", "cifar-10-batches-bin", "cifar10/cifar-10-batches-bin", "."),
    parse=parse_cifar10,
)

DATASETS: Mapping[str, Dataset] = MappingProxyType(
    {dataset.name: dataset for dataset in (MNIST, CIFAR10, FASHION)}
)
