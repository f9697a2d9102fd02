from tinytorch.support.small_network import draw_small_network


def test_every_weight_and_bias_is_written():
    drawing = draw_small_network(
        [([[3, 4], [5, 6]], [7, 8]), ([[-9], [0.5]], [11])], [["a", "b"], ["c", "d"], ["e"]]
    )
    text = drawing.svg()
    for number in ("3", "4", "5", "6", "-9", "0.5", "bias 7", "bias 8", "bias 11"):
        assert text.count(f">{number}</text>") == 1
    assert drawing.description == "c = 3·a + 5·b + 7; d = 4·a + 6·b + 8; e = -9·c + 0.5·d + 11"


def test_layers_of_any_width_fit_into_the_drawing():
    names = [["x"], ["p", "q", "r"], ["y", "z"]]
    drawing = draw_small_network(
        [([[1, 2, 3]], [0, 0, 0]), ([[1, 2], [3, 4], [5, 6]], [0, 0])], names
    )
    assert sum("<rect" in part for part in drawing.parts) == 6
    assert sum("<path" in part for part in drawing.parts) == 9
    assert drawing.height > 2 * 96
