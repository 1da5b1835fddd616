"""The paper's figures and the safety study, on core alone."""
