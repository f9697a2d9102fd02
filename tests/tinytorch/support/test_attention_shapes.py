"""What attention refuses; the messages stand in tests/tinytorch/test_attention.py."""

import numpy as np
import pytest

from tinytorch.support.attention_shapes import check_causal, check_heads, check_positions


def test_no_heads_are_refused():
    with pytest.raises(ValueError, match="0 heads"):
        check_heads(4, 0)


def test_positions_may_be_a_list_and_must_be_one_row():
    check_positions(np.zeros((5, 2, 4)), [1, 2])
    with pytest.raises(ValueError, match=r"shape \(1, 2\)"):
        check_positions(np.zeros((5, 2, 4)), [[1, 2]])


def test_a_mask_of_false_is_a_mask():
    with pytest.raises(ValueError, match="two masks"):
        check_causal(np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((1, 1), bool))


def test_how_to_combine_two_masks_depends_on_their_kind():
    x = np.zeros((3, 2))
    with pytest.raises(ValueError, match=r"attn_mask & causal_mask\(3, 3\)"):
        check_causal(x, x, np.ones((3, 3), bool))
    with pytest.raises(ValueError, match=r"where\(causal_mask\(3, 3\), attn_mask, -np.inf\)"):
        check_causal(x, x, np.zeros((3, 3)))
