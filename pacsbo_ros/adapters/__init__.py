"""PACSBO where researchers are: as a sampler of Optuna and as a generator in the style of Xopt."""
