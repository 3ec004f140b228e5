"""One module per migration. They become SQL before they run, so they cannot read the database."""
