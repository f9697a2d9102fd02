# %% dual points=3
def test_dual():
    pass


# %% functions points=3
def test_functions():
    pass


# %% quotient points=3
def test_quotient():
    pass


# %% derivative points=3
def test_derivative():
    pass


# %% tangent-rules points=3
def test_tangent_rules():
    pass


# %% linear-rules points=3
def test_linear_rules():
    pass


# %% jvp points=3
def test_jvp():
    pass


# %% jacfwd points=3
def test_jacfwd():
    pass


# %% vjp points=3
def test_vjp():
    pass


# %% jacrev points=3
def test_jacrev():
    pass


# %% hvp points=3
def test_hvp():
    pass


# %% hessian points=3
def test_hessian():
    pass


# %% power-iteration points=3
def test_power_iteration():
    pass


# %% conjugate-gradient points=3
def test_conjugate_gradient():
    pass


# %% newton points=3
def test_newton():
    pass


# %% hutchinson points=3
def test_hutchinson():
    pass


# %% checkpoint points=3
def test_checkpoint():
    pass
