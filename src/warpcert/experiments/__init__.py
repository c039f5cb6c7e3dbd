"""The paper's evaluation, and what goes beyond it: one artefact for each table and figure."""
