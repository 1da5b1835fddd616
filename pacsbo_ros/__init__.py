"""Safe Bayesian optimisation of robot controllers, without guessing a smoothness constant."""
from pkgutil import extend_path

# The generated interfaces (pacsbo_ros.msg, pacsbo_ros.action) are installed next to this package,
# not inside the source tree: let Python find both when the source tree comes first.
__path__ = extend_path(__path__, __name__)
