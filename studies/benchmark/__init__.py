"""The field on one table: problems, methods and a runner for safe Bayesian optimisation."""
